/** The last runs of a report, with what came of their mails. */
import { useQuery } from "@tanstack/react-query";

import type { Report, ReportRun } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

const OUTCOMES = ["waiting", "sent", "failed", "unknown"] as const;

export function RunsDialog({ report, onClose }: { report: Report; onClose: () => void }) {
  const { scope } = useAccountContext();
  const runs = useQuery({
    queryKey: ["report-runs", scope, report.id],
    queryFn: async () => (await getClient(scope).reports.runs(report.id)).data,
  });
  return (
    <Dialog title={t("reports.runsOf", { name: report.name })} onClose={onClose} wide>
      <QueryBoundary query={runs} label={t("reports.runs")}>
        {(data) =>
          data.length === 0 ? <Empty title={t("reports.noRuns")} /> : <RunTable runs={data} />
        }
      </QueryBoundary>
    </Dialog>
  );
}

const RunTable = ({ runs }: { runs: readonly ReportRun[] }) => (
  <Table
    label={t("reports.runs")}
    head={[t("reports.days"), t("reports.made"), t("reports.clicks"), t("reports.mails")]}
    className="stacked"
  >
    {runs.map((run) => (
      <tr key={run.event_id}>
        <td>{`${run.first_day} – ${run.last_day}`}</td>
        <td>
          {formatDateTime(run.created_at)}
          {run.requested && <div className="hint">{t("reports.requested")}</div>}
        </td>
        <td data-label={t("reports.clicks")}>{run.clicks}</td>
        <td data-label={t("reports.mails")}>{describeMails(run)}</td>
      </tr>
    ))}
  </Table>
);

const describeMails = ({ mails }: ReportRun): string =>
  OUTCOMES.filter((outcome) => mails[outcome] > 0)
    .map((outcome) => t(`reports.outcome.${outcome}`, { count: mails[outcome] }))
    .join(", ") || "–";
