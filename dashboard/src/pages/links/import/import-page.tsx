/**
 * Imports links from a CSV file: shows what becomes of each column, checks all rows without
 * creating anything, creates the links, and lists the rows that were not imported.
 */
import { FileUp } from "lucide-react";
import { Link as PageLink } from "wouter";

import { useDomainsQuery } from "../../../data/account-lists.ts";
import { useAccountContext, useCanWrite } from "../../../data/session.ts";
import { t } from "../../../languages/translate.ts";
import { Card, Page } from "../../../ui/page.tsx";
import { Alert, Empty, QueryBoundary } from "../../../ui/states.tsx";
import { ColumnsCard, type Delimiter, DELIMITERS } from "./columns-card.tsx";
import type { PlanInput } from "./model.ts";
import { PreviewCard } from "./preview-card.tsx";
import { CheckCard, ProgressCard } from "./run-cards.tsx";
import { type ChosenFile, type Import, useImport } from "./use-import.ts";

export function ImportPage() {
  const { session } = useAccountContext();
  const domains = useDomainsQuery();
  if (!useCanWrite()) return <Empty title={t("import.noRole")} />;
  return (
    <Page
      title={t("import.title")}
      intro={t("import.intro")}
      actions={
        <PageLink href="/links" className="button button-plain">
          {t("analytics.backToLinks")}
        </PageLink>
      }
    >
      <QueryBoundary query={domains} label={t("domains.loading")}>
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

/** What the export of a service itself loses. */
function serviceWarning(service: string | undefined): string | undefined {
  if (service === "Dub") return t("import.file.dubWarning");
  return service === "Shlink" ? t("import.file.shlinkWarning") : undefined;
}
