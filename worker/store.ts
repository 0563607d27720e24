/** Stores rows of clicks. */
import { Readable } from "node:stream";

import type { ClickHouseClient } from "@clickhouse/client";

import { ROW_COLUMNS } from "./enrich/rows.ts";

/**
 * Inserts rows, given as texts of segments in the format TabSeparated with {@link ROW_COLUMNS}. It is idempotent: the
 * rows are one block with a deduplication token, so ClickHouse stores them once, in `clicks` and in every rollup. The
 * table `incoming_clicks` stores nothing itself: views convert its columns into `clicks`, and sum up the rows for the
 * rollups.
 */
export async function insertRows(
  client: ClickHouseClient,
  token: string,
  texts: readonly Buffer[],
): Promise<void> {
  await client.insert({
    table: "incoming_clicks",
    columns: [...ROW_COLUMNS],
    values: Readable.from(texts, { objectMode: false }),
    format: "TabSeparated",
    clickhouse_settings: {
      insert_deduplicate: 1,
      insert_deduplication_token: token,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      async_insert: 0,
      // On a cluster: return after the shards have stored the rows, not before they are sent to them.
      distributed_foreground_insert: 1,
      input_format_parallel_parsing: 0,
      // The views group the rows of an insert themselves.
      optimize_on_insert: 0,
    },
  });
}
