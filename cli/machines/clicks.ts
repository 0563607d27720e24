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
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import { decodeSegment, scanSegment, whyNoSegment } from "../../shared/contracts/click-segment.ts";
import {
  dropDeadLetter,
  listDeadLetters,
  retryDeadLetter,
} from "../../shared/contracts/dead-letters.ts";
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  DEAD_LETTERS_STREAM,
  readMessages,
} from "../../shared/contracts/streams.ts";
import type { Uuid } from "../../shared/ids.ts";
import { parseCount } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, print, printList } from "../output.ts";

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

// Click reconciliation: accounts for every click. Segments of a journal are numbered without gaps
// and each click has a position, so the stored clicks show missing segments and duplicates. Every
// click that a running redirector has recorded must be stored, in the stream, dead-lettered or
// still in its journal.

/** Counters of a running redirector's journal. */
export type RedirectorStats = {
  journal: Uuid;
  recorded: number;
  dropped: number;
  delivered: number;
};

/** Clicks of a journal, or of all. */
type Counts = {
  stored: number;
  in_stream: number;
  dead_lettered: number;
  /** Segment numbers found nowhere: 0, except for segments that a crash left empty. */
  missing_segments: number;
};

/** `recorded` is null when no running redirector writes the journal. */
type Journal = Counts & { journal: Uuid; recorded: number | null };

type Reconciliation = Counts & {
  /** Clicks stored more than once: always 0. */
  duplicates: number;
  /** Counts only running redirectors. */
  recorded: number;
  dropped: number;
  /** Recorded by running redirectors, but neither stored nor in the stream nor dead-lettered. */
  in_journals: number;
  journals: Journal[];
};

/** Reads the metrics of redirectors; throws when one is unreachable. */
export async function readRedirectors(urls: readonly string[]): Promise<RedirectorStats[]> {
  return await Promise.all(
    urls.map(async (url) => {
      const text = await (await fetch(new URL("/metrics", url))).text();
      const journal = /^shorthop_redirector_journal_info\{journal="([0-9a-f-]{36})"\}/m.exec(text);
      if (journal?.[1] === undefined) throw new Error(`${url} is no redirector's.`);
      return {
        journal: journal[1],
        recorded: readCounter(text, "clicks_recorded_total"),
        dropped: readCounter(text, "clicks_dropped_total"),
        delivered: readCounter(text, "segments_published_total"),
      };
    }),
  );
}

/** Sums a counter over its labels. Throws when it is missing: 0 would be a wrong count. */
function readCounter(metrics: string, name: string): number {
  const line = new RegExp(`^shorthop_redirector_${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm");
  const samples = [...metrics.matchAll(line)].map(([, value]) => Number(value));
  if (samples.length === 0) throw new Error(`The redirector has no metric ${name}.`);
  return sumOf(samples, (value) => value);
}

/** Reconciles stored clicks with streams and journals; clicks may move meanwhile. */
export async function readReconciliation(
  nats: NatsConnection,
  clickhouse: ClickHouse,
  redirectors: readonly RedirectorStats[],
): Promise<Reconciliation> {
  // Reads the stream before the stored clicks: a click stored in between is counted twice, not
  // missed.
  const deadLettered = await countSegments(nats, DEAD_LETTERS_STREAM, 0);
  const pending = await countSegments(nats, CLICKS_STREAM, await readAckFloor(nats));
  const storedRows = await queryRows<StoredRow>(clickhouse, COUNT_STORED);
  const storedByJournal = new Map(storedRows.map((row) => [row.journal_id, row]));
  const ids = new Set([...storedByJournal.keys(), ...pending.keys(), ...deadLettered.keys()]);
  for (const { journal } of redirectors) ids.add(journal);

  const journals = [...ids].map((journal): Journal => {
    const row = storedByJournal.get(journal);
    const stored = new Set(row?.segments ?? []);
    const queues = [pending.get(journal), deadLettered.get(journal)];
    const present = new Set([...stored, ...queues.flatMap((queue) => [...(queue?.keys() ?? [])])]);
    // A pending segment that is already stored waits only for its acknowledgement.
    const countUnstored = (queue: ClicksBySegment | undefined): number =>
      sumOf([...(queue ?? [])], ([segment, clicks]) => (stored.has(segment) ? 0 : clicks));
    return {
      journal,
      stored: Number(row?.clicks ?? 0),
      in_stream: countUnstored(pending.get(journal)),
      dead_lettered: countUnstored(deadLettered.get(journal)),
      missing_segments: Math.max(-1, ...present) + 1 - present.size,
      recorded: redirectors.find((redirector) => redirector.journal === journal)?.recorded ?? null,
    };
  });
  return {
    stored: sumOf(journals, ({ stored }) => stored),
    duplicates: sumOf(storedRows, ({ clicks, positions }) => Number(clicks) - Number(positions)),
    in_stream: sumOf(journals, ({ in_stream }) => in_stream),
    dead_lettered: sumOf(journals, ({ dead_lettered }) => dead_lettered),
    missing_segments: sumOf(journals, ({ missing_segments }) => missing_segments),
    recorded: sumOf(redirectors, ({ recorded }) => recorded),
    dropped: sumOf(redirectors, ({ dropped }) => dropped),
    in_journals: sumOf(journals, ({ recorded, stored, in_stream, dead_lettered }) =>
      recorded === null ? 0 : recorded - stored - in_stream - dead_lettered,
    ),
    journals,
  };
}

const sumOf = <Row>(rows: readonly Row[], read: (row: Row) => number): number =>
  rows.reduce((total, row) => total + read(row), 0);

type StoredRow = { journal_id: Uuid; clicks: string; positions: string; segments: number[] };

const COUNT_STORED = `
  SELECT journal_id, sum(rows) AS clicks, sum(positions) AS positions, groupUniqArray(segment) AS segments
    FROM (SELECT journal_id, segment, count() AS rows, uniqExact(idx) AS positions
            FROM clicks GROUP BY journal_id, segment)
   GROUP BY journal_id`;

type ClicksBySegment = Map<number, number>;

/** Counts a stream's clicks after a sequence, by journal and segment; skips other messages. */
async function countSegments(
  nats: NatsConnection,
  stream: string,
  after: number,
): Promise<Map<Uuid, ClicksBySegment>> {
  const counts = new Map<Uuid, ClicksBySegment>();
  for await (const { data } of readMessages(await nats.jetstreamManager(), stream, after)) {
    const segment = decodeSegment(Buffer.from(data));
    if (segment === undefined) continue;
    const bySegment = counts.get(segment.journalId) ?? new Map<number, number>();
    bySegment.set(segment.segment, segment.clicks.length);
    counts.set(segment.journalId, bySegment);
  }
  return counts;
}

/** The sequence up to which workers have acknowledged all messages. */
async function readAckFloor(nats: NatsConnection): Promise<number> {
  const { consumers } = await nats.jetstreamManager();
  return (await consumers.info(CLICKS_STREAM, CLICKS_WORKER)).ack_floor.stream_seq;
}
