/**
 * Collects delivered segments into the next batch. While a batch is being inserted the next one is
 * collected, so batches grow with the load instead of getting more frequent.
 */
import type { JsMsg } from "nats";

import {
  formatSegmentId,
  SEGMENT_BYTES_MAX,
  SEGMENT_CLICKS_MAX,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import type { SegmentRows } from "../enrich/rows.ts";
import type { BatchSegment } from "./deps.ts";

/** A batch is closed by any of these. ClickHouse recommends 10,000 to 100,000 rows an insert. */
const ROWS_MAX = 60_000;
const SEGMENTS_MAX = 2_000;
const BYTES_MAX = 16 * 1024 ** 2;

/**
 * A batch is closed when its first segment is this old, and the last batch was closed this long
 * ago.
 */
const AGE_MS = 300;
const INTERVAL_MS = 1_000;

/**
 * After this time without a segment, `take` returns an empty batch: the insert loop also confirms
 * and repairs.
 */
const IDLE_MS = 5_000;

/**
 * A segment that is collected and not stored yet. Its messages are acknowledged when it is stored.
 */
export type HeldSegment = BatchSegment &
  SegmentRows & {
    bytes: number;
    /** One, or more if a segment is in the stream more than once; by sequence. */
    messages: Map<number, JsMsg>;
  };

export type Collector = {
  /** Whether a segment of any size fits into the batch. */
  hasRoom(): boolean;
  /** Resolves when there is room. */
  waitForRoom(): Promise<void>;
  add(segment: HeldSegment): void;
  /** A segment that is being collected or inserted. */
  find(id: SegmentId): HeldSegment | undefined;
  /**
   * Resolves with the batch when it is due, with an empty batch after {@link IDLE_MS}, and with
   * what is collected, which can be nothing, when the collector is closed.
   */
  take(): Promise<HeldSegment[]>;
  /** Forgets segments that {@link Collector.take} returned. */
  drop(segments: readonly HeldSegment[]): void;
  /** Every segment that is not dropped yet. */
  held(): Iterable<HeldSegment>;
  /** Unix milliseconds of the first click of the held segments; undefined when there is none. */
  firstClick(): number | undefined;
  close(): void;
  isClosed(): boolean;
};

export function createCollector(): Collector {
  const held = new Map<string, HeldSegment>();
  let batch: HeldSegment[] = [];
  let [rows, bytes, startedAt, closedAt] = [0, 0, 0, 0];
  let closed = false;
  let changed = Promise.withResolvers<void>();

  function notify(): void {
    changed.resolve();
    changed = Promise.withResolvers();
  }

  const hasRoom = (): boolean =>
    batch.length < SEGMENTS_MAX &&
    rows + SEGMENT_CLICKS_MAX <= ROWS_MAX &&
    bytes + SEGMENT_BYTES_MAX <= BYTES_MAX;

  /** Milliseconds until the batch is due. */
  function dueIn(): number {
    if (!hasRoom()) return 0;
    const now = performance.now();
    return Math.max(startedAt + AGE_MS, closedAt + INTERVAL_MS) - now;
  }

  return {
    hasRoom,
    async waitForRoom() {
      while (!hasRoom() && !closed) await changed.promise;
    },
    add(segment) {
      if (batch.length === 0) startedAt = performance.now();
      held.set(formatSegmentId(segment), segment);
      batch.push(segment);
      rows += segment.clicks;
      bytes += segment.bytes;
      notify();
    },
    find: (id) => held.get(formatSegmentId(id)),
    async take() {
      const idleAt = performance.now() + IDLE_MS;
      for (;;) {
        const waitMs = batch.length === 0 ? idleAt - performance.now() : dueIn();
        if (closed || waitMs <= 0) break;
        await Promise.race([changed.promise, Bun.sleep(waitMs)]);
      }
      const taken = batch;
      if (taken.length > 0) closedAt = performance.now();
      [batch, rows, bytes] = [[], 0, 0];
      notify();
      return taken;
    },
    drop(segments) {
      for (const segment of segments) held.delete(formatSegmentId(segment));
    },
    held: () => held.values(),
    firstClick() {
      let first: number | undefined;
      for (const { firstClick } of held.values())
        if (first === undefined || firstClick < first) first = firstClick;
      return first;
    },
    isClosed: () => closed,
    close() {
      closed = true;
      notify();
    },
  };
}
