/** Checks segments before they are in a batch, and finds those of a batch again. */
import {
  formatSegmentId,
  readSegmentId,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import type { BatchSegment, ClickSpan, RowsOf } from "./deps.ts";

/** The years up to 2106 that the rollups' buckets can hold, in milliseconds. */
const TIME_MAX = 2 ** 32 * 1_000;

/**
 * Says why ClickHouse could never accept the clicks of this span, or would change them; undefined when nothing is wrong.
 * What is found here spoils no batch.
 */
export const findFlaw = ({ firstClick, lastClick }: ClickSpan): string | undefined =>
  firstClick >= 0 && lastClick < TIME_MAX ? undefined : "a click has no valid time";

/** Converts those messages that are wanted segments, each segment once. */
export async function convertWanted<Rows>(
  messages: AsyncIterable<{ seq: number; data: Uint8Array }>,
  wanted: { has: (id: SegmentId) => boolean },
  rowsOf: RowsOf<Rows>,
): Promise<BatchSegment<Rows>[]> {
  const found = new Map<string, BatchSegment<Rows>>();
  for await (const { seq, data } of messages) {
    const bytes = Buffer.from(data);
    const id = readSegmentId(bytes);
    if (id === undefined || !wanted.has(id) || found.has(formatSegmentId(id))) continue;
    const segment = await rowsOf(bytes);
    if (segment !== undefined) found.set(formatSegmentId(id), { ...segment, sequence: seq });
  }
  return [...found.values()];
}
