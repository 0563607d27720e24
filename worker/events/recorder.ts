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

import { boundsOf, PLANS } from "../../shared/budgets.ts";
import { CLICK_COLUMNS } from "../../shared/contracts/analytics.ts";
import { encodeId, formatUuid, hashedUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeatEvery, type Repetition } from "../../shared/repeat.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import type { BatchesTable, LogPlace } from "../batches/batch-log.ts";
import type { ClicksTable } from "../batches/clicks-table.ts";
import { SegmentIndex } from "../batches/segment-index.ts";
import type { Context } from "../context.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
import { unescapeField } from "../enrich/tab-separated.ts";

/** Bytes of rows that wait in memory; beyond it they are read back later. */
const WAITING_BYTES_MAX = 64 * 1024 ** 2;

/** Accounts whose clicks are recorded. */
const READERS_MAX = 100_000;

/** Time for which a list of readers is used: new ones get events from then on. */
const READERS_MS = 2_000;

/** Batches that are read back at a time, and events of one statement. */
const BATCHES_AT_ONCE = 10;
const EVENTS_AT_ONCE = 20;

/** Pause after a failure, and longest pause without anything to record. */
const RETRY_MS = 2_000;

type StoredBatch = { rows: readonly Buffer[]; place: LogPlace };

export class ClickRecorder {
  readonly #sql: postgres.Sql;
  readonly #batchLog: BatchesTable;
  readonly #clicks: ClicksTable;
  readonly #log: Log;
  readonly #queue = new Queue();
  #rounds: Repetition | undefined;
  #isStopped = false;
  #readers: Readers = new Set();
  #readersReadAt = -Infinity;
  /** Whether it is noted that nobody reads events of clicks. */
  #isCleared = false;
  #written = 0;

  constructor({ eventsSql, log }: Context, batchLog: BatchesTable, clicks: ClicksTable) {
    this.#sql = eventsSql;
    this.#batchLog = batchLog;
    this.#clicks = clicks;
    this.#log = log;
  }

