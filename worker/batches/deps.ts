/** What an owner of the clicks works with: the log of batches, ClickHouse and the stream. */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { BatchLog } from "./entries.ts";
import type { SegmentIndex } from "./segment-index.ts";

/** A time span of clicks in Unix milliseconds, inclusive. */
export type ClickSpan = { firstClick: number; lastClick: number };

/** A segment whose rows can be inserted. It has at least one click; the span is that of its clicks. */
export type BatchSegment<Rows> = SegmentId &
  ClickSpan & {
    rows: Rows;
    /** Its sequence in the stream, and when JetStream put it there, in Unix nanoseconds. */
    sequence: number;
    publishedAt: number;
  };

export type OwnerDeps<Rows> = {
  log: BatchLog;
  /** Inserts the rows of segments as one block, unless the token was inserted before. Can be repeated. */
  insert: (token: string, rows: readonly Rows[]) => Promise<void>;
  /** Whether an error of `insert` says that ClickHouse will never accept these rows. */
  isRejected: (error: unknown) => boolean;
  /** Which of these segments, whose clicks are in the span, have rows in ClickHouse. */
  findStored: (segments: SegmentId[], span: ClickSpan) => Promise<SegmentId[]>;
  /** The segments that ClickHouse holds, for the first owner of all. */
  readHistory: () => Promise<SegmentIndex>;
  /** Finds the segments of a manifest that are still in the stream. */
  findInStream: (segments: SegmentIndex, sequences: string) => Promise<BatchSegment<Rows>[]>;
  /**
   * Compares the rollups of the span with its clicks and rebuilds what differs, and what could not be repaired before.
   * Nothing must be inserted meanwhile: `confirm` throws when another worker may. Returns whether all is repaired.
   */
  repair: (confirm: () => Promise<void>, span?: ClickSpan) => Promise<boolean>;
  /** Repeats an operation until it succeeds. Throws what is final, or anything when the worker stops. */
  retry: <T>(operation: () => Promise<T>, isFinal?: (error: unknown) => boolean) => Promise<T>;
  /** Called when it was found out what of a batch is stored, which may be clicks that no worker has counted. */
  onSettled: () => void;
};

/** Another worker has claimed the log. */
export class LostOwnershipError extends Error {
  override name = "LostOwnershipError";
}

export const isLost = (error: unknown): boolean => error instanceof LostOwnershipError;
