/** Runs an import: creates the links in bulk, and counts created and rejected rows. */
import { BULK_LINKS_MAX, BULK_PASSWORDS_MAX } from "../../../../shared/contracts/link-schemas.ts";
import { getErrorMessage, isRateLimited } from "../../data/errors.ts";
import { type AccountScope, getClient } from "../../data/http.ts";
import { type ImportRow, splitIntoBatches } from "./import-formats.ts";

/** The API accepts bodies of 1 MiB. */
const BATCH_BYTES_MAX = 1_000_000;

const BATCH_LIMITS = {
  links: BULK_LINKS_MAX,
  passwords: BULK_PASSWORDS_MAX,
  bytes: BATCH_BYTES_MAX,
};

/**
 * Waits for a session's request limit, which resets within a minute, but not for the daily quota of
 * links.
 */
const RETRIES = { retriesMax: 5, retryDelayMaxMs: 90_000 };

export type RejectedRow = { row: number; url: string; alias: string; reason: string };

export type ImportProgress = {
  /** Unix milliseconds. */
  startedAt: number;
  done: number;
  created: number;
  rejected: RejectedRow[];
  ended: boolean;
  /** Why the import ended before all rows were sent. */
  stopReason?: string;
};

/**
 * Creates the links in batches. Stops when the daily quota of links is exhausted: the remaining rows are reported as
 * rejected, and can be imported later.
 */
export async function importRows(
  scope: AccountScope,
  rows: readonly ImportRow[],
  onProgress: (progress: ImportProgress) => void,
  isStopped: () => boolean,
): Promise<void> {
  const { links } = getClient(scope, RETRIES);
  const progress: ImportProgress = {
    startedAt: Date.now(),
    done: 0,
    created: 0,
    rejected: [],
    ended: false,
  };
  for (const row of rows) {
    if (row.problem !== undefined) reject(progress, [row], row.problem);
  }
  progress.done = progress.rejected.length;
  onProgress({ ...progress });
  const possible = rows.filter(({ problem }) => problem === undefined);
  for (const batch of splitIntoBatches(possible, BATCH_LIMITS)) {
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
      if (isRateLimited(error)) progress.stopReason = getErrorMessage(error);
      reject(progress, batch, getErrorMessage(error));
    }
    progress.done += batch.length;
    onProgress({ ...progress });
  }
  progress.rejected.sort((a, b) => a.row - b.row);
  onProgress({ ...progress, ended: true });
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
