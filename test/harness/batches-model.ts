/**
 * A model of everything around owners, for tests: a stream, the log of batches and ClickHouse, in
 * which every step of every worker is taken when a scheduler says so. What a worker has sent takes
 * effect even after the worker is killed. Each worker makes other rows of a segment, as with other
 * GeoIP data.
 */
import { ClickHouseError } from "@clickhouse/client";

import { formatSegmentId, type SegmentId } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import type {
  BatchEntry,
  BatchLog,
  Checkpoint,
  Claim,
  Retry,
} from "../../worker/batches/batch-log.ts";
import type { BatchSegment, ClickStore } from "../../worker/batches/clicks-table.ts";
import { Owner, type SegmentSource } from "../../worker/batches/owner.ts";
import { inRanges, parseRanges, SegmentIndex } from "../../worker/batches/segment-index.ts";
import type { Random } from "./random.ts";

/** ClickHouse will never accept rows: CANNOT_PARSE_INPUT_ASSERTION_FAILED. */
export class RejectedError extends ClickHouseError {
  constructor(message: string) {
    super({ message, code: "27", type: "" });
  }
}

type Step = { worker: number | undefined; run: () => void };
/** The rows of each segment, and the tokens of the inserts. */
type Table = { rows: Map<string, Row[]>; tokens: Set<string> };

/** A segment, and the worker that made the row. */
type Row = `${string}#${number}`;

const keyOf = (row: string): string => row.split("#")[0] ?? "";

function addTo({ rows }: Table, row: Row): void {
  rows.set(keyOf(row), [...(rows.get(keyOf(row)) ?? []), row]);
}

const createTable = (): Table => ({ rows: new Map(), tokens: new Set() });

const compare = (a: Claim, b: Claim): number =>
  a.epoch - b.epoch || (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0);

export class World {
  readonly steps: Step[] = [];
  readonly #random: Random;
  readonly #poison: ReadonlySet<string>;
  readonly #claims: Claim[] = [];
  readonly #checkpoints: { claim: Claim; checkpoint: Checkpoint }[] = [];
  readonly #entries: { claim: Claim; entry: BatchEntry }[] = [];
  // An insert fills `clicks` and two views, one after the other.
  readonly #clicks = createTable();
  readonly #tables = [this.#clicks, createTable(), createTable()];
  #stream = new Map<number, SegmentId>();
  #lastSequence = 0;
  readonly #acknowledged = new Set<number>();
  #faulty = true;
  /** Batches of which a view has refused the first insert. */
  readonly #refused = new Set<string>();
  /** Workers that settle a batch, and whether `clicks` had no row of it when they looked. */
  readonly #settling = new Map<number, boolean>();
  /** Batches that were settled when `clicks` had no row of them. */
  readonly #unseen = new Set<string>();
  #raced = false;

  constructor(random: Random, poison: ReadonlySet<string>) {
    this.#random = random;
    this.#poison = poison;
  }

  /** Resolves when the scheduler picks it; never, if the worker is killed before. */
  step(worker?: number): Promise<void> {
    return new Promise((resolve) => void this.steps.push({ worker, run: resolve }));
  }

