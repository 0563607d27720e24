/** Prepares segments of a batch in doubt to be inserted again. */
import type { JsMsg } from "nats";

import { readSegmentId, type SegmentId } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { BatchSegment, ClickSpan } from "./deps.ts";

/** A segment's rows, and what else its bytes say. The span is meaningless without clicks. */
type PreparedSegment<Rows> = SegmentId &
  ClickSpan & {
    rows: Rows;
    clicks: number;
    links: Iterable<Uuid>;
    /** False when bytes that are not a valid record follow the last valid one. */
    whole: boolean;
  };

/** Makes a segment's rows; undefined when ClickHouse could never accept it: what is found here spoils no batch. */
export type Prepare<Rows> = (segment: Buffer) => Promise<PreparedSegment<Rows> | undefined>;

/** Prepares those messages that are wanted segments, each segment once. */
export async function prepareWanted<Rows>(
  messages: AsyncIterable<Pick<JsMsg, "seq" | "data" | "info">>,
  wanted: { has: (segment: SegmentId) => boolean },
  prepare: Prepare<Rows>,
): Promise<BatchSegment<Rows>[]> {
  const found = new Map<string, BatchSegment<Rows>>();
  for await (const { seq, data, info } of messages) {
    const bytes = Buffer.from(data);
    const id = readSegmentId(bytes);
    if (id === undefined || !wanted.has(id)) continue;
    const key = `${id.journalId}:${id.segment}`;
    if (found.has(key)) continue;
    const prepared = await prepare(bytes);
    if (prepared !== undefined)
      found.set(key, { ...prepared, sequence: seq, publishedAt: info.timestampNanos });
  }
  return [...found.values()];
}
