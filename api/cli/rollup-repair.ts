/** Has rollups repaired by the worker that stores clicks, after the operator has agreed. */
import { createInterface } from "node:readline/promises";

import {
  readRepair,
  REQUEST_SECONDS_MAX,
  requestRepair,
} from "../../shared/clicks/repair-requests.ts";
import type { BucketRange, ClickHouse } from "../../shared/clicks/rollups.ts";

const POLL_MS = 1_000;

/** Time for a worker to start: then the request is not valid any more. */
const START_MS = (REQUEST_SECONDS_MAX + 10) * 1_000;

/** What would be changed. */
type Plan = { differences: number; missing: number; surplus: number };

/** Asks the operator whether to repair, unless `yes` says so. Without a terminal the answer is no. */
export async function askToRepair(plan: Plan, yes: boolean): Promise<boolean> {
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
 * Has the owner of the clicks rebuild, between its inserts, what differs within the range. Returns the number of buckets
 * it rebuilt: less than differed before, if some were only being inserted. Throws when no worker begins in time.
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
