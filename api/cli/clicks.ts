/**
 * `shorthop admin reconcile`, `check-rollups` and `journal`: account for every click and verify
 * rollups.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { ClickHouseClient } from "@clickhouse/client";
import type { Command } from "commander";

import {
  listQuarantine,
  quarantinedPath,
  restoreQuarantine,
} from "../../shared/clicks/quarantine.ts";
import { type BucketRange, type Difference, findDifferences } from "../../shared/clicks/rollups.ts";
import { readWholeFrom } from "../../shared/clicks/whole-clicks.ts";
import { isWhole, scanSegment } from "../../shared/contracts/click-segment.ts";
import { parseCount } from "./arguments.ts";
import { print, printList, type WithClickHouse, type WithNats } from "./context.ts";
import { readReconciliation, readRedirectors } from "./reconciliation.ts";
import { confirmRepair, repairByOwner } from "./rollup-repair.ts";

type Json = { json: boolean };

/** Clicks may arrive this long after they happened, so later buckets are not compared. */
const ARRIVAL_SECONDS = 3_600;

type ClickCommandsDeps = {
  withNats: WithNats;
  withClickHouse: WithClickHouse;
  /** Uses a connection that may request a repair. */
  withOwnersClickHouse: WithClickHouse;
  /** Returns the metrics URLs of the redirectors if the command names none. */
  defaultRedirectors: () => Promise<string>;
};

export function addClickCommands(
  program: Command,
  { withNats, withClickHouse, withOwnersClickHouse, defaultRedirectors }: ClickCommandsDeps,
): void {
  program
    .command("reconcile")
    .description(
      "Account for every click, by journal: recorded = stored + in_stream + dead_lettered + in_journals",
    )
    .option("--redirectors <urls>", "metrics URLs of redirectors, comma-separated")
    .option("--json", "print JSON", false)
    .action(({ redirectors, json }: Json & { redirectors?: string }) =>
      withNats((nats) =>
        withClickHouse(async (clickhouse) => {
          const urls = (redirectors ?? (await defaultRedirectors())).split(",");
          const stats = await readRedirectors(urls.map((url) => url.trim()));
          const reconciliation = await readReconciliation(nats, clickhouse, stats);
          if (json) print(true, reconciliation);
          else {
            const { journals, ...totals } = reconciliation;
            print(false, totals);
            printList(false, journals);
          }
        }),
      ),
    );

  program
    .command("check-rollups")
    .description(
      "Compare the rollups with the clicks they aggregate, as far as retention has left the clicks whole",
    )
    .option("--hours <n>", "hours to look back", parseCount, 48)
    .option("--repair", "have the worker that stores clicks rebuild the buckets that differ", false)
    .option("--yes", "repair without asking", false)
    .option("--json", "print JSON", false)
    .action((options: CheckOptions) =>
      withOwnersClickHouse((clickhouse) => checkRollups(clickhouse, options)),
    );

  program
    .command("journal")
    .description("List the segments of a redirector's journal; the redirector may be running")
    .argument("<dir>", "the redirector's JOURNAL_DIR")
    .option(
      "--restore",
      "move readable segments out of quarantine; then restart the redirector",
      false,
    )
    .option("--json", "print JSON", false)
    .action((dir: string, { json, restore }: Json & { restore: boolean }) => {
      if (!restore) return printList(json, readJournal(dir));
      const results = restoreQuarantine(dir);
      printList(json, results);
      if (results.some(({ restored }) => !restored)) process.exitCode = 1;
    });
}

type CheckOptions = Json & { hours: number; repair: boolean; yes: boolean };

async function checkRollups(
  clickhouse: ClickHouseClient,
  { hours, repair, yes, json }: CheckOptions,
): Promise<void> {
  const range = resolveRange(hours);
  const wholeFrom = await readWholeFrom(clickhouse);
  const differences = await findDifferences(clickhouse, range);
  const result = {
    hours,
    // Older buckets stay unchanged: retention may have deleted some of their clicks.
    left_out_before: wholeFrom > range.from ? describeWholeFrom(wholeFrom) : null,
    differences: differences.length,
    missing: sumOf(differences, "missing"),
    surplus: sumOf(differences, "surplus"),
  };
  if (!repair || differences.length === 0) {
    print(json, { ...result, repaired: 0 });
    if (!json) listDifferences(differences);
    if (differences.length > 0) process.exitCode = 1;
    return;
  }
  // Printed before any change; standard output contains only the result.
  if (!json) listDifferences(differences, console.error);
  if (!(await confirmRepair(result, yes))) {
    print(json, { ...result, repaired: 0 });
    process.exitCode = 1;
    return;
  }
  const repaired = await repairByOwner(clickhouse, range);
  print(json, { ...result, repaired });
  if ((await findDifferences(clickhouse, range)).length > 0) process.exitCode = 1;
}

const describeWholeFrom = (wholeFrom: number): string =>
  wholeFrom === Infinity ? "unknown" : new Date(wholeFrom * 1_000).toISOString();

const sumOf = (differences: readonly Difference[], column: "missing" | "surplus"): number =>
  differences.reduce((sum, difference) => sum + difference[column], 0);

function listDifferences(differences: readonly Difference[], write = console.log): void {
  for (const { table, subject, bucket, missing, surplus } of differences.slice(0, PRINTED_MAX)) {
    const at = new Date(bucket * 1_000).toISOString();
    write(`${table}\t${subject}\t${at}\t+${missing}\t-${surplus}`);
  }
}

/** Maximum differences printed without `--json`. */
const PRINTED_MAX = 100;

function resolveRange(hours: number): BucketRange {
  const to = Math.floor(Date.now() / 1_000) - ARRIVAL_SECONDS;
  return { from: to - hours * 3_600, to };
}

function readJournal(dir: string): Record<string, unknown>[] {
  return (
    readdirSync(dir)
      // `.page`: a sealed segment of versions up to 0.2.0, which the redirector renames when it
      // starts.
      .filter((name) => /\.(?:open|segment|page)$/.test(name))
      .toSorted()
      .map((file) =>
        describeFile(join(dir, file), file, file.endsWith(".open") ? "open" : "sealed"),
      )
      .concat(
        listQuarantine(dir).map((file) =>
          describeFile(quarantinedPath(dir, file), file, "quarantined"),
        ),
      )
  );
}

function describeFile(path: string, file: string, state: string): Record<string, unknown> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { file, state: state === "quarantined" ? state : "unreadable", problem };
  }
  const scan = scanSegment(bytes);
  if (scan === undefined)
    return { file, state: state === "quarantined" ? state : "invalid", bytes: bytes.length };
  const complete = isWhole(scan, bytes);
  const { segment, count: clicks } = scan;
  return { file, state, segment, clicks, bytes: bytes.length, complete };
}
