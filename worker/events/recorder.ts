/**
 * Records stored clicks as events, for accounts that read them. Storing clicks never waits for it.
 *
 * Every stored batch has a place in the log of batches. What is written here moves a place in
 * PostgreSQL forward, in the transaction of the events. Rows of new batches come from memory. What
 * lies between that place and the first of them, because a worker ended or PostgreSQL was away, is
 * read back: the log says which segments it was, and ClickHouse has their rows. An event that is
 * made twice has one id, and is written once.
 */
import type postgres from "postgres";

import type { Log } from "../../shared/log.ts";
import type { ClickSpan } from "../batches/deps.ts";
import type { LogPlace, ReadManifests } from "../batches/entries.ts";
import { listSegments, parseSegments } from "../batches/segment-index.ts";
import { type ClickEvent, makeClickEvents, readerKey, type Readers } from "./click-events.ts";
import { clearPlace, findPlace, findReaders, writeEvents } from "./ledger-sql.ts";

/** Bytes of rows that wait in memory; beyond it they are read back later. */
const WAITING_BYTES_MAX = 64 * 1024 ** 2;

/** Accounts whose clicks are recorded. */
const READERS_MAX = 100_000;

/** Time for which a list of readers is used: new ones get events from then on. */
const READERS_MS = 2_000;

/** Batches that are read back at a time, and events of one statement. */
const BATCHES_AT_ONCE = 10;
const EVENTS_AT_ONCE = 20;

/** Pause after a failure. */
const RETRY_MS = 2_000;

type RecorderDeps = {
  sql: postgres.Sql;
  readManifests: ReadManifests;
  /** Reads the rows of segments that are stored. */
  readRows: (
    segments: { journalId: string; segment: number }[],
    span: ClickSpan,
  ) => Promise<Buffer>;
  log: Log;
};

export type ClickRecorder = ReturnType<typeof startClickRecorder>;

type WaitingBatch = { rows: readonly Buffer[]; place: LogPlace };

export function startClickRecorder({ log, ...deps }: RecorderDeps) {
  const queue = createQueue();
  const stopping = Promise.withResolvers<void>();
  let stopped = false;
  const recording = createRecording(deps, queue, () => stopped);

  async function loop(): Promise<void> {
    while (!stopped) {
      await Promise.race([queue.filled(), stopping.promise]);
      try {
        await recording.run();
      } catch (error) {
        log.warn({ error }, "clicks_not_recorded");
        await Promise.race([Bun.sleep(RETRY_MS), stopping.promise]);
      }
    }
  }

  const running = loop();
  return {
    /** Takes the rows of a stored batch. */
    add: (rows: readonly Buffer[], place: LogPlace): void => queue.add({ rows, place }),
    /** What others have stored up to a place may have no events yet. */
    takeOver: (place: LogPlace): void => queue.addGap(place),
    /** Events written by this process, some of them again. */
    written: recording.written,
    /** Batches that wait. */
    waiting: queue.size,
    async stop(): Promise<void> {
      stopped = true;
      stopping.resolve();
      await running;
    },
  };
}

type Queue = ReturnType<typeof createQueue>;

/** What records the batches of a queue. */
function createRecording(
  { sql, readManifests, readRows }: Omit<RecorderDeps, "log">,
  queue: Queue,
  isStopped: () => boolean,
) {
  const readReaders = createReaders(sql);
  let cleared = false;
  let written = 0;

  async function write(events: readonly ClickEvent[], place: LogPlace): Promise<void> {
    await writeEvents(sql, events, place, EVENTS_AT_ONCE);
    written += events.length;
  }

  /** Reads back what was stored up to a place, and writes its events. */
  async function recover(readers: Readers, upTo: LogPlace): Promise<void> {
    for (let place = await findPlace(sql); place !== undefined && !isStopped();) {
      const manifests = await readManifests(place, upTo, BATCHES_AT_ONCE);
      const last = manifests.at(-1);
      if (last === undefined) return;
      for (const { segments, ...manifest } of manifests) {
        const rows = await readRows([...listSegments(parseSegments(segments))], manifest);
        await write(await makeClickEvents(rows, readers), manifest);
      }
      place = { epoch: last.epoch, batch: last.batch };
    }
  }

  return {
    written: () => written,
    /** Records what waits. */
    async run(): Promise<void> {
      const readers = await readReaders();
      if (readers.size === 0) {
        if (!cleared) await clearPlace(sql);
        cleared = true;
        return queue.clear();
      }
      cleared = false;
      const gap = queue.gap();
      if (gap !== undefined) {
        await recover(readers, gap);
        // The rest of the gap is left to the next worker, and so is what comes after it.
        if (isStopped()) return;
        queue.closeGap(gap);
      }
      for (let batch = queue.first(); batch !== undefined; batch = queue.first()) {
        if (queue.gap() !== undefined) return;
        const { rows, place } = batch;
        await write(await makeClickEvents(Buffer.concat(rows), readers), place);
        queue.drop(batch);
      }
    },
  };
}

/** Batches that wait, after a gap of those whose rows are not in memory. */
function createQueue() {
  let batches: WaitingBatch[] = [];
  let bytes = 0;
  let gap: LogPlace | undefined;
  let filled = Promise.withResolvers<void>();

  const bytesOf = ({ rows }: WaitingBatch): number =>
    rows.reduce((sum, { length }) => sum + length, 0);

  function addGap(place: LogPlace): void {
    [batches, bytes, gap] = [[], 0, place];
    filled.resolve();
  }

  return {
    add(batch: WaitingBatch): void {
      bytes += bytesOf(batch);
      if (bytes > WAITING_BYTES_MAX) return addGap(batch.place);
      batches.push(batch);
      filled.resolve();
    },
    addGap,
    gap: () => gap,
    /** The gap is closed, unless it has become larger. */
    closeGap(closed: LogPlace): void {
      if (gap === closed) gap = undefined;
    },
    first: (): WaitingBatch | undefined => batches[0],
    drop(batch: WaitingBatch): void {
      if (batches[0] !== batch) return;
      batches.shift();
      bytes -= bytesOf(batch);
    },
    clear(): void {
      [batches, bytes, gap] = [[], 0, undefined];
    },
    size: (): number => batches.length,
    /** Resolves when something waits. */
    async filled(): Promise<void> {
      if (batches.length > 0 || gap !== undefined) return;
      filled = Promise.withResolvers();
      await filled.promise;
    },
  };
}

/** Creates the function that returns the readers, as of a moment ago. */
function createReaders(sql: postgres.Sql): () => Promise<Readers> {
  let readers: Readers = new Set();
  let readAt = -Infinity;
  return async () => {
    if (performance.now() - readAt < READERS_MS) return readers;
    const rows = await findReaders(sql, READERS_MAX);
    readers = new Set(rows.map(({ account_id, mode }) => readerKey(account_id, mode)));
    readAt = performance.now();
    return readers;
  };
}
