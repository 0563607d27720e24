/** Reads which segments are stored in the table `clicks`. */
import type { ClickHouseClient } from "@clickhouse/client";

import { clickTime, queryRows, WITHOUT_CONDITION_CACHE } from "../../shared/clicks/query.ts";
import { requestRepair } from "../../shared/clicks/repair-requests.ts";
import type { BucketRange } from "../../shared/clicks/rollups.ts";
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
import type { ClickSpan } from "./deps.ts";
import { createSegmentIndex, type SegmentIndex } from "./segment-index.ts";

/**
 * How far back the first owner reads which segments are stored. Older ones are looked up when they
 * are delivered.
 */
const HISTORY_DAYS = 4;

const UINT32_MAX = 2 ** 32 - 1;

/**
 * Age of the clicks among which the first owner looks for half-done inserts. The consistency check
 * covers older ones.
 */
const HALF_DONE_SECONDS = HOUR_SECONDS;

/** The rows of segments, all of whose clicks are in a time span. */
const OF_SEGMENTS = `
  ts >= fromUnixTimestamp64Milli({from: Int64}) AND ts <= fromUnixTimestamp64Milli({to: Int64})
  AND (journal_id, segment) IN arrayZip({journals: Array(UUID)}, {segments: Array(UInt32)})`;

const segmentParameters = (
  segments: readonly SegmentId[],
  { firstClick, lastClick }: ClickSpan,
): Record<string, unknown> => ({
  from: firstClick,
  to: lastClick,
  journals: segments.map(({ journalId }) => journalId),
  segments: segments.map(({ segment }) => segment),
});

/** Returns which of the segments have rows. The clicks of all of them must be in the span. */
export async function findStored(
  client: ClickHouseClient,
  segments: readonly SegmentId[],
  span: ClickSpan,
): Promise<SegmentId[]> {
  const rows = await queryRows<{ journal_id: Uuid; segment: number }>(
    client,
    `SELECT DISTINCT journal_id, segment FROM clicks WHERE ${OF_SEGMENTS}`,
    segmentParameters(segments, span),
  );
  return rows.map(({ journal_id, segment }) => ({ journalId: journal_id, segment }));
}

/**
 * Reads the rows of segments as the bytes of an insert (row-insert.ts): at most those of a batch.
 * The clicks of all of them must be in the span.
 */
export async function readRows(
  client: ClickHouseClient,
  segments: readonly SegmentId[],
  span: ClickSpan,
): Promise<Buffer> {
  const result = await client.query({
    query: `SELECT ${ROW_COLUMNS.join(", ")} FROM clicks WHERE ${OF_SEGMENTS}`,
    query_params: segmentParameters(segments, span),
    format: "TabSeparated",
    clickhouse_settings: {
      ...WITHOUT_CONDITION_CACHE,
      // An error on the way would otherwise follow rows that were sent, and look like one.
      wait_end_of_query: 1,
    },
  });
  return Buffer.from(await result.text());
}

/**
 * Reads which segments have rows in the last {@link HISTORY_DAYS}, before there is a log, one day
 * after the other. If there are any, requests a repair of the rollups of today: an earlier version
 * inserted each segment by itself, and its last inserts may be half done.
 */
export async function readHistory(client: ClickHouseClient): Promise<SegmentIndex> {
  const index = createSegmentIndex();
  const now = Math.floor(Date.now() / 1_000);
  for (let day = HISTORY_DAYS; day > 0; day--) {
    const rows = await queryRows<{ journal_id: Uuid; first: number; last: number }>(
      client,
      // Segments with consecutive numbers have the same difference of number and rank.
      `SELECT journal_id, min(segment) AS first, max(segment) AS last
         FROM (
           SELECT journal_id, segment,
                  segment - row_number() OVER (PARTITION BY journal_id ORDER BY segment) AS run
             FROM (SELECT DISTINCT journal_id, segment FROM clicks
                    WHERE ts >= ${clickTime("from")} AND ts < ${clickTime("to")})
         )
        GROUP BY journal_id, run`,
      {
        from: now - day * DAY_SECONDS,
        // Clicks of a redirector whose clock is ahead are in the last one.
        to: day === 1 ? UINT32_MAX : now - (day - 1) * DAY_SECONDS,
      },
    );
    for (const { journal_id, first, last } of rows) index.addRange(journal_id, first, last);
  }
  if (index.size() > 0) await requestRepair(client, recentDays());
  return index;
}

const startOfDay = (seconds: number): number => Math.floor(seconds / DAY_SECONDS) * DAY_SECONDS;

/**
 * The whole days of the clicks among which half-done inserts are looked for: today, and yesterday
 * just after midnight.
 */
function recentDays(): BucketRange {
  const now = Date.now() / 1_000;
  return { from: startOfDay(now - HALF_DONE_SECONDS), to: startOfDay(now) + DAY_SECONDS };
}
