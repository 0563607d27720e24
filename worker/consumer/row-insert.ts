/** Inserts rows of clicks into ClickHouse. */
import { Readable } from "node:stream";

import type { ClickHouseClient } from "@clickhouse/client";

import { ROW_COLUMNS } from "../enrich/rows.ts";

/**
 * Inserts the rows of segments, each in the format TabSeparated with {@link ROW_COLUMNS}. It is
 * idempotent: the rows are one block with a deduplication token, so ClickHouse stores them once, in
 * `clicks` and in every rollup. The table `incoming_clicks` itself stores nothing: its views write
 * `clicks` and the rollups.
 */
export async function insertRows(
  client: ClickHouseClient,
  token: string,
  rows: readonly Buffer[],
): Promise<void> {
  await client.insert({
    table: "incoming_clicks",
    columns: [...ROW_COLUMNS],
    values: Readable.from(rows, { objectMode: false }),
    format: "TabSeparated",
    clickhouse_settings: {
      insert_deduplicate: 1,
      insert_deduplication_token: token,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      async_insert: 0,
      // On a cluster: return only after the shards have stored the rows.
      distributed_foreground_insert: 1,
      input_format_parallel_parsing: 0,
      // The views group the rows of an insert themselves.
      optimize_on_insert: 0,
    },
  });
}
