/** The first rows of an imported file as they would be imported. */
import { readableHost } from "../../../../../shared/contracts/readable-host.ts";
import { UTM_NAMES } from "../../../../../shared/contracts/utm.ts";
import { fieldName } from "../../../languages/errors.ts";
import { t } from "../../../languages/translate.ts";
import { formatDate } from "../../../ui/format.ts";
import { Card } from "../../../ui/page.tsx";
import { type Column, RowTable } from "../../../ui/table.tsx";
import type { ImportItem, PlanInput } from "./model.ts";
import { Planner } from "./plan.ts";
import { type ChosenFile, toPlanInput } from "./use-import.ts";

/** Rows of the preview. */
const PREVIEW_MAX = 5;

export function PreviewCard({ chosen, hosts }: { chosen: ChosenFile; hosts: PlanInput["hosts"] }) {
  const planner = new Planner(toPlanInput(chosen, hosts));
  const items = chosen.file.rows
    .slice(0, PREVIEW_MAX)
    .flatMap((row, index) => planner.plan(row, index));
  const hasUtm = items.some(({ link }) => listUtm(link).length > 0);
  return (
    <Card title={t("import.preview")}>
      <RowTable
        label={t("import.preview")}
        rows={items}
        keyOf={(_, index) => index}
        className="stacked import-preview"
        columns={[
          { name: t("import.heads.row"), isNamed: true, cell: ({ row }) => row },
          {
            name: t("import.heads.shortUrl"),
            cell: ({ link: { domain, alias } }) => (
              <>
                {readableHost(domain ?? hosts.own)}/{alias ?? <em>{t("import.generated")}</em>}
              </>
            ),
          },
          { name: t("import.heads.state"), cell: (item) => <State item={item} /> },
          {
            name: t("import.heads.destination"),
            cell: ({ link }) => <span className="destination">{link.url}</span>,
          },
          { name: t("import.heads.title"), isNamed: true, cell: ({ link }) => link.title },
          {
            name: t("import.heads.tags"),
            isNamed: true,
            cell: ({ link: { tags } }) => Array.isArray(tags) && tags.join(", "),
          },
          ...(hasUtm ? [utmColumn()] : []),
        ]}
      />
    </Card>
  );
}

const utmColumn = (): Column<ImportItem> => ({
  name: t("links.form.utm"),
  isNamed: true,
  cell: ({ link }) =>
    listUtm(link).map(([name, value]) => (
      <div key={name}>
        {fieldName(name)}: {value}
      </div>
    )),
});

/** The UTM parameters that a link has. */
const listUtm = (link: ImportItem["link"]): [name: string, value: string][] =>
  UTM_NAMES.flatMap((name) => {
    const value = link[name];
    return typeof value === "string" ? [[name, value]] : [];
  });

/** What the link will be, or why it is not imported. */
function State({ item: { link, problem } }: { item: ImportItem }) {
  if (problem !== undefined) return <span className="import-problem">{problem.message}</span>;
  const { archived, disabled, password, expires_at } = link;
  return (
    <>
      {archived === true && <span className="badge">{t("import.archived")}</span>}{" "}
      {disabled === true && <span className="badge">{t("import.disabled")}</span>}{" "}
      {password !== undefined && <span className="badge">{t("import.password")}</span>}{" "}
      {typeof expires_at === "string" && (
        <span className="badge">{t("import.expires", { date: formatDate(expires_at) })}</span>
      )}
    </>
  );
}
