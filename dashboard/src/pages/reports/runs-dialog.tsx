/** Shows the last runs of a report, and whether their mails were sent. */
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { Fragment, useState } from "react";

import type { Report, ReportRun } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatCount, formatDate, formatDateTime } from "../../ui/format.ts";
import { QueryList } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";

const OUTCOMES = ["waiting", "sent", "failed", "unknown"] as const;

type RunsDialogProps = {
  report: Report;
  /** The run that is read at first; undefined for the list. */
  first: ReportRun | undefined;
  onClose: () => void;
};

export function RunsDialog({ report, first, onClose }: RunsDialogProps) {
  const { scope } = useAccountContext();
  const [read, setRead] = useState(first);
  const runs = useQuery({
    queryKey: ["report-runs", scope, report.id],
    queryFn: async () => (await getClient(scope).reports.runs(report.id)).data,
  });
  if (read !== undefined) {
    return <RunDialog run={read} onBack={() => setRead(undefined)} onClose={onClose} />;
  }
  return (
    <Dialog title={t("reports.runsOf", { name: report.name })} onClose={onClose} wide>
      <QueryList query={runs} label={t("reports.runs")} empty={{ title: t("reports.noRuns") }}>
        {(rows) => <RunTable runs={rows} onRead={setRead} />}
      </QueryList>
    </Dialog>
  );
}

type RunTableProps = { runs: readonly ReportRun[]; onRead: (run: ReportRun) => void };

const RunTable = ({ runs, onRead }: RunTableProps) => (
  <RowTable
    label={t("reports.runs")}
    rows={runs}
    keyOf={({ event_id }) => event_id}
    columns={[
      { name: t("reports.days"), cell: formatDays },
      {
        name: t("reports.made"),
        cell: ({ created_at, requested }) => (
          <>
            {formatDateTime(created_at)}
            {requested && <div className="hint">{t("reports.requested")}</div>}
          </>
        ),
      },
      { name: t("reports.clicks"), isNamed: true, cell: ({ clicks }) => formatCount(clicks) },
      { name: t("reports.mails"), isNamed: true, cell: describeMails },
    ]}
    actions={(run) => (
      <Button variant="quiet" onClick={() => onRead(run)}>
        {t("reports.read")}
      </Button>
    )}
  />
);

/** The days of the period, both included. */
const formatDays = ({ first_day, last_day }: ReportRun): string =>
  `${formatDate(first_day)} – ${formatDate(last_day)}`;

const describeMails = ({ mails }: ReportRun): string =>
  OUTCOMES.filter((outcome) => mails[outcome] > 0)
    .map((outcome) => t(`reports.outcome.${outcome}`, { count: mails[outcome] }))
    .join(", ") || "–";

type RunDialogProps = { run: ReportRun; onBack: () => void; onClose: () => void };

/** The content of a report, in the words of its mails. */
function RunDialog({ run, onBack, onClose }: RunDialogProps) {
  const { title, subject, totals, lists, note } = run.message;
  return (
    <Dialog title={title} onClose={onClose} wide>
      <div className="stack">
        <p>{subject}</p>
        <dl className="facts">
          {totals.map(({ label, text }) => (
            <Fragment key={label}>
              <dt>{label}</dt>
              <dd>{text}</dd>
            </Fragment>
          ))}
        </dl>
        {lists.map(({ title, rows }) => (
          <section key={title}>
            <h3>{title}</h3>
            <ol className="rows">
              {rows.map(({ name, number }, i) => (
                <li key={i}>
                  {name} <span className="number">{number}</span>
                </li>
              ))}
            </ol>
          </section>
        ))}
        <p className="hint">{note}</p>
      </div>
      <footer>
        <Button onClick={onBack}>{t("reports.runs")}</Button>
        <Button variant="primary" onClick={() => void download(run)}>
          <Download aria-hidden /> {t("reports.download")}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Saves what a report says as a CSV file. */
async function download({ message, last_day }: ReportRun): Promise<void> {
  const { saveTable } = await import("../../data/csv.ts");
  saveTable(toTable(message), `${last_day}.csv`);
}

/** A row for each total and for each entry of a list: what it is of, its name, and its number. */
export const toTable = ({ title, totals, lists }: ReportRun["message"]): string[][] => [
  [title, "", ""],
  ...totals.map(({ label, text }) => [label, "", text]),
  ...lists.flatMap(({ title: list, rows }) => rows.map(({ name, number }) => [list, name, number])),
];
