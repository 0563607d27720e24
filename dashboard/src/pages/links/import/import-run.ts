/**
 * Runs an import: checks the links with the service, creates them in bulk, and reports which were
 * not created, and why.
 */
import type { Link } from "../../../../../clients/typescript/src/index.ts";
import { getClient, PATIENT } from "../../../data/http.ts";
import type { AccountScope } from "../../../data/scope.ts";
import { describeError, getErrorMessage, isRateLimited } from "../../../languages/errors.ts";
import { t } from "../../../languages/translate.ts";
import { splitIntoBatches } from "../batches.ts";
import type { ImportItem, Problem, ProblemKind } from "./model.ts";

/** A link that was not imported. */
export type FailedItem = ImportItem & { problem: Problem };

export type ImportProgress = {
  /** Unix milliseconds. */
  startedAt: number;
  done: number;
  created: readonly Link[];
  failed: readonly FailedItem[];
  ended: boolean;
  /** Why the import ended before all links were sent. */
  stopReason?: string;
};

/** The links that an import would not send. */
export const listFailed = (items: readonly ImportItem[]): FailedItem[] =>
  items.flatMap(({ problem, ...item }) => (problem === undefined ? [] : [{ ...item, problem }]));

/**
 * Creates the links that have no problem, in batches. Stops when `isStopped`, or when the daily
 * quota of links is exhausted: the remaining links have failed then, and can be imported later.
 */
export async function importItems(
  scope: AccountScope,
  items: readonly ImportItem[],
  onProgress: (progress: ImportProgress) => void,
  isStopped: () => boolean,
): Promise<void> {
  const { links } = getClient(scope, PATIENT);
  const failed = listFailed(items);
  const startedAt = Date.now();
  let done = failed.length;
  const created: Link[] = [];
  let stopReason: string | undefined;
  const fail = (batch: readonly ImportItem[], problem: Problem): void => {
    for (const item of batch) failed.push({ ...item, problem });
  };
  const report = (ended: boolean): void =>
    onProgress({
      startedAt,
      done,
      created,
      failed: ended ? failed.toSorted((a, b) => a.index - b.index) : failed,
      ended,
      ...(stopReason === undefined ? {} : { stopReason }),
    });

  report(false);
  for (const batch of splitIntoBatches(items.filter(({ problem }) => problem === undefined))) {
    if (stopReason === undefined && isStopped()) stopReason = t("import.reasons.stopped");
    if (stopReason !== undefined) {
      fail(batch, { kind: "not_sent", message: stopReason });
      continue;
    }
    try {
      const response = await links.createMany(batch.map(({ link }) => link));
      for (const entry of response.data) {
        const item = batch[entry.index];
        if ("link" in entry) created.push(entry.link);
        if (item === undefined || !("error" in entry)) continue;
        const { code } = entry.error;
        const message = describeError(entry.error);
        if (code === "rate_limited") stopReason = message;
        fail([item], { kind: code === "rate_limited" ? "not_sent" : kindOfCode(code), message });
      }
    } catch (error) {
      const message = getErrorMessage(error);
      if (isRateLimited(error)) stopReason = message;
      fail(batch, { kind: "not_sent", message });
    }
    done += batch.length;
    report(false);
  }
  report(true);
}

/** Errors of the API that have a kind of their own. */
const KINDS: ReadonlyMap<string, ProblemKind> = new Map([
  ["alias_taken", "alias_taken"],
  ["invalid_alias", "invalid_alias"],
  ["invalid_url", "invalid_url"],
]);

const kindOfCode = (code: string): ProblemKind => KINDS.get(code) ?? "rejected";

/**
 * Returns the links with what the service says of those without a problem. Throws `ShorthopError`;
 * rejects when the signal is aborted.
 */
export async function checkItems(
  scope: AccountScope,
  items: readonly ImportItem[],
  onProgress: (checked: number) => void,
  signal: AbortSignal,
): Promise<ImportItem[]> {
  const { links } = getClient(scope, PATIENT);
  const checked = new Map<ImportItem, ImportItem>();
  const possible = items.filter(({ problem }) => problem === undefined);
  for (const batch of splitIntoBatches(possible)) {
    const { data } = await links.checkMany(
      batch.map(({ link }) => link),
      { signal },
    );
    for (const entry of data) {
      const item = batch[entry.index];
      if (item === undefined || !("error" in entry)) continue;
      const { code } = entry.error;
      checked.set(item, {
        ...item,
        problem: { kind: kindOfCode(code), message: describeError(entry.error) },
      });
    }
    onProgress(batch.length);
  }
  return items.map((item) => checked.get(item) ?? item);
}
