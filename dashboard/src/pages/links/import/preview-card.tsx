/** The first rows of an imported file as they would be imported. */
import { readableHost } from "../../../../../shared/contracts/readable-host.ts";
import { UTM_NAMES } from "../../../../../shared/contracts/utm.ts";
import { fieldName } from "../../../languages/errors.ts";
import { t } from "../../../languages/translate.ts";
import { formatDate } from "../../../ui/format.ts";
import { Card } from "../../../ui/page.tsx";
import { Table } from "../../../ui/table.tsx";
import type { ImportItem, PlanInput } from "./model.ts";
import { createPlanner } from "./plan.ts";
import { type ChosenFile, toPlanInput } from "./use-import.ts";

/** Rows of the preview. */
const PREVIEW_MAX = 5;

export function PreviewCard({ chosen, hosts }: { chosen: ChosenFile; hosts: PlanInput["hosts"] }) {
  const planRow = createPlanner(toPlanInput(chosen, hosts));
  const items = chosen.file.rows.slice(0, PREVIEW_MAX).flatMap((row, index) => planRow(row, index));
  const hasUtm = items.some(({ link }) => listUtm(link).length > 0);
  return (
    <Card title={t("import.preview")}>
      <Table
        label={t("import.preview")}
        head={[
          t("import.heads.row"),
          t("import.heads.shortUrl"),
          t("import.heads.state"),
          t("import.heads.destination"),
          t("import.heads.title"),
          t("import.heads.tags"),
          ...(hasUtm ? [t("links.form.utm")] : []),
        ]}
        className="stacked import-preview"
      >
        {items.map((item, i) => (
          <PreviewRow key={i} item={item} own={hosts.own} hasUtm={hasUtm} />
        ))}
      </Table>
    </Card>
  );
}

type PreviewRowProps = { item: ImportItem; own: string; hasUtm: boolean };

function PreviewRow({ item: { row, link, problem }, own, hasUtm }: PreviewRowProps) {
  return (
    <tr>
      <td data-label={t("import.heads.row")}>{row}</td>
      <td>
        {readableHost(link.domain ?? own)}/{link.alias ?? <em>{t("import.generated")}</em>}
      </td>
      <td>
        {problem === undefined ? (
          <States link={link} />
        ) : (
          <span className="import-problem">{problem.message}</span>
        )}
      </td>
      <td>
        <span className="destination">{link.url}</span>
      </td>
      <td data-label={t("import.heads.title")}>{link.title}</td>
      <td data-label={t("import.heads.tags")}>
        {Array.isArray(link.tags) && link.tags.join(", ")}
      </td>
      {hasUtm && (
        <td data-label={t("links.form.utm")}>
          {listUtm(link).map(([name, value]) => (
            <div key={name}>
              {fieldName(name)}: {value}
            </div>
          ))}
        </td>
      )}
    </tr>
  );
}

/** The UTM parameters that a link has. */
const listUtm = (link: ImportItem["link"]): [name: string, value: string][] =>
  UTM_NAMES.flatMap((name) => {
    const value = link[name];
    return typeof value === "string" ? [[name, value]] : [];
  });

const States = ({
  link: { archived, disabled, password, expires_at },
}: Pick<ImportItem, "link">) => (
  <>
    {archived === true && <span className="badge">{t("import.archived")}</span>}{" "}
    {disabled === true && <span className="badge">{t("import.disabled")}</span>}{" "}
    {password !== undefined && <span className="badge">{t("import.password")}</span>}{" "}
    {typeof expires_at === "string" && (
      <span className="badge">{t("import.expires", { date: formatDate(expires_at) })}</span>
    )}
  </>
);
