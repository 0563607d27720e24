/** `shorthop admin ledger`, `audit` and `journal`: where every click is, and whether figures are right. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import { REPAIR_LOCK } from "../../shared/clicks/lock.ts";
import { type BucketRange, findDifferences, repair } from "../../shared/clicks/rollups.ts";
import { scanPage } from "../../shared/contracts/click-page.ts";
import { parseCount } from "./arguments.ts";
import { readLedger, readRedirectors } from "./ledger.ts";
import { print, printList, type WithClickHouse, type WithDatabase, type WithNats } from "./run.ts";

type Json = { json: boolean };

/** Clicks may still come in this long after they happened; what is younger is not judged. */
const QUIET_SECONDS = 3_600;

type ClickCommandsDeps = {
  withDatabase: WithDatabase;
  withNats: WithNats;
  withClickHouse: WithClickHouse;
  /** Metrics addresses of redirectors, where none are named. */
  defaultRedirectors: () => Promise<string>;
};

export function addClickCommands(
  program: Command,
  { withDatabase, withNats, withClickHouse, defaultRedirectors }: ClickCommandsDeps,
): void {
  program
    .command("ledger")
    .description("Where every click is: recorded = stored + on the way + set aside, by journal")
    .option("--redirectors <urls>", "internal addresses of redirectors, comma-separated")
    .option("--json", "print JSON", false)
    .action(({ redirectors, json }: Json & { redirectors?: string }) =>
      withNats((nats) =>
        withClickHouse(async (clickhouse) => {
          const urls = (redirectors ?? (await defaultRedirectors())).split(",");
          const told = await readRedirectors(urls.map((url) => url.trim()));
          const ledger = await readLedger(nats, clickhouse, told);
          if (json) print(true, ledger);
          else {
            const { journals, ...totals } = ledger;
            print(false, totals);
            printList(false, journals);
          }
        }),
      ),
    );

  program
    .command("audit")
    .description("Compare the rollups with the clicks they are made from")
    .option("--hours <n>", "how far back", parseCount, 48)
    .option("--repair", "make what differs anew", false)
    .option("--json", "print JSON", false)
    .action(({ hours, repair: repairing, json }: Json & { hours: number; repair: boolean }) =>
      withDatabase((sql) =>
        withClickHouse(async (clickhouse) => {
          const range = rangeOf(hours);
          const differences = await findDifferences(clickhouse, range);
          if (repairing && differences.length > 0) {
            await sql.begin(async (locked) => {
              await locked`select pg_advisory_xact_lock(${REPAIR_LOCK})`;
              await repair(clickhouse, await findDifferences(clickhouse, range));
            });
          }
          const left = repairing ? await findDifferences(clickhouse, range) : differences;
          print(json, {
            hours,
            differences: differences.length,
            repaired: differences.length - left.length,
          });
          for (const { table, subject, bucket } of json ? [] : differences.slice(0, SHOWN_MAX)) {
            console.log(`${table}\t${subject}\t${new Date(bucket * 1_000).toISOString()}`);
          }
          if (left.length > 0) process.exitCode = 1;
        }),
      ),
    );

  program
    .command("journal")
    .description("What is in a redirector's journal; the redirector may be running")
    .argument("<dir>", "its JOURNAL_DIR")
    .option("--json", "print JSON", false)
    .action((dir: string, { json }: Json) => printList(json, readJournal(dir)));
}

const SHOWN_MAX = 100;

function rangeOf(hours: number): BucketRange {
  const to = Math.floor(Date.now() / 1_000) - QUIET_SECONDS;
  return { from: to - hours * 3_600, to };
}

function readJournal(dir: string): Record<string, unknown>[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".page") || name.endsWith(".open"))
    .toSorted()
    .map((file) => {
      const bytes = readFileSync(join(dir, file));
      const scan = scanPage(bytes);
      if (scan === undefined) return { file, state: "no page", bytes: bytes.length };
      const whole = scan.end === bytes.length;
      const state = file.endsWith(".open") ? "open" : "sealed";
      return { file, state, page: scan.page, clicks: scan.count, bytes: bytes.length, whole };
    });
}
