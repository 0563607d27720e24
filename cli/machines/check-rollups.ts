/**
 * `shorthop check-rollups`: compares rollups with the clicks they aggregate, one day after the
 * other, the last one first. Each day is compared and repaired by itself, so that it does not
 * matter how many there are, and an interrupted comparison can go on where it was.
 */
import type { ClickHouseClient } from "@clickhouse/client";
import type { Command } from "commander";

import {
  type BucketRange,
  type ClickHouse,
  type Difference,
  findDifferences,
  readRepair,
  REQUEST_SECONDS_MAX,
  requestRepair,
} from "../../shared/clicks/rollups.ts";
import { readWholeFrom } from "../../shared/clicks/whole-clicks.ts";
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import { parseCount, parseInstant } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { ask, print } from "../output.ts";

/** Clicks may arrive this long after they happened, so later buckets are not compared. */
const ARRIVAL_SECONDS = HOUR_SECONDS;

/** Maximum differences printed without `--json`. */
const PRINTED_MAX = 100;

const POLL_MS = 1_000;

/** The time in which a worker must start; after that the request has expired. */
const START_MS = (REQUEST_SECONDS_MAX + 10) * 1_000;

type Comparison = {
  hours: number;
  before: Date | undefined;
  repair: boolean;
  yes: boolean;
  json: boolean;
};

export function addCheckRollupsCommand(program: Command, installation: Installation): void {
  program
    .command("check-rollups")
    .description(
      "Compare the rollups with the clicks they aggregate, as far as retention has left the clicks whole",
    )
    .option("--hours <n>", "hours to look back", parseCount, 48)
    .option("--before <time>", "look back from this time instead of now", parseInstant)
    .option("--repair", "have the worker that stores clicks rebuild the buckets that differ", false)
    .option("--yes", "repair without asking", false)
    .option("--json", "print JSON", false)
    .action(async (options: Comparison) => {
      const owner = installation.asOwner();
      await owner.withClickHouse((clickhouse) => checkRollups(clickhouse, options));
      if (options.repair) await owner.recordCommand("check-rollups --repair");
    });
}

/** A day, or the part of one within the range, and what of it differs. */
type ComparedDay = { range: BucketRange; differences: Difference[] };

async function checkRollups(
  clickhouse: ClickHouseClient,
  { hours, before, repair, yes, json }: Comparison,
): Promise<void> {
  const range = resolveRange(hours, before);
  const wholeFrom = await readWholeFrom(clickhouse);
  const days = await compareDays(clickhouse, range);
  const differences = days.flatMap((day) => day.differences);
  const result = {
    hours,
    // Older buckets stay unchanged: retention may have deleted some of their clicks.
    left_out_before: wholeFrom > range.from ? describeWholeFrom(wholeFrom) : null,
    differences: differences.length,
    missing: sumOf(differences, "missing"),
    surplus: sumOf(differences, "surplus"),
  };
  const isWanted = repair && differences.length > 0;
  // Printed before any change; standard output contains only the result.
  if (isWanted && !json) listDifferences(differences, console.error);
  if (!isWanted || !(await confirmRepair(result, yes))) {
    print(json, { ...result, repaired: 0 });
    if (!isWanted && !json) listDifferences(differences);
    if (differences.length > 0) process.exitCode = 1;
    return;
  }
  let repaired = 0;
  let remaining = 0;
  for (const day of days) {
    repaired += await repairByOwner(clickhouse, day.range);
    remaining += (await findDifferences(clickhouse, day.range)).length;
  }
  print(json, { ...result, repaired });
  if (remaining > 0) process.exitCode = 1;
}

/** Returns the days that differ. Throws an error that says where to go on. */
export async function compareDays(
  clickhouse: ClickHouse,
  range: BucketRange,
): Promise<ComparedDay[]> {
  const found: ComparedDay[] = [];
  for (const day of daysOf(range)) {
    try {
      const differences = await findDifferences(clickhouse, day);
      if (differences.length > 0) found.push({ range: day, differences });
    } catch (error) {
      listDifferences(
        found.flatMap(({ differences }) => differences),
        console.error,
      );
      const hours = Math.ceil((day.to - range.from) / HOUR_SECONDS);
      throw new Error(
        `Compared back to ${formatTime(day.to)}; go on with --before ${formatTime(day.to)} --hours ${hours}. ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
  }
  return found;
}

/** Divides a range at midnight, where a bucket of every rollup begins; the last day comes first. */
export function* daysOf({ from, to }: BucketRange): Generator<BucketRange> {
  for (let end = to; end > from;) {
    const midnight = Math.floor((end - 1) / DAY_SECONDS) * DAY_SECONDS;
    const start = Math.max(from, midnight);
    yield { from: start, to: end };
    end = start;
  }
}

function resolveRange(hours: number, before: Date | undefined): BucketRange {
  const latest = Math.floor(Date.now() / 1_000) - ARRIVAL_SECONDS;
  const to = before === undefined ? latest : Math.min(latest, Math.floor(before.getTime() / 1_000));
  return { from: to - hours * HOUR_SECONDS, to };
}

const formatTime = (seconds: number): string => new Date(seconds * 1_000).toISOString();

const describeWholeFrom = (wholeFrom: number): string =>
  wholeFrom === Infinity ? "unknown" : formatTime(wholeFrom);

const sumOf = (differences: readonly Difference[], column: "missing" | "surplus"): number =>
  differences.reduce((sum, difference) => sum + difference[column], 0);

function listDifferences(differences: readonly Difference[], write = console.log): void {
  for (const { table, subject, bucket, missing, surplus } of differences.slice(0, PRINTED_MAX))
    write(`${table}\t${subject}\t${formatTime(bucket)}\t+${missing}\t-${surplus}`);
}

type Plan = { differences: number; missing: number; surplus: number };

/**
 * Asks the operator to confirm the repair, unless `yes` is set. Returns false without a terminal.
 */
async function confirmRepair(plan: Plan, yes: boolean): Promise<boolean> {
  const { differences, missing, surplus } = plan;
  console.error(
    `A repair adds ${missing} clicks to ${differences} buckets of rollups, and takes ${surplus} away.`,
  );
  if (yes) return true;
  if (!process.stdin.isTTY) {
    console.error("Nothing was changed: nobody can be asked here. Repeat it with --yes.");
    return false;
  }
  if (/^y(?:es)?$/i.test(await ask("Repair them? [y/N] ", process.stderr))) return true;
  console.error("Nothing was changed.");
  return false;
}

/**
 * Requests that the owner of the clicks rebuild the differing buckets of the range between its
 * inserts. Returns the number of buckets it rebuilt; this is less than the number of differences if
 * some were inserts in progress. Throws when no worker starts in time.
 */
async function repairByOwner(clickhouse: ClickHouse, range: BucketRange): Promise<number> {
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
