/** Imports links from a CSV file: shows a preview, creates the links in batches, and reports rejected rows. */
import { useQueryClient } from "@tanstack/react-query";
import { Download, FileUp } from "lucide-react";
import { useRef, useState } from "react";
import { Link as PageLink } from "wouter";

import { BULK_LINKS_MAX, BULK_PASSWORDS_MAX } from "../../../../shared/contracts/link-schemas.ts";
import { parseCsv, saveCsv } from "../../data/csv.ts";
import { getErrorMessage, isRateLimited } from "../../data/errors.ts";
import { type AccountScope, getClient } from "../../data/http.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount, pluralize } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { type ImportPlan, type ImportRow, planImport, splitIntoBatches } from "./import-formats.ts";

const BATCH_LIMITS = { links: BULK_LINKS_MAX, passwords: BULK_PASSWORDS_MAX };
const FILE_BYTES_MAX = 50 * 1024 * 1024;
/** Rejected rows that are shown; the CSV download has all. */
const REJECTED_MAX = 100;
/** Rows of the preview. */
const PREVIEW_MAX = 5;

type RejectedRow = { row: number; url: string; alias: string; reason: string };

type ImportProgress = {
  done: number;
  created: number;
  rejected: RejectedRow[];
  ended: boolean;
  /** Why the import ended before all rows were sent. */
  stopReason?: string;
};

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
    await queryClient.invalidateQueries({ queryKey: ["links", scope] });
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

/**
 * Creates the links in batches. Stops when the daily quota of links is exhausted: the remaining rows are reported as
 * rejected, and can be imported later.
 */
async function importRows(
  scope: AccountScope,
  rows: readonly ImportRow[],
  onProgress: (progress: ImportProgress) => void,
  isStopped: () => boolean,
): Promise<void> {
  const { links } = getClient(scope);
  const progress: ImportProgress = { done: 0, created: 0, rejected: [], ended: false };
  onProgress({ ...progress });
  for (const batch of splitIntoBatches(rows, BATCH_LIMITS)) {
    if (isStopped()) break;
    if (progress.stopReason !== undefined) {
      reject(progress, batch, progress.stopReason);
      continue;
    }
    try {
      const response = await links.createMany(batch.map(({ link }) => link));
      for (const item of response.data) {
        const row = batch[item.index];
        if ("error" in item && row !== undefined) {
          reject(progress, [row], item.error.message);
          if (item.error.code === "rate_limited") progress.stopReason = item.error.message;
        }
      }
      progress.created += response.created;
    } catch (error) {
      if (isRateLimited(error)) {
        progress.stopReason = getErrorMessage(error);
        reject(progress, batch, progress.stopReason);
      } else {
        // One malformed row invalidates the whole request, so send the rows one by one.
        await importOneByOne(scope, batch, progress, error);
      }
    }
    progress.done += batch.length;
    onProgress({ ...progress });
  }
  onProgress({ ...progress, ended: true });
}

/** Creates the links of a failed batch one by one; `cause` is the batch's error. */
async function importOneByOne(
  scope: AccountScope,
  rows: readonly ImportRow[],
  progress: ImportProgress,
  cause: unknown,
): Promise<void> {
  const { links } = getClient(scope);
  for (const row of rows) {
    try {
      if (rows.length === 1) throw cause;
      await links.create(row.link);
      progress.created++;
    } catch (error) {
      reject(progress, [row], getErrorMessage(error));
    }
  }
}

function reject(progress: ImportProgress, rows: readonly ImportRow[], reason: string): void {
  for (const row of rows) progress.rejected.push(toRejectedRow(row, reason));
}

const toRejectedRow = ({ row, link }: ImportRow, reason: string): RejectedRow => ({
  row,
  url: link.url,
  alias: link.alias ?? "",
  reason,
});

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
