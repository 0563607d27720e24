/** Prepares delivered segments for a batch. */
import { type ClickSegment, decodeSegment } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { BatchSegment } from "./deps.ts";

/** The years up to 2106 that the rollups' buckets can hold, in milliseconds. */
const TIME_MAX = 2 ** 32 * 1_000;

export type PreparedSegment<Rows> = BatchSegment<Rows> & {
  clicks: number;
  links: ReadonlySet<Uuid>;
};

/**
 * Says why ClickHouse could never accept a segment, or would change its clicks; undefined when nothing is wrong. What
 * is found here spoils no batch.
 */
export const findFlaw = ({ clicks }: ClickSegment): string | undefined =>
  clicks.every(({ time }) => Number.isSafeInteger(time) && time >= 0 && time < TIME_MAX)
    ? undefined
    : "a click has no valid time";

/** Makes the rows of a segment that has clicks. */
export async function prepareSegment<Rows>(
  segment: ClickSegment,
  sequence: number,
  rowsOf: (segment: ClickSegment) => Promise<Rows>,
): Promise<PreparedSegment<Rows>> {
  const { journalId, segment: number, clicks } = segment;
  const times = clicks.map(({ time }) => time);
  return {
    journalId,
    segment: number,
    sequence,
    rows: await rowsOf(segment),
    clicks: clicks.length,
    links: new Set(clicks.map(({ linkId }) => linkId)),
    firstClick: Math.min(...times),
    lastClick: Math.max(...times),
  };
}

/** Prepares those messages that are wanted segments, each segment once. */
export async function prepareWanted<Rows>(
  messages: AsyncIterable<{ seq: number; data: Uint8Array }>,
  wanted: { has: (segment: ClickSegment) => boolean },
  rowsOf: (segment: ClickSegment) => Promise<Rows>,
): Promise<BatchSegment<Rows>[]> {
  const found = new Map<string, BatchSegment<Rows>>();
  for await (const { seq, data } of messages) {
    const segment = decodeSegment(Buffer.from(data));
    if (segment === undefined || !wanted.has(segment)) continue;
    const key = `${segment.journalId}:${segment.segment}`;
    if (!found.has(key)) found.set(key, await prepareSegment(segment, seq, rowsOf));
  }
  return [...found.values()];
}