  /** Begins to record what waits. */
  start(): void {
    const record = async (): Promise<void> => {
      if (!this.#queue.isEmpty) await this.#record();
    };
    this.#rounds = repeatEvery(RETRY_MS, record, {
      log: this.#log,
      failure: "clicks_not_recorded",
    });
  }

  /** Events written by this process, some of them again. */
  get written(): number {
    return this.#written;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Takes the rows of a stored batch. */
  add(batch: StoredBatch): void {
    this.#queue.add(batch);
    this.#rounds?.wake();
  }

  /** Batches that others have stored up to a place may have no events yet. */
  takeOver(place: LogPlace): void {
    this.#queue.addGap(place);
    this.#rounds?.wake();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#rounds?.stop();
  }

  async #record(): Promise<void> {
    const readers = await this.#readReaders();
    if (readers.size === 0) {
      if (!this.#isCleared)
        await this.#sql`
          update event_progress set epoch = null, batch = null where name = 'clicks' and epoch is not null`;
      this.#isCleared = true;
      return this.#queue.clear();
    }
    this.#isCleared = false;
    const { gap } = this.#queue;
    if (gap !== undefined) {
      await this.#recover(readers, gap);
      // The rest of the gap is left to the next worker, and so is what comes after it.
      if (this.#isStopped) return;
      this.#queue.closeGap(gap);
    }
    for (let batch = this.#queue.first; batch !== undefined; batch = this.#queue.first) {
      if (this.#queue.gap !== undefined) return;
      await this.#write(await makeClickEvents(Buffer.concat(batch.rows), readers), batch.place);
      this.#queue.drop(batch);
    }
  }

  /** Reads back what was stored up to a place, and writes its events. */
  async #recover(readers: Readers, upTo: LogPlace): Promise<void> {
    for (let place = await findPlace(this.#sql); place !== undefined && !this.#isStopped;) {
      const manifests = await this.#batchLog.readManifests(place, upTo, BATCHES_AT_ONCE);
      const last = manifests.at(-1);
      if (last === undefined) return;
      for (const manifest of manifests) {
        const ids = SegmentIndex.parse(manifest.segments).list();
        const rows = await this.#clicks.readRows(ids, manifest);
        await this.#write(await makeClickEvents(rows, readers), manifest);
      }
      place = { epoch: last.epoch, batch: last.batch };
    }
  }

  async #write(events: readonly ClickEvent[], place: LogPlace): Promise<void> {
    await writeEvents(this.#sql, events, place, EVENTS_AT_ONCE);
    this.#written += events.length;
  }

  /** Those that read events of clicks, or have a webhook for them, as of a moment ago. */
  async #readReaders(): Promise<Readers> {
    if (performance.now() - this.#readersReadAt < READERS_MS) return this.#readers;
    const rows = await this.#sql<{ account_id: Uuid; mode: string }[]>`
      select account_id, mode from event_readers where read_at > now() - interval '7 days'
      union
      select account_id, mode from webhooks where events && array['*', 'clicks.recorded']
      limit ${READERS_MAX}`;
    this.#readers = new Set(rows.map(({ account_id, mode }) => readerKey(account_id, mode)));
    this.#readersReadAt = performance.now();
    return this.#readers;
  }
}

/** Batches that wait, after a gap of those whose rows are not in memory. */
class Queue {
  #batches: StoredBatch[] = [];
  #bytes = 0;
  #gap: LogPlace | undefined;

  get size(): number {
    return this.#batches.length;
  }

  get first(): StoredBatch | undefined {
    return this.#batches[0];
  }

  /** The place up to which rows are not in memory; undefined without a gap. */
  get gap(): LogPlace | undefined {
    return this.#gap;
  }

  get isEmpty(): boolean {
    return this.size === 0 && this.#gap === undefined;
  }

  add(batch: StoredBatch): void {
    this.#bytes += bytesOf(batch);
    if (this.#bytes > WAITING_BYTES_MAX) this.addGap(batch.place);
    else this.#batches.push(batch);
  }

  addGap(place: LogPlace): void {
    [this.#batches, this.#bytes, this.#gap] = [[], 0, place];
  }

  /** The gap is closed, unless it has become larger. */
  closeGap(closed: LogPlace): void {
    if (this.#gap === closed) this.#gap = undefined;
  }

  drop(batch: StoredBatch): void {
    if (this.first !== batch) return;
    this.#batches.shift();
    this.#bytes -= bytesOf(batch);
  }

  clear(): void {
    [this.#batches, this.#bytes, this.#gap] = [[], 0, undefined];
  }
}

const bytesOf = ({ rows }: StoredBatch): number =>
  rows.reduce((sum, { length }) => sum + length, 0);

/** Up to where the events of clicks are written; undefined while nobody reads them. */
async function findPlace(sql: postgres.Sql): Promise<LogPlace | undefined> {
  const [row] = await sql<{ epoch: number | null; batch: number | null }[]>`
    select epoch::float8 as epoch, batch::float8 as batch from event_progress where name = 'clicks'`;
  return row === undefined || row.epoch === null || row.batch === null
    ? undefined
    : { epoch: row.epoch, batch: row.batch };
}

/** Bytes of events of clicks that accounts of each plan get in a day. */
const BOUNDS = Object.fromEntries(
  PLANS.map((plan) => [plan, boundsOf("click_event_bytes", plan).atOnce]),
);

/**
 * Writes events that are not there yet, as far as the accounts' budgets of a day go, and up to
 * where all are written; never back. An event `clicks.left_out` says how many clicks are in none.
 */
export async function writeEvents(
  sql: postgres.Sql,
  events: readonly ClickEvent[],
  { epoch, batch }: LogPlace,
  eventsAtOnce: number,
): Promise<void> {
  await sql.begin(async (transaction) => {
    for (let i = 0; i < events.length; i += eventsAtOnce)
      await transaction`
        select record_click_events(${transaction.json(events.slice(i, i + eventsAtOnce))}::jsonb,
                                   ${transaction.json(BOUNDS)}::jsonb)`;
    await transaction`
      update event_progress set epoch = ${epoch}, batch = ${batch}, reached_at = clock_timestamp()
       where name = 'clicks' and (epoch is null or (epoch, batch) < (${epoch}::bigint, ${batch}::bigint))`;
  });
}

// Events of clicks, made from the rows of an insert: those that a segment has of an account and
// mode, at most 500 in one event. The id follows from these and nothing else, so an event that is
// made again has the same.

/** Maximum clicks of an event. */
const CLICKS_MAX = 500;

export type ClickEvent = {
  id: Uuid;
  account_id: Uuid;
  mode: string;
  data: { clicks: Click[] };
};

/** Accounts and modes, as {@link readerKey} writes them. */
type Readers = ReadonlySet<string>;

export const readerKey = (accountId: Uuid, mode: string): string => `${accountId} ${mode}`;

/** Makes the events of rows, for the accounts and modes that have readers. */
export async function makeClickEvents(rows: Buffer, readers: Readers): Promise<ClickEvent[]> {
  const groups = new Map<string, PersonalClick[]>();
  const slice = new TimeSlice();
  for (const line of linesOf(rows)) {
    if (slice.isOver()) await slice.next();
    const found = readPersonalClick(line, readers);
    if (found === undefined) continue;
    const { accountId, mode, journalId, segment } = found;
    const key = `${accountId} ${mode} ${journalId} ${segment}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [found]);
    else group.push(found);
  }
  return [...groups].flatMap(([key, group]) => toEvents(key, group));
}

