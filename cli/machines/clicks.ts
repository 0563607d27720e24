/**
 * `shorthop reconcile` and `journal` account for every click; `dlq` manages the dead-letter queue
 * of segments that ClickHouse rejected.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";
import type { NatsConnection } from "nats";

import {
  listQuarantine,
  quarantinedPath,
  restoreQuarantine,
} from "../../shared/clicks/quarantine.ts";
import { scanSegment, whyNoSegment } from "../../shared/contracts/click-segment.ts";
import {
  dropDeadLetter,
  listDeadLetters,
  retryDeadLetter,
} from "../../shared/contracts/dead-letters.ts";
import { parseCount } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, print, printList } from "../output.ts";
import { readReconciliation, readRedirectors } from "./reconciliation.ts";

type Json = { json: boolean };

export function addClickCommands(program: Command, installation: Installation): void {
  addReconcile(program, installation);
  addJournal(program);
  addDlq(program, installation);
}

function addReconcile(program: Command, installation: Installation): void {
  program
    .command("reconcile")
    .description(
      "Account for every click, by journal: recorded = stored + in_stream + dead_lettered + in_journals",
    )
    .option("--redirectors <urls>", "metrics URLs of redirectors, comma-separated")
    .option("--json", "print JSON", false)
    .action(({ redirectors, json }: Json & { redirectors?: string }) =>
      installation.withNats((nats) =>
        installation.withClickHouse(async (clickhouse) => {
          const urls = redirectors ?? (await installation.findUrl("REDIRECTOR_METRICS_URL"));
          const stats = await readRedirectors(urls.split(",").map((url) => url.trim()));
          const reconciliation = await readReconciliation(nats, clickhouse, stats);
          if (json) return print(true, reconciliation);
          const { journals, ...totals } = reconciliation;
          print(false, totals);
          printList(false, journals);
        }),
      ),
    );
}

function addJournal(program: Command): void {
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
    return {
      file,
      state: state === "quarantined" ? state : "invalid",
      bytes: bytes.length,
      problem: whyNoSegment(bytes),
    };
  const { segment, records, whole: complete } = scan;
  return { file, state, segment, clicks: records.length, bytes: bytes.length, complete };
}

function addDlq(program: Command, installation: Installation): void {
  const dlq = program
    .command("dlq")
    .description("The dead-letter queue: segments of clicks that could not be stored");

  dlq
    .command("list")
    .description("List dead-lettered segments with their reasons")
    .option("--json", "print JSON", false)
    .action(({ json }: Json) =>
      installation.withNats(async (nats) =>
        printList(json, await listDeadLetters(await nats.jetstreamManager())),
      ),
    );

  /** Adds a command that runs `work` on one segment or on all of them. */
  function addCommand(
    name: string,
    description: string,
    work: (nats: NatsConnection, sequence: number) => Promise<boolean>,
  ): void {
    dlq
      .command(name)
      .description(description)
      .argument("[sequence]", "sequence of one segment (default: all segments)", parseCount)
      .option("--json", "print JSON", false)
      .action((given: number | undefined, { json }: Json) =>
        installation.withNats(async (nats) => {
          const all = async () => await listDeadLetters(await nats.jetstreamManager());
          const segments = given === undefined ? await all() : [{ sequence: given }];
          for (const { sequence } of segments) mustExist(await work(nats, sequence), "segment");
          await installation.recordCommand(`dlq ${name}`, { segments: segments.length });
          print(json, { segments: segments.length });
        }),
      );
  }

  addCommand("retry", "Publish segments again", async (nats, sequence) =>
    retryDeadLetter(await nats.jetstreamManager(), nats.jetstream(), sequence),
  );
  addCommand("drop", "Delete segments permanently; their clicks are lost", async (nats, sequence) =>
    dropDeadLetter(await nats.jetstreamManager(), sequence),
  );
}
