/** Imports links from a CSV file: shows a preview, creates the links, and reports rejected rows. */
import { useQueryClient } from "@tanstack/react-query";
import { Download, FileUp } from "lucide-react";
import { useRef, useState } from "react";
import { Link as PageLink } from "wouter";

import { parseCsv, saveCsv } from "../../data/csv.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount, pluralize } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { type ImportPlan, type ImportRow, planImport } from "./import-formats.ts";
import { type ImportProgress, importRows, type RejectedRow } from "./import-run.ts";

const FILE_BYTES_MAX = 50 * 1024 * 1024;
/** Maximum rejected rows displayed; the CSV download has all. */
const REJECTED_MAX = 100;
/** Rows of the preview. */
const PREVIEW_MAX = 5;

export function ImportPage() {
  const canWrite = useCanWrite();
  const { scope } = useAccountContext();
  const queryClient = useQueryClient();
  const [plan, setPlan] = useState<ImportPlan>();
  const [error, setError] = useState<string>();
  const [progress, setProgress] = useState<ImportProgress>();
  const stopRequested = useRef(false);

  async function selectFile(file: File | undefined): Promise<void> {
    setPlan(undefined);
    setProgress(undefined);
    if (file === undefined) return;
    const result = await readFile(file);
    if (typeof result === "string") setError(result);
    else {
      setError(undefined);
      setPlan(result);
    }
  }

  async function startImport(rows: readonly ImportRow[]): Promise<void> {
    stopRequested.current = false;
    await importRows(scope, rows, setProgress, () => stopRequested.current);
    await Promise.all([
      queryClient.invalidateQueries({ queryKey: ["links", scope] }),
      queryClient.invalidateQueries({ queryKey: ["tags", scope] }),
    ]);
  }

  if (!canWrite) return <Empty title="Your role does not allow changes" />;
  return (
    <Page
      title="Import links"
      intro="Upload a CSV file with a header row: an export from Bitly, Kutt, YOURLS, Shlink or Shorthop, or any file with a column of destination URLs."
      actions={
        <PageLink href="/links" className="button button-plain">
          Back to links
        </PageLink>
      }
    >
      <Card>
        <label className="file-picker">
          <FileUp aria-hidden />
          <span>Choose a CSV file</span>
          <input
            type="file"
            accept=".csv,text/csv"
            disabled={progress !== undefined && !progress.ended}
            onChange={(event) => void selectFile(event.target.files?.[0])}
          />
        </label>
        {error !== undefined && <Alert>{error}</Alert>}
        {plan !== undefined && progress === undefined && (
          <Preview plan={plan} onStart={() => void startImport(plan.rows)} />
        )}
        {plan !== undefined && progress !== undefined && (
          <Report
            total={plan.rows.length}
            progress={progress}
            onStop={() => {
              stopRequested.current = true;
            }}
          />
        )}
      </Card>
    </Page>
  );
}

/** Reads a file. Returns the links to import, or an error message. */
async function readFile(file: File): Promise<ImportPlan | string> {
  if (file.size > FILE_BYTES_MAX) return "The file is larger than 50 MB. Split it.";
  const { columns, records } = parseCsv(await file.text());
  const plan = planImport(columns, records);
  if (plan === undefined) {
    return "The file has no column of destination URLs, such as url or long_url.";
  }
  if (plan.rows.length === 0) return "The file contains no links.";
  return plan;
}

function Preview({ plan, onStart }: { plan: ImportPlan; onStart: () => void }) {
  return (
    <div className="stack">
      <p>
        {plan.source === undefined ? "The file" : `The ${plan.source} export`} contains{" "}
        {pluralize(plan.rows.length, "link")}. Preview:
      </p>
      <Table label="Preview" head={["Alias", "Destination", "Title", "Tags"]}>
        {plan.rows.slice(0, PREVIEW_MAX).map(({ row, link }) => (
          <tr key={row}>
            <td>{link.alias ?? <em>generated</em>}</td>
            <td className="destination">{link.url}</td>
            <td>{link.title}</td>
            <td>{link.tags?.join(", ")}</td>
          </tr>
        ))}
      </Table>
      <div>
        <Button variant="primary" onClick={onStart}>
          Import {pluralize(plan.rows.length, "link")}
        </Button>
      </div>
    </div>
  );
}

function Report({
  total,
  progress,
  onStop,
}: {
  total: number;
  progress: ImportProgress;
  onStop: () => void;
}) {
  const { done, created, rejected, ended, stopReason } = progress;
  return (
    <div className="stack">
      <label className="progress">
        {ended ? "Done" : "Importing"}: {formatCount(done)} of {formatCount(total)}
        {!ended && done > 0 && ` (${describeRest(progress, total)} left)`}
        <progress value={done} max={total} />
      </label>
      {!ended && (
        <div>
          <Button onClick={onStop}>Stop</Button>
        </div>
      )}
      <p role="status">
        {pluralize(created, "link")} created, {formatCount(rejected.length)} rejected.
      </p>
      {stopReason !== undefined && <Alert>{stopReason}</Alert>}
      {rejected.length > 0 && ended && <RejectedTable rejected={rejected} />}
    </div>
  );
}

/** The estimated remaining time at the speed so far. */
function describeRest({ startedAt, done }: ImportProgress, total: number): string {
  const seconds = Math.ceil((((Date.now() - startedAt) / done) * (total - done)) / 1_000);
  return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

const RejectedTable = ({ rejected }: { rejected: readonly RejectedRow[] }) => (
  <>
    <Table label="Rejected rows" head={["Row", "Alias", "Destination", "Reason"]}>
      {rejected.slice(0, REJECTED_MAX).map(({ row, alias, url, reason }) => (
        <tr key={row}>
          <td>{row}</td>
          <td>{alias}</td>
          <td className="destination">{url}</td>
          <td>{reason}</td>
        </tr>
      ))}
    </Table>
    <div>
      <Button onClick={() => saveCsv(rejected, "rejected.csv")}>
        <Download aria-hidden /> Download all rejected rows as CSV
      </Button>
    </div>
  </>
);
