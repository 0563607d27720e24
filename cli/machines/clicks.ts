/** `shorthop admin reconcile` and `journal`: account for every click. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import {
  listQuarantine,
  quarantinedPath,
  restoreQuarantine,
} from "../../shared/clicks/quarantine.ts";
import { scanSegment } from "../../shared/contracts/click-segment.ts";
import { print, printList, type WithClickHouse, type WithNats } from "../context.ts";
import { readReconciliation, readRedirectors } from "./reconciliation.ts";

type Json = { json: boolean };

type ClickCommandsDeps = {
  withNats: WithNats;
  withClickHouse: WithClickHouse;
  /** Returns the metrics URLs of the redirectors if the command names none. */
  defaultRedirectors: () => Promise<string>;
};

export function addClickCommands(
  program: Command,
  { withNats, withClickHouse, defaultRedirectors }: ClickCommandsDeps,
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

function readJournal(dir: string): Record<string, unknown>[] {
  return readdirSync(dir)
    .filter((name) => /\.(?:open|segment)$/.test(name))
    .toSorted()
    .map((file) => describeFile(join(dir, file), file, file.endsWith(".open") ? "open" : "sealed"))
    .concat(
      listQuarantine(dir).map((file) =>
        describeFile(quarantinedPath(dir, file), file, "quarantined"),
      ),
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
  const { segment, records, whole: complete } = scan;
  return { file, state, segment, clicks: records.length, bytes: bytes.length, complete };
}
