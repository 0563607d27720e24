/** Batches in the table `clicks`: inserting them, and finding out what is stored. */
import type { ClickHouseClient } from "@clickhouse/client";

import { queryRows } from "../../shared/clicks/rollups.ts";
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { ClickRow } from "../enrich/enrich.ts";
import type { ClickSpan } from "./deps.ts";
import { createSegmentIndex, type SegmentIndex } from "./segment-index.ts";

/** How far back the first owner reads which segments are stored: longer than the stream keeps any (72 h). */
const HISTORY_DAYS = 4;

/**
 * Inserts the rows of a batch as one block under a deduplication token: an insert that is repeated has no effect, in
 * `clicks` and in every rollup, for as many inserts as the tables remember. The segment's number is the column
 * `clicks.page`, which keeps the name from before segments were called that until the table is redesigned.
 */
export async function insertBatch(
  client: ClickHouseClient,
  token: string,
  segments: readonly (readonly ClickRow[])[],
): Promise<void> {
  await client.insert({
    table: "clicks",
    values: segments.flat(),
    format: "JSONEachRow",
    clickhouse_settings: {
      insert_deduplicate: 1,
      insert_deduplication_token: token,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      async_insert: 0,
      // On a cluster: return after the shards have stored the rows, not before they are sent to them.
      distributed_foreground_insert: 1,
      input_format_parallel_parsing: 0,
      date_time_input_format: "basic",
    },
  });
}

/** Finds which of the segments, whose clicks lie in the span, have rows. */
export async function findStored(
  client: ClickHouseClient,
  segments: readonly SegmentId[],
  { firstClick, lastClick }: ClickSpan,
): Promise<SegmentId[]> {
  const rows = await queryRows<{ journal_id: Uuid; page: number }>(
    client,
    `SELECT DISTINCT journal_id, page FROM clicks
      WHERE ts >= fromUnixTimestamp64Milli({from: Int64}) AND ts <= fromUnixTimestamp64Milli({to: Int64})
        AND (journal_id, page) IN arrayZip({journals: Array(UUID)}, {segments: Array(UInt32)})`,
    {
      from: firstClick,
      to: lastClick,
      journals: segments.map(({ journalId }) => journalId),
      segments: segments.map(({ segment }) => segment),
    },
  );
  return rows.map(({ journal_id, page }) => ({ journalId: journal_id, segment: page }));
}

/** Reads which segments have rows, of the last {@link HISTORY_DAYS}. */
export async function readHistory(client: ClickHouseClient): Promise<SegmentIndex> {
  const rows = await queryRows<{ journal_id: Uuid; first: number; last: number }>(
    client,
    // Segments with consecutive numbers have the same difference of number and rank.
    `SELECT journal_id, min(page) AS first, max(page) AS last
       FROM (
         SELECT journal_id, page, page - row_number() OVER (PARTITION BY journal_id ORDER BY page) AS run
           FROM (SELECT DISTINCT journal_id, page FROM clicks WHERE ts >= now() - INTERVAL {days: UInt16} DAY)
       )
      GROUP BY journal_id, run`,
    { days: HISTORY_DAYS },
  );
  const index = createSegmentIndex();
  for (const { journal_id, first, last } of rows) index.addRange(journal_id, first, last);
  return index;
}