function toEvents(key: string, group: readonly PersonalClick[]): ClickEvent[] {
  // ClickHouse returns rows in another order than a segment has them.
  const clicks = group.toSorted((a, b) => a.idx - b.idx);
  const events: ClickEvent[] = [];
  for (let start = 0; start < clicks.length; start += CLICKS_MAX) {
    const part = clicks.slice(start, start + CLICKS_MAX);
    const [first] = part;
    if (first === undefined) break;
    const last = Math.max(...part.map(({ time }) => time));
    events.push({
      id: hashedUuid(last, `${key} ${first.idx}`),
      account_id: first.accountId,
      mode: first.mode,
      data: { clicks: part.map(({ click }) => click) },
    });
  }
  return events;
}

type Column = (typeof ROW_COLUMNS)[number];

type ClickColumn = (typeof CLICK_COLUMNS)[number];

type Click = { id: string; time: string; link_id: string } & Record<ClickColumn, string>;

/** A click of a person, with its place. */
type PersonalClick = {
  accountId: Uuid;
  mode: string;
  journalId: Uuid;
  segment: number;
  idx: number;
  /** Unix milliseconds. */
  time: number;
  click: Click;
};

const INDEX = Object.fromEntries(ROW_COLUMNS.map((column, i) => [column, i])) as Record<
  Column,
  number
>;

const LINE_FEED = 10;

/** Yields the lines of rows in the format TabSeparated. */
function* linesOf(rows: Buffer): Generator<string> {
  for (let start = 0; start < rows.length;) {
    const end = rows.indexOf(LINE_FEED, start);
    yield rows.toString("utf8", start, end < 0 ? rows.length : end);
    start = end < 0 ? rows.length : end + 1;
  }
}

/**
 * Reads the click of a person; undefined for any other, an imported one, and without a reader.
 * Times and ids are in the form of an insert or in that of ClickHouse.
 */
function readPersonalClick(line: string, readers: Readers): PersonalClick | undefined {
  const fields = line.split("\t");
  const field = (column: Column): string => fields[INDEX[column]] ?? "";
  if (field("class") !== "human" || field("import") !== "0") return undefined;
  const [accountId, mode] = [toUuid(field("account_id")), field("mode")];
  if (!readers.has(readerKey(accountId, mode))) return undefined;
  const [journalId, segment, idx] = [field("journal_id"), field("segment"), field("idx")];
  const time = toMilliseconds(field("ts"));
  const values = CLICK_COLUMNS.map((name) => [
    name,
    name === "imported" ? "no" : unescapeField(field(name)),
  ]);
  return {
    accountId,
    mode,
    journalId,
    segment: Number(segment),
    idx: Number(idx),
    time,
    click: {
      id: `${journalId}.${segment}.${idx}`,
      time: new Date(time).toISOString(),
      link_id: encodeId("link", toUuid(field("link_id"))),
      // The names are those of the type.
      ...(Object.fromEntries(values) as Record<ClickColumn, string>),
    },
  };
}

const toUuid = (text: string): Uuid => (text.includes("-") ? text : formatUuid(text));

const toMilliseconds = (text: string): number =>
  text.includes("-") ? Date.parse(`${text.replace(" ", "T")}Z`) : Number(text);
