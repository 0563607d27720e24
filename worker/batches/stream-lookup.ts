/**
 * Reads segments of a batch in doubt from the stream again, so that they can be inserted under its
 * token.
 */
import type { NatsConnection } from "nats";

import { formatSegmentId, readSegmentId } from "../../shared/contracts/click-segment.ts";
import type { EnrichSegment } from "../enrich/rows.ts";
import type { BatchSegment } from "./deps.ts";
import type { SegmentIndex } from "./segment-index.ts";
import { readSequences } from "./stream.ts";

/**
 * Finds which of these segments are still in the stream, each once. The sequences are a hint:
 * messages with them can be of other segments.
 */
export async function findInStream(
  connection: NatsConnection,
  enrich: EnrichSegment,
  segments: Pick<SegmentIndex, "has">,
  sequences: string,
): Promise<BatchSegment[]> {
  const found = new Map<string, BatchSegment>();
  for await (const { seq, data, info } of readSequences(connection, sequences)) {
    const bytes = Buffer.from(data);
    const id = readSegmentId(bytes);
    if (id === undefined || !segments.has(id)) continue;
    const key = formatSegmentId(id);
    if (found.has(key)) continue;
    const enriched = await enrich(bytes);
    if (enriched !== undefined)
      found.set(key, { ...enriched, sequence: seq, publishedAt: info.timestampNanos });
  }
  return [...found.values()];
}
