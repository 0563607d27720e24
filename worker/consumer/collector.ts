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
import type { BatchSegment } from "../batches/clicks-table.ts";
import type { SegmentRows } from "../enrich/rows.ts";

/** A batch is closed by any of these. ClickHouse recommends 10,000 to 100,000 rows an insert. */
const ROWS_MAX = 60_000;
const SEGMENTS_MAX = 2_000;
const BYTES_MAX = 16 * 1024 ** 2;

/**
 * Maximum months of a batch's clicks: ClickHouse makes a part of each in every table, and refuses
 * more than a hundred. Those of redirectors are of one or two; imports have years.
 */
const MONTHS_MAX = 12;

/** A batch is closed at this age of its first segment, and this long after the last batch. */
const AGE_MS = 300;
const INTERVAL_MS = 1_000;

/** Without segments, `take` returns an empty batch: the owner confirms its claim and repairs. */
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

/** Since when a segment waits to be stored: its first click, or when an import published it. */
export const waitingSince = ({ imported, firstClick, publishedAt }: HeldSegment): number =>
  imported ? publishedAt / NANOSECONDS : firstClick;

const NANOSECONDS = 1_000_000;

const monthOf = (time: number): string => new Date(time).toISOString().slice(0, "YYYY-MM".length);

export class Collector {
  readonly #held = new Map<string, HeldSegment>();
  #batch: HeldSegment[] = [];
  #rows = 0;
  #bytes = 0;
  #months = new Set<string>();
  #startedAt = 0;
  #closedAt = 0;
  #isClosed = false;
  #changed = Promise.withResolvers<void>();

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Every segment that is not dropped yet. */
  get held(): Iterable<HeldSegment> {
    return this.#held.values();
  }

  /** Since when the held segments wait, in Unix milliseconds; undefined when there is none. */
  get waitingSince(): number | undefined {
    let first: number | undefined;
    for (const segment of this.held) {
      const since = waitingSince(segment);
      if (first === undefined || since < first) first = since;
    }
    return first;
  }

  /** Whether a segment of any size fits into the batch. */
  hasRoom(): boolean {
    return (
      this.#batch.length < SEGMENTS_MAX &&
      this.#months.size < MONTHS_MAX &&
      this.#rows + SEGMENT_CLICKS_MAX <= ROWS_MAX &&
      this.#bytes + SEGMENT_BYTES_MAX <= BYTES_MAX
    );
  }

  /** Resolves when there is room, or the collector is closed. */
  async waitForRoom(): Promise<void> {
    while (!this.hasRoom() && !this.#isClosed) await this.#changed.promise;
  }

  add(segment: HeldSegment): void {
    if (this.#batch.length === 0) this.#startedAt = performance.now();
    this.#held.set(formatSegmentId(segment), segment);
    this.#batch.push(segment);
    this.#rows += segment.clicks;
    this.#bytes += segment.bytes;
    for (const time of [segment.firstClick, segment.lastClick]) this.#months.add(monthOf(time));
    this.#notify();
  }

  /** A segment that is being collected or inserted. */
  find(id: SegmentId): HeldSegment | undefined {
    return this.#held.get(formatSegmentId(id));
  }

  /**
   * Resolves with the batch when it is due, with an empty batch after {@link IDLE_MS}, and with
   * what is collected, which can be nothing, when the collector is closed.
   */
  async take(): Promise<HeldSegment[]> {
    const idleAt = performance.now() + IDLE_MS;
    for (;;) {
      const waitMs = this.#batch.length === 0 ? idleAt - performance.now() : this.#dueIn();
      if (this.#isClosed || waitMs <= 0) break;
      await Promise.race([this.#changed.promise, Bun.sleep(waitMs)]);
    }
    const taken = this.#batch;
    if (taken.length > 0) this.#closedAt = performance.now();
    [this.#batch, this.#rows, this.#bytes, this.#months] = [[], 0, 0, new Set()];
    this.#notify();
    return taken;
  }

  /** Forgets segments that {@link Collector.take} returned. */
  drop(segments: readonly HeldSegment[]): void {
    for (const segment of segments) this.#held.delete(formatSegmentId(segment));
  }

  close(): void {
    this.#isClosed = true;
    this.#notify();
  }

  /** Milliseconds until the batch is due. */
  #dueIn(): number {
    if (!this.hasRoom()) return 0;
    return Math.max(this.#startedAt + AGE_MS, this.#closedAt + INTERVAL_MS) - performance.now();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
