/** Stores pages of clicks: one page, one insert, under the page's own id. */
import type { ClickHouseClient } from "@clickhouse/client";

import { type PageId, pageIdText } from "../shared/contracts/click-page.ts";
import type { ClickRow } from "./enrich/enrich.ts";

/**
 * Inserts the rows of a page. However often it is called for one page, the rows are stored once, in
 * `clicks` and in every rollup: ClickHouse knows the page by its token, and the page is one block.
 */
export async function storePage(
  client: ClickHouseClient,
  page: PageId,
  rows: readonly ClickRow[],
): Promise<void> {
  await client.insert({
    table: "clicks",
    values: rows,
    format: "JSONEachRow",
    clickhouse_settings: {
      insert_deduplicate: 1,
      insert_deduplication_token: pageIdText(page),
      deduplicate_blocks_in_dependent_materialized_views: 1,
      async_insert: 0,
      // On a cluster: answered when the shards have it, not when it is on its way to them.
      distributed_foreground_insert: 1,
      input_format_parallel_parsing: 0,
      date_time_input_format: "basic",
    },
  });
}
