/**
 * Imports links from a CSV file: shows what becomes of each column, checks all rows without
 * creating anything, creates the links, and lists the rows that were not imported.
 */
import { FileUp } from "lucide-react";
import { Link as PageLink } from "wouter";

import { UTM_NAMES } from "../../../../../shared/contracts/analytics.ts";
import { readableHost } from "../../../../../shared/contracts/host-names.ts";
import { useDomainsQuery } from "../../../data/account-lists.ts";
import { useAccountContext, useCanWrite } from "../../../data/session.ts";
import { fieldName } from "../../../languages/errors.ts";
import { t } from "../../../languages/translate.ts";
import { formatDate } from "../../../ui/format.ts";
import { Card, Page } from "../../../ui/page.tsx";
import { Alert, Empty, QueryBoundary } from "../../../ui/states.tsx";
import { type Column, RowTable } from "../../../ui/table.tsx";
import { ColumnsCard, type Delimiter, DELIMITERS } from "./columns-card.tsx";
import { type ImportItem, type PlanInput, Planner } from "./plan.ts";
import { CheckCard, ProgressCard } from "./run-cards.tsx";
import { type ChosenFile, type Import, toPlanInput, useImport } from "./use-import.ts";

export function ImportPage() {
  const { session } = useAccountContext();
  const domains = useDomainsQuery();
  if (!useCanWrite()) return <Empty title={t("import.noRole")} />;
  return (
    <Page
      title={t("commands.importLinks")}
      intro={t("import.intro")}
      actions={
        <PageLink href="/links" className="button button-plain">
          {t("analytics.backToLinks")}
        </PageLink>
      }
    >
      <QueryBoundary query={domains} label={t("shell.pages.domains")}>
        {(data) => {
          const verified = data.filter(({ status }) => status === "verified");
          return (
            <ImportSteps
              hosts={{
                own: new URL(session.short_url).hostname,
                domains: new Set(verified.map(({ domain }) => domain)),
              }}
            />
          );
        }}
      </QueryBoundary>
    </Page>
  );
}

function ImportSteps({ hosts }: { hosts: PlanInput["hosts"] }) {
  const steps = useImport(hosts);
  const { chosen, stage } = steps;
  return (
    <div className="import-steps">
      <FileCard steps={steps} />
      {chosen !== undefined && stage.name !== "importing" && (
        <>
          <ColumnsCard chosen={chosen} hosts={hosts} onChange={steps.change} />
          <PreviewCard chosen={chosen} hosts={hosts} />
          <CheckCard chosen={chosen} steps={steps} />
        </>
      )}
      {chosen !== undefined && stage.name === "importing" && (
        <ProgressCard
          file={chosen.file}
          tags={chosen.options.tags}
          total={stage.items.length}
          progress={stage.progress}
          onStop={steps.stop}
        />
      )}
    </div>
  );
}

function FileCard({ steps: { chosen, error, stage, selectFile } }: { steps: Import }) {
  const isRunning = stage.name === "importing" && !stage.progress.ended;
  return (
    <Card>
      <label className={chosen === undefined ? "file-picker" : "file-picker file-picker-small"}>
        <FileUp aria-hidden />
        <span>{t("import.choose")}</span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values"
          disabled={isRunning}
          onChange={(event) => void selectFile(event.target.files?.[0])}
        />
      </label>
      {error !== undefined && <Alert>{error}</Alert>}
      {chosen !== undefined && <FileSummary chosen={chosen} />}
    </Card>
  );
}

function FileSummary({ chosen: { file } }: { chosen: ChosenFile }) {
  const warning = serviceWarning(file.service?.name);
  return (
    <div className="stack">
      <p role="status">{describeFile(file.service?.name, file.rows.length, file)}</p>
      {file.encoding === "Windows-1252" && <p className="warning">{t("import.file.encoding")}</p>}
      {warning !== undefined && <p className="warning">{warning}</p>}
    </div>
  );
}

/** Describes a file that was read: `The Bitly export contains 3 rows, …`. */
function describeFile(
  service: string | undefined,
  rows: number,
  { delimiter, encoding }: { delimiter: Delimiter; encoding: string },
): string {
  const values = { count: rows, separator: t(DELIMITERS[delimiter]), encoding };
  return service === undefined
    ? t("import.file.unknown", values)
    : t("import.file.known", { ...values, service });
}

function serviceWarning(service: string | undefined): string | undefined {
  if (service === "Dub") return t("import.file.dubWarning");
  return service === "Shlink" ? t("import.file.shlinkWarning") : undefined;
}

const PREVIEW_MAX = 5;

function PreviewCard({ chosen, hosts }: { chosen: ChosenFile; hosts: PlanInput["hosts"] }) {
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
            name: t("fields.short_url"),
            cell: ({ link: { domain, alias } }) => (
              <>
                {readableHost(domain ?? hosts.own)}/{alias ?? <em>{t("import.generated")}</em>}
              </>
            ),
          },
          { name: t("import.heads.state"), cell: (item) => <State item={item} /> },
          {
            name: t("fields.url"),
            cell: ({ link }) => <span className="destination">{link.url}</span>,
          },
          { name: t("fields.title"), isNamed: true, cell: ({ link }) => link.title },
          {
            name: t("fields.tags"),
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
      {archived === true && <span className="badge">{t("fields.archived")}</span>}{" "}
      {disabled === true && <span className="badge">{t("fields.disabled")}</span>}{" "}
      {password !== undefined && <span className="badge">{t("fields.password")}</span>}{" "}
      {typeof expires_at === "string" && (
        <span className="badge">{t("links.state.until", { date: formatDate(expires_at) })}</span>
      )}
    </>
  );
}
