/** The dependencies of an owner: the log of batches, ClickHouse and the stream. */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { BatchLog } from "./entries.ts";
import type { SegmentIndex } from "./segment-index.ts";

/** A time span of clicks in Unix milliseconds, inclusive. */
export type ClickSpan = { firstClick: number; lastClick: number };

/** The span of the clicks of segments, of which there is at least one. */
export const spanOf = (segments: readonly ClickSpan[]): ClickSpan => ({
  firstClick: Math.min(...segments.map(({ firstClick }) => firstClick)),
  lastClick: Math.max(...segments.map(({ lastClick }) => lastClick)),
});

/** A segment that can be inserted. It has at least one click; the span is that of its clicks. */
export type BatchSegment = SegmentId &
  ClickSpan & {
    rows: Buffer;
    /** Its sequence in the stream, and when JetStream put it there, in Unix nanoseconds. */
    sequence: number;
    publishedAt: number;
  };

export type OwnerDeps = {
  log: BatchLog;
  /**
   * Inserts the rows of segments as one block, unless the token was inserted before. It can be
   * repeated.
   */
  insert: (token: string, rows: readonly Buffer[]) => Promise<void>;
  /** Whether an error of `insert` means that ClickHouse will never accept these rows. */
  isRejected: (error: unknown) => boolean;
  /**
   * Returns which of these segments have rows in ClickHouse. All their clicks must be in the span.
   */
  findStored: (segments: SegmentId[], span: ClickSpan) => Promise<SegmentId[]>;
  /**
   * Reads the rows of these segments that ClickHouse stores, in the form that `insert` takes; empty
   * if there are none. All their clicks must be in the span.
   */
  readRows: (segments: SegmentId[], span: ClickSpan) => Promise<Buffer>;
  /** Reads which segments ClickHouse stores, for the first owner, before there is a log. */
  readHistory: () => Promise<SegmentIndex>;
  /** Finds the segments of a manifest that are still in the stream. */
  findInStream: (segments: SegmentIndex, sequences: string) => Promise<BatchSegment[]>;
  /**
   * Repeats an operation until it succeeds. Throws final errors at once, and any error when the
   * worker stops.
   */
  retry: <T>(operation: () => Promise<T>, isFinal?: (error: unknown) => boolean) => Promise<T>;
  /** Called when a batch in doubt was settled: no worker may have counted its clicks yet. */
  onSettled: () => void;
};

/** Another worker has claimed the log. */
export class LostOwnershipError extends Error {
  override name = "LostOwnershipError";
}

export const isLost = (error: unknown): boolean => error instanceof LostOwnershipError;
