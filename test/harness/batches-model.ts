/**
 * A model of everything around owners, for tests: a stream, the log of batches and ClickHouse, in which every step of
 * every worker is taken when a scheduler says so. What a worker has sent takes effect even after the worker is killed.
 */
import { formatSegmentId, type SegmentId } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import {
  type BatchSegment,
  LostOwnershipError,
  type OwnerDeps,
} from "../../worker/batches/deps.ts";
import type { BatchEntry, Checkpoint, Claim } from "../../worker/batches/entries.ts";
import { inRanges, parseRanges } from "../../worker/batches/ranges.ts";
import { createSegmentIndex } from "../../worker/batches/segment-index.ts";
import type { Random } from "../chaos/random.ts";

class RejectedError extends Error {}

type Step = { worker: number | undefined; run: () => void };
type Table = { rows: Map<string, number>; tokens: Set<string>; repaired: Set<string> };

const createTable = (): Table => ({ rows: new Map(), tokens: new Set(), repaired: new Set() });

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
  let late = false;

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

  /** How often each segment is being inserted at present. */
  const inserting = new Map<string, number>();

  async function insert(token: string, keys: readonly string[]): Promise<void> {
    if (keys.some((key) => poison.has(key))) throw new RejectedError("Cannot parse.");
    const add = (change: number) => {
      for (const key of keys) inserting.set(key, (inserting.get(key) ?? 0) + change);
    };
    add(1);
    try {
      await fill(token, keys);
    } finally {
      add(-1);
    }
  }

  async function fill(token: string, keys: readonly string[]): Promise<void> {
    const isRepeated = clicks.tokens.has(token);
    for (const table of tables) {
      if (!table.tokens.has(token)) {
        if (isRepeated && keys.some((key) => table.repaired.has(key))) late = true;
        table.tokens.add(token);
        for (const key of keys) table.rows.set(key, (table.rows.get(key) ?? 0) + 1);
      }
      if (faulty && table === clicks && random.between(1, 30) === 1)
        throw new RejectedError("A view refuses.");
      // ClickHouse may be killed between two tables.
      if (faulty && random.between(1, 20) === 1) throw new Error("ClickHouse was killed.");
      await step();
    }
  }

  /**
   * What is being inserted is left alone: when a worker that has just lost the log repairs what the new owner inserts,
   * the real repair can be wrong, which the hourly consistency check sets right.
   */
  function repair(): void {
    for (const { rows, repaired } of tables)
      for (const key of new Set([...clicks.rows.keys(), ...rows.keys()]))
        if (inserting.get(key) === 0 && rows.get(key) !== clicks.rows.get(key)) {
          rows.set(key, clicks.rows.get(key) ?? 0);
          repaired.add(key);
        }
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

  const depsOf = (worker: number): OwnerDeps => ({
    log: {
      claim: (claim) => send(worker, () => void claims.push(claim)),
      readHighestClaim: () => send(worker, highest),
      readClaimSight: async () => undefined,
      append: (claim, entry) => send(worker, () => void entries.push({ claim, entry })),
      appendCheckpoint(claim, checkpoint) {
        const copy = structuredClone(checkpoint);
        return send(worker, () => void checkpoints.push({ claim, checkpoint: copy }));
      },
      read: () => send(worker, readLog),
    },
    insert: (token, rows) => send(worker, () => insert(token, rows.map(String))),
    isRejected: (error) => error instanceof RejectedError,
    findStored: (segments) =>
      send(worker, () => segments.filter((id) => (clicks.rows.get(formatSegmentId(id)) ?? 0) > 0)),
    readHistory: () => Promise.resolve(createSegmentIndex()),
    findInStream: (segments, sequences) =>
      send(worker, () => {
        const ranges = parseRanges(sequences);
        const found = [...stream].filter(
          ([sequence, id]) => inRanges(ranges, sequence) && segments.has(id),
        );
        // Each segment once, even if it is in the stream twice.
        const once = new Map(found.map((message) => [formatSegmentId(message[1]), message]));
        return [...once.values()].map(([sequence, id]) => toBatchSegment(sequence, id));
      }),
    async repair(confirm) {
      try {
        await confirm();
        await send(worker, repair);
        return true;
      } catch (error) {
        if (error instanceof LostOwnershipError) throw error;
        return false;
      }
    },
    async retry(operation, isFinal = () => false) {
      for (;;) {
        try {
          return await operation();
        } catch (error) {
          if (isFinal(error)) throw error;
        }
        await step(worker);
      }
    },
    onSettled: () => undefined,
  });

  return {
    steps,
    step,
    depsOf,
    /** Number of rows of a segment in each table. */
    rowsOf: (id: SegmentId): number[] =>
      tables.map(({ rows }) => rows.get(formatSegmentId(id)) ?? 0),
    publish(id: SegmentId): void {
      stream.set(++lastSequence, id);
    },
    /** Messages that are not acknowledged. */
    waiting: (): BatchSegment[] =>
      [...stream]
        .filter(([sequence]) => !acknowledged.has(sequence))
        .map(([sequence, id]) => toBatchSegment(sequence, id)),
    hasWaiting: (): boolean => stream.keys().some((sequence) => !acknowledged.has(sequence)),
    acknowledge: (sequence: number) => void acknowledged.add(sequence),
    /** The stream loses its last messages; returns their segments, and gives their sequences to the next messages. */
    setBack(messages: number): SegmentId[] {
      const all = [...stream];
      const lost = all.slice(Math.max(0, all.length - messages));
      stream = new Map(all.slice(0, all.length - lost.length));
      for (const [sequence] of lost) acknowledged.delete(sequence);
      lastSequence -= lost.length;
      return lost.map(([, id]) => id);
    },
    /**
     * The hourly consistency check, if it has something to do: a view was repaired because an insert was half done, and
     * then a worker that was paused all the time repeated this insert. Only rollups can be wrong, until the check.
     */
    checkConsistency(): void {
      if (late) repair();
    },
    /** From now on nothing fails, and ClickHouse has forgotten all tokens if told so. */
    calm(forget = false): void {
      faulty = false;
      if (forget) for (const { tokens } of tables) tokens.clear();
    },
  };
}

const toBatchSegment = (sequence: number, id: SegmentId): BatchSegment => ({
  ...id,
  sequence,
  publishedAt: sequence,
  rows: Buffer.from(formatSegmentId(id)),
  // Clicks of now: older ones are looked up, whatever the log says.
  firstClick: Date.now(),
  lastClick: Date.now(),
});

export const modelSegment = (journalId: Uuid, segment: number): SegmentId => ({
  journalId,
  segment,
});
