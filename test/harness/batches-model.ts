/**
 * A model of everything around owners, for tests: a stream, the log of batches and ClickHouse, in
 * which every step of every worker is taken when a scheduler says so. What a worker has sent takes
 * effect even after the worker is killed. Each worker makes other rows of a segment, as with other
 * GeoIP data.
 */
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

class RejectedError extends Error {}

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

export type World = ReturnType<typeof createWorld>;

const compare = (a: Claim, b: Claim): number =>
  a.epoch - b.epoch || (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0);

export function createWorld(random: Random, poison: ReadonlySet<string>) {
  const steps: Step[] = [];
  const claims: Claim[] = [];
  const checkpoints: { claim: Claim; checkpoint: Checkpoint }[] = [];
  const entries: { claim: Claim; entry: BatchEntry }[] = [];
  // An insert fills `clicks` and two views, one after the other.
  const clicks = createTable();
  const tables = [clicks, createTable(), createTable()];
  let stream = new Map<number, SegmentId>();
  let lastSequence = 0;
  const acknowledged = new Set<number>();
  let faulty = true;
  /** Batches of which a view has refused the first insert. */
  const refused = new Set<string>();
  /** Workers that settle a batch, and whether `clicks` had no row of it when they looked. */
  const settling = new Map<number, boolean>();
  /** Batches that were settled when `clicks` had no row of them. */
  const unseen = new Set<string>();
  let raced = false;

  /** Resolves when the scheduler picks it; never, if the worker is killed before. */
  const step = (worker?: number): Promise<void> =>
    new Promise((resolve) => void steps.push({ worker, run: resolve }));

  /** Sends an operation: it takes effect some time later, and its response may be lost. */
  async function send<T>(worker: number, effect: () => T | Promise<T>): Promise<T> {
    await step(worker);
    const result = (async () => {
      await step();
      return await effect();
    })();
    if (faulty && random.between(1, 12) === 1) {
      result.catch(() => undefined);
      await step(worker);
      throw new Error("The response was lost.");
    }
    const value = await result;
    await step(worker);
    return value;
  }

  async function insert(worker: number, token: string, rows: readonly Row[]): Promise<void> {
    if (rows.some((row) => poison.has(keyOf(row)))) throw new RejectedError("Cannot parse.");
    if (settling.get(worker) === true) unseen.add(token);
    raced ||= unseen.has(token) && isMixed(token, rows);
    for (const table of tables) {
      if (!table.tokens.has(token)) {
        table.tokens.add(token);
        for (const row of rows) addTo(table, row);
      }
      const mayRefuse = faulty && table === clicks && !settling.has(worker) && !refused.has(token);
      if (mayRefuse && random.between(1, 30) === 1) {
        refused.add(token);
        throw new RejectedError("A view refuses.");
      }
      // ClickHouse may be killed between two tables.
      if (faulty && random.between(1, 20) === 1) throw new Error("ClickHouse was killed.");
      await step();
    }
  }

  /**
   * Whether `clicks` drops these rows because it has others of the batch, and a view that has none
   * will take them.
   */
  const isMixed = (token: string, rows: readonly Row[]): boolean =>
    clicks.tokens.has(token) &&
    tables.some(({ tokens }) => !tokens.has(token)) &&
    rows.some((row) => clicks.rows.get(keyOf(row))?.includes(row) !== true);

  function readRows(worker: number, ids: readonly SegmentId[]): Buffer {
    const found = ids.flatMap((id) => clicks.rows.get(formatSegmentId(id)) ?? []);
    settling.set(worker, found.length === 0);
    return Buffer.from(found.join(" "));
  }

  const highest = (): Claim | undefined =>
    [...claims, ...checkpoints.map(({ claim }) => claim)].toSorted(compare).at(-1);

  function readLog() {
    // Of several that are equally high, ClickHouse may read any: here the first.
    const last = checkpoints
      .toReversed()
      .toSorted((a, b) => compare(a.claim, b.claim) || a.checkpoint.number - b.checkpoint.number)
      .at(-1);
    if (last === undefined) return undefined;
    const later = entries.filter(
      ({ claim, entry }) =>
        compare(claim, last.claim) === 0 && entry.number > last.checkpoint.number,
    );
    return {
      checkpoint: structuredClone(last.checkpoint),
      entries: later.map(({ entry }) => entry),
    };
  }

  const logOf = (worker: number): BatchLog => ({
    claim: (claim) => send(worker, () => void claims.push(claim)),
    readHighestClaim: () => send(worker, highest),
    readClaimSight: async () => undefined,
    append(claim, entry) {
      // Whoever begins a batch of its own has settled those of others.
      settling.delete(worker);
      return send(worker, () => void entries.push({ claim, entry }));
    },
    appendCheckpoint(claim, checkpoint) {
      const copy = structuredClone(checkpoint);
      return send(worker, () => void checkpoints.push({ claim, checkpoint: copy }));
    },
    read: () => send(worker, readLog),
  });

  const storeOf = (worker: number): ClickStore => ({
    insert: (token, rows) => send(worker, () => insert(worker, token, rows.flatMap(parseRows))),
    isRejected: (error) => error instanceof RejectedError,
    findStored: (segments) =>
      send(worker, () => segments.filter((id) => clicks.rows.has(formatSegmentId(id)))),
    readRows: (segments) => send(worker, () => readRows(worker, segments)),
    readHistory: () => Promise.resolve(new SegmentIndex()),
  });

  const streamOf = (worker: number): SegmentSource => ({
    find: (segments, sequences) =>
      send(worker, () => {
        const ranges = parseRanges(sequences);
        const found = [...stream].filter(
          ([sequence, id]) => inRanges(ranges, sequence) && segments.has(id),
        );
        // Each segment once, even if it is in the stream twice.
        const once = new Map(found.map((message) => [formatSegmentId(message[1]), message]));
        return [...once.values()].map(([sequence, id]) => toBatchSegment(sequence, id, worker));
      }),
  });

  const retryOf =
    (worker: number): Retry =>
    async (operation, isFinal = () => false) => {
      for (;;) {
        try {
          return await operation();
        } catch (error) {
          if (isFinal(error)) throw error;
        }
        await step(worker);
      }
    };

  return {
    steps,
    step,
    /** A worker tries to become the owner. */
    takeOver: (worker: number): Promise<Owner> =>
      Owner.takeOver(logOf(worker), storeOf(worker), streamOf(worker), retryOf(worker)),
    /** The rows of a segment in each table. */
    rowsOf: (id: SegmentId): string[][] =>
      tables.map(({ rows }) => rows.get(formatSegmentId(id)) ?? []),
    publish(id: SegmentId): void {
      stream.set(++lastSequence, id);
    },
    /** Messages that are not acknowledged, with the rows that a worker makes of them. */
    waiting: (worker: number): BatchSegment[] =>
      [...stream]
        .filter(([sequence]) => !acknowledged.has(sequence))
        .map(([sequence, id]) => toBatchSegment(sequence, id, worker)),
    hasWaiting: (): boolean => stream.keys().some((sequence) => !acknowledged.has(sequence)),
    acknowledge: (sequence: number) => void acknowledged.add(sequence),
    /**
     * The stream loses its last messages; returns their segments, and gives their sequences to the
     * next messages.
     */
    setBack(messages: number): SegmentId[] {
      const all = [...stream];
      const lost = all.slice(Math.max(0, all.length - messages));
      stream = new Map(all.slice(0, all.length - lost.length));
      for (const [sequence] of lost) acknowledged.delete(sequence);
      lastSequence -= lost.length;
      return lost.map(([, id]) => id);
    },
    /**
     * The hourly consistency check, if it has something to do: a worker found no row of a batch in
     * doubt in `clicks`, and the insert that was on its way arrived beside its own, with other
     * rows. Only rollups can be wrong, until the check.
     */
    checkConsistency(): void {
      if (raced) for (const table of tables) table.rows = new Map(clicks.rows);
    },
    /** From now on nothing fails, and ClickHouse has forgotten all tokens if told so. */
    calm(forget = false): void {
      faulty = false;
      if (forget) for (const { tokens } of tables) tokens.clear();
    },
  };
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
