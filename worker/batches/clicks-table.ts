/** Reads which segments are stored in the table `clicks`. */
import type { ClickHouseClient } from "@clickhouse/client";

import { queryRows } from "../../shared/clicks/rollups.ts";
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { ClickSpan } from "./deps.ts";
import { createSegmentIndex, type SegmentIndex } from "./segment-index.ts";

/** How far back the first owner reads which segments are stored. Older ones are looked up when they are delivered. */
const HISTORY_DAYS = 4;

/** Returns which of the segments have rows. The clicks of all of them must be in the span. */
export async function findStored(
  client: ClickHouseClient,
  segments: readonly SegmentId[],
  { firstClick, lastClick }: ClickSpan,
): Promise<SegmentId[]> {
  const rows = await queryRows<{ journal_id: Uuid; segment: number }>(
    client,
    `SELECT DISTINCT journal_id, segment FROM clicks
      WHERE ts >= fromUnixTimestamp64Milli({from: Int64}) AND ts <= fromUnixTimestamp64Milli({to: Int64})
        AND (journal_id, segment) IN arrayZip({journals: Array(UUID)}, {segments: Array(UInt32)})`,
    {
      from: firstClick,
      to: lastClick,
      journals: segments.map(({ journalId }) => journalId),
      segments: segments.map(({ segment }) => segment),
    },
  );
  return rows.map(({ journal_id, segment }) => ({ journalId: journal_id, segment }));
}

/** Reads which segments have rows in the last {@link HISTORY_DAYS}. */
export async function readHistory(client: ClickHouseClient): Promise<SegmentIndex> {
  const rows = await queryRows<{ journal_id: Uuid; first: number; last: number }>(
    client,
    // Segments with consecutive numbers have the same difference of number and rank.
    `SELECT journal_id, min(segment) AS first, max(segment) AS last
       FROM (
         SELECT journal_id, segment,
                segment - row_number() OVER (PARTITION BY journal_id ORDER BY segment) AS run
           FROM (SELECT DISTINCT journal_id, segment FROM clicks WHERE ts >= now() - INTERVAL {days: UInt16} DAY)
       )
      GROUP BY journal_id, run`,
    { days: HISTORY_DAYS },
  );
  const index = createSegmentIndex();
  for (const { journal_id, first, last } of rows) index.addRange(journal_id, first, last);
  return index;
}