  /** A worker tries to become the owner. */
  takeOver(worker: number): Promise<Owner> {
    const [log, store] = [this.#logOf(worker), this.#storeOf(worker)];
    return Owner.takeOver(log, store, this.#sourceOf(worker), this.#retryOf(worker));
  }

  /** The rows of a segment in each table. */
  rowsOf(id: SegmentId): string[][] {
    return this.#tables.map(({ rows }) => rows.get(formatSegmentId(id)) ?? []);
  }

  publish(id: SegmentId): void {
    this.#stream.set(++this.#lastSequence, id);
  }

  /** Messages that are not acknowledged, with the rows that a worker makes of them. */
  waiting(worker: number): BatchSegment[] {
    return [...this.#stream]
      .filter(([sequence]) => !this.#acknowledged.has(sequence))
      .map(([sequence, id]) => toBatchSegment(sequence, id, worker));
  }

  hasWaiting(): boolean {
    return this.#stream.keys().some((sequence) => !this.#acknowledged.has(sequence));
  }

  acknowledge(sequence: number): void {
    this.#acknowledged.add(sequence);
  }

  /**
   * The stream loses its last messages; returns their segments, and gives their sequences to the
   * next messages.
   */
  setBack(messages: number): SegmentId[] {
    const all = [...this.#stream];
    const lost = all.slice(Math.max(0, all.length - messages));
    this.#stream = new Map(all.slice(0, all.length - lost.length));
    for (const [sequence] of lost) this.#acknowledged.delete(sequence);
    this.#lastSequence -= lost.length;
    return lost.map(([, id]) => id);
  }

  /**
   * The hourly consistency check, if it has something to do: a worker found no row of a batch in
   * doubt in `clicks`, and the insert that was on its way arrived beside its own, with other rows.
   * Only rollups can be wrong, until the check.
   */
  checkConsistency(): void {
    if (this.#raced) for (const table of this.#tables) table.rows = new Map(this.#clicks.rows);
  }

  /** From now on nothing fails, and ClickHouse has forgotten all tokens if told so. */
  calm(forget = false): void {
    this.#faulty = false;
    if (forget) for (const { tokens } of this.#tables) tokens.clear();
  }

  /** Sends an operation: it takes effect some time later, and its response may be lost. */
  async #send<T>(worker: number, effect: () => T | Promise<T>): Promise<T> {
    await this.step(worker);
    const result = (async () => {
      await this.step();
      return await effect();
    })();
    if (this.#faulty && this.#random.between(1, 12) === 1) {
      result.catch(() => undefined);
      await this.step(worker);
      throw new Error("The response was lost.");
    }
    const value = await result;
    await this.step(worker);
    return value;
  }

  async #insert(worker: number, token: string, rows: readonly Row[]): Promise<void> {
    if (rows.some((row) => this.#poison.has(keyOf(row)))) throw new RejectedError("Cannot parse.");
    if (this.#settling.get(worker) === true) this.#unseen.add(token);
    this.#raced ||= this.#unseen.has(token) && this.#isMixed(token, rows);
    for (const table of this.#tables) {
      if (!table.tokens.has(token)) {
        table.tokens.add(token);
        for (const row of rows) addTo(table, row);
      }
      if (this.#viewRefuses(worker, token, table)) {
        this.#refused.add(token);
        throw new RejectedError("A view refuses.");
      }
      // ClickHouse may be killed between two tables.
      if (this.#faulty && this.#random.between(1, 20) === 1)
        throw new Error("ClickHouse was killed.");
      await this.step();
    }
  }

  #viewRefuses(worker: number, token: string, table: Table): boolean {
    const mayRefuse = this.#faulty && table === this.#clicks && !this.#settling.has(worker);
    return mayRefuse && !this.#refused.has(token) && this.#random.between(1, 30) === 1;
  }

  /**
   * Whether `clicks` drops these rows because it has others of the batch, and a view that has none
   * will take them.
   */
  #isMixed(token: string, rows: readonly Row[]): boolean {
    const { tokens, rows: stored } = this.#clicks;
    return (
      tokens.has(token) &&
      this.#tables.some((table) => !table.tokens.has(token)) &&
      rows.some((row) => stored.get(keyOf(row))?.includes(row) !== true)
    );
  }

  #readRows(worker: number, ids: readonly SegmentId[]): Buffer {
    const found = ids.flatMap((id) => this.#clicks.rows.get(formatSegmentId(id)) ?? []);
    this.#settling.set(worker, found.length === 0);
    return Buffer.from(found.join(" "));
  }

  #highest(): Claim | undefined {
    const ofCheckpoints = this.#checkpoints.map(({ claim }) => claim);
    return [...this.#claims, ...ofCheckpoints].toSorted(compare).at(-1);
  }

  #readLog() {
    // Of several that are equally high, ClickHouse may read any: here the first.
    const last = this.#checkpoints
      .toReversed()
      .toSorted((a, b) => compare(a.claim, b.claim) || a.checkpoint.number - b.checkpoint.number)
      .at(-1);
    if (last === undefined) return undefined;
    const later = this.#entries.filter(
      ({ claim, entry }) =>
        compare(claim, last.claim) === 0 && entry.number > last.checkpoint.number,
    );
    return {
      checkpoint: structuredClone(last.checkpoint),
      entries: later.map(({ entry }) => entry),
    };
  }

  #logOf(worker: number): BatchLog {
    return {
      claim: (claim) => this.#send(worker, () => void this.#claims.push(claim)),
      readHighestClaim: () => this.#send(worker, () => this.#highest()),
      readClaimSight: async () => undefined,
      append: (claim, entry) => {
        // Whoever begins a batch of its own has settled those of others.
        this.#settling.delete(worker);
        return this.#send(worker, () => void this.#entries.push({ claim, entry }));
      },
      appendCheckpoint: (claim, checkpoint) => {
        const copy = structuredClone(checkpoint);
        return this.#send(worker, () => void this.#checkpoints.push({ claim, checkpoint: copy }));
      },
      read: () => this.#send(worker, () => this.#readLog()),
    };
  }

  #storeOf(worker: number): ClickStore {
    const isStored = (id: SegmentId) => this.#clicks.rows.has(formatSegmentId(id));
    return {
      insert: (token, rows) =>
        this.#send(worker, () => this.#insert(worker, token, rows.flatMap(parseRows))),
      findStored: (segments) => this.#send(worker, () => segments.filter(isStored)),
      readRows: (segments) => this.#send(worker, () => this.#readRows(worker, segments)),
      readHistory: () => Promise.resolve(new SegmentIndex()),
    };
  }

  #sourceOf(worker: number): SegmentSource {
    return {
      find: (segments, sequences) =>
        this.#send(worker, () => {
          const ranges = parseRanges(sequences);
          const found = [...this.#stream].filter(
            ([sequence, id]) => inRanges(ranges, sequence) && segments.has(id),
          );
          // Each segment once, even if it is in the stream twice.
          const once = new Map(found.map((message) => [formatSegmentId(message[1]), message]));
          return [...once.values()].map(([sequence, id]) => toBatchSegment(sequence, id, worker));
        }),
    };
  }

  #retryOf(worker: number): Retry {
    return async (operation, isFinal = () => false) => {
      for (;;) {
        try {
          return await operation();
        } catch (error) {
          if (isFinal(error)) throw error;
        }
        await this.step(worker);
      }
    };
  }
}

/** Rows are separated by spaces. */
const parseRows = (rows: Buffer): Row[] =>
  String(rows)
    .split(" ")
    .map((row): Row => `${keyOf(row)}#${Number(row.split("#")[1])}`);

const toBatchSegment = (sequence: number, id: SegmentId, worker: number): BatchSegment => ({
  ...id,
  sequence,
  publishedAt: sequence,
  rows: Buffer.from(`${formatSegmentId(id)}#${worker}`),
  // Clicks of now: older ones are looked up, whatever the log says.
  firstClick: Date.now(),
  lastClick: Date.now(),
});

export const modelSegment = (journalId: Uuid, segment: number): SegmentId => ({
  journalId,
  segment,
});
