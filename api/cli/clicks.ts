/** `shorthop admin reconcile`, `check-rollups` and `journal`: account for every click and verify rollups. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import {
  listQuarantine,
  quarantinedPath,
  restoreQuarantine,
} from "../../shared/clicks/quarantine.ts";
import { type BucketRange, findDifferences, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import { scanSegment } from "../../shared/contracts/click-segment.ts";
import { parseCount } from "./arguments.ts";
import {
  print,
  printList,
  type WithClickHouse,
  type WithDatabase,
  type WithNats,
} from "./context.ts";
import { readReconciliation, readRedirectors } from "./reconciliation.ts";
import { lockRollupRepair } from "./sql.ts";

type Json = { json: boolean };

/** Clicks may still arrive this long after they happened, so younger buckets are not compared. */
const ARRIVAL_SECONDS = 3_600;

type ClickCommandsDeps = {
  withDatabase: WithDatabase;
  withNats: WithNats;
  withClickHouse: WithClickHouse;
  /** Returns the metrics URLs of the redirectors if the command names none. */
  defaultRedirectors: () => Promise<string>;
};

export function addClickCommands(
  program: Command,
  { withDatabase, withNats, withClickHouse, defaultRedirectors }: ClickCommandsDeps,
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
    .description("Compare the rollups with the clicks they aggregate")
    .option("--hours <n>", "hours to look back", parseCount, 48)
    .option("--repair", "rebuild the buckets that differ", false)
    .option("--json", "print JSON", false)
    .action(({ hours, repair, json }: Json & { hours: number; repair: boolean }) =>
      withDatabase((sql) =>
        withClickHouse(async (clickhouse) => {
          const range = resolveRange(hours);
          const differences = await findDifferences(clickhouse, range);
          if (repair && differences.length > 0) {
            await sql.begin(async (transaction) => {
              await lockRollupRepair(transaction);
              await rebuildBuckets(clickhouse, await findDifferences(clickhouse, range));
            });
          }
          const remaining = repair ? await findDifferences(clickhouse, range) : differences;
          print(json, {
            hours,
            differences: differences.length,
            repaired: differences.length - remaining.length,
          });
          for (const { table, subject, bucket } of json ? [] : differences.slice(0, PRINTED_MAX)) {
            console.log(`${table}\t${subject}\t${new Date(bucket * 1_000).toISOString()}`);
          }
          if (remaining.length > 0) process.exitCode = 1;
        }),
      ),
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

/** Differences printed without `--json`. */
const PRINTED_MAX = 100;

function resolveRange(hours: number): BucketRange {
  const to = Math.floor(Date.now() / 1_000) - ARRIVAL_SECONDS;
  return { from: to - hours * 3_600, to };
}

function readJournal(dir: string): Record<string, unknown>[] {
  return (
    readdirSync(dir)
      // `.page`: a sealed segment of versions up to 0.2.0, which the redirector renames when it starts.
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
  const complete = scan.end === bytes.length;
  const { segment, count: clicks } = scan;
  return { file, state, segment, clicks, bytes: bytes.length, complete };
}
