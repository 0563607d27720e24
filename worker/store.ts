/** Stores segments of clicks: one insert per segment, under the segment's id. */
import type { ClickHouseClient } from "@clickhouse/client";

import { formatSegmentId, type SegmentId } from "../shared/contracts/click-segment.ts";
import type { ClickRow } from "./enrich/enrich.ts";

/**
 * Inserts the rows of a segment. It is idempotent: the rows are one block with the segment's id as deduplication
 * token, so ClickHouse stores them once, in `clicks` and in every rollup. The segment's number is the column
 * `clicks.page`, which keeps the name from before segments were called that until the table is redesigned.
 */
export async function storeSegment(
  client: ClickHouseClient,
  segment: SegmentId,
  rows: readonly ClickRow[],
): Promise<void> {
  await client.insert({
    table: "clicks",
    values: rows,
    format: "JSONEachRow",
    clickhouse_settings: {
      insert_deduplicate: 1,
      insert_deduplication_token: formatSegmentId(segment),
      deduplicate_blocks_in_dependent_materialized_views: 1,
      async_insert: 0,
      // On a cluster: return after the shards have stored the rows, not before they are sent to them.
      distributed_foreground_insert: 1,
      input_format_parallel_parsing: 0,
      date_time_input_format: "basic",
    },
  });
}
