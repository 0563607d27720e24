/** Lets the worker that stores clicks repair rollups, after the operator has confirmed. */
import { createInterface } from "node:readline/promises";

import {
  type BucketRange,
  type ClickHouse,
  readRepair,
  REQUEST_SECONDS_MAX,
  requestRepair,
} from "../../shared/clicks/rollups.ts";

const POLL_MS = 1_000;

/** The time in which a worker must start; after that the request has expired. */
const START_MS = (REQUEST_SECONDS_MAX + 10) * 1_000;

/** The changes that a repair would make. */
type Plan = { differences: number; missing: number; surplus: number };

/**
 * Asks the operator to confirm the repair, unless `yes` is set. Returns false without a terminal.
 */
export async function confirmRepair(plan: Plan, yes: boolean): Promise<boolean> {
  const { differences, missing, surplus } = plan;
  console.error(
    `A repair adds ${missing} clicks to ${differences} buckets of rollups, and takes ${surplus} away.`,
  );
  if (yes) return true;
  if (!process.stdin.isTTY) {
    console.error("Nothing was changed: nobody can be asked here. Repeat it with --yes.");
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question("Repair them? [y/N] ");
  terminal.close();
  if (/^y(?:es)?$/i.test(answer.trim())) return true;
  console.error("Nothing was changed.");
  return false;
}

/**
 * Requests that the owner of the clicks rebuild the differing buckets of the range between its
 * inserts. Returns the number of buckets it rebuilt; this is less than the number of differences if
 * some were inserts in progress. Throws when no worker starts in time.
 */
export async function repairByOwner(clickhouse: ClickHouse, range: BucketRange): Promise<number> {
  const { id } = await requestRepair(clickhouse, range);
  const requestedAt = performance.now();
  for (;;) {
    const progress = await readRepair(clickhouse, id);
    if (progress.state === "done") return progress.rebuilt;
    if (progress.state === "requested" && performance.now() - requestedAt > START_MS)
      throw new Error(
        "Nothing was changed: no worker began within a minute. Repairs are done by the worker that stores clicks; " +
          "shorthop status shows whether there is one.",
      );
    await Bun.sleep(POLL_MS);
  }
}
