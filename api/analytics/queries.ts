/** Counts clicks and visitors of a link or an account over time. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import {
  ACCOUNT_LINKS,
  accountLinksParams,
  ANALYTICS_EXACT_CLICKS_MAX,
  BUCKET_RANGE,
  clampInstant,
  dayParams,
  fromAccountRollups,
  hasRawClicks,
  type QueryRange,
  RAW,
  RAW_RANGE,
  splitDays,
  type TimeSource,
  timeSource,
} from "./sources.ts";

/** Human clicks with their distinct visitors, and clicks of bots and prefetches. */
type Counts = { clicks: number; unique: number; bots: number; prefetches: number };

export type SummaryCounts = {
  total: Counts;
  /** By the start of the bucket (Unix milliseconds); buckets without clicks are absent. */
  buckets: Map<number, Counts>;
};

/** The clicks to count: a WHERE clause with its parameters, and the table it applies to. */
type CountScope = {
  condition: string;
  params: Record<string, unknown>;
  source: TimeSource | { table: "clicks_15m_of_account" | "clicks_1h_of_account"; raw: false };
  /** The table with states of visitors, if it is another one. */
  visitorsTable?: "clicks_15m";
  /** The condition for tables in the order of links: raw clicks, and that of visitors. */
  byLinkCondition: string;
};

/** A link, and whether it has so few clicks that scanning the raw ones is cheapest. */
export type CountedLink = { id: Uuid; lowVolume: boolean };

/**
 * Counts a link's clicks in the range, in total and by bucket. A visitor of several buckets counts once in
 * each, so the visitors of the buckets do not add up to the total.
 */
export function countClicks(
  clickhouse: ClickHouse,
  { id, lowVolume }: CountedLink,
  range: QueryRange,
): Promise<SummaryCounts> {
  const condition = "link_id = {link_id: UUID}";
  return count(clickhouse, range, {
    condition,
    byLinkCondition: condition,
    params: { link_id: id },
    source: lowVolume && hasRawClicks(range) ? RAW : timeSource(range),
  });
}

/** As {@link countClicks}, for all links of an account in one mode, including deleted ones. */
export function countAccountClicks(
  clickhouse: ClickHouse,
  { accountId, mode }: AccountScope,
  range: QueryRange,
): Promise<SummaryCounts> {
  const condition = "account_id = {account_id: UUID} AND mode = {mode: String}";
  const { table, raw } = timeSource(range);
  const byHour = table === "clicks_1h";
  const rollup = byHour ? "clicks_1h_of_account" : "clicks_15m_of_account";
  return count(clickhouse, range, {
    condition,
    byLinkCondition: `${condition} AND ${ACCOUNT_LINKS}`,
    params: { account_id: accountId, mode, ...accountLinksParams(range) },
    source: raw ? { table: "clicks", raw } : { table: rollup, raw },
    ...(byHour ? {} : { visitorsTable: "clicks_15m" }),
  });
}

async function count(
  clickhouse: ClickHouse,
  range: QueryRange,
  scope: CountScope,
): Promise<SummaryCounts> {
  const params = {
    ...scope.params,
    from: clampInstant(range.from),
    to: clampInstant(range.to),
    starts: range.buckets.map((bucket) => bucket.start / 1_000),
  };
  const { raw } = scope.source;
  const rows = await queryRows<CountRow>(
    clickhouse,
    raw ? rawCounts(scope) : rollupCounts(scope),
    params,
  );
  const counted = toSummary(rows);
  const { clicks } = counted.total;
  if (raw || clicks === 0) return counted;
  const exact = hasRawClicks(range) && clicks <= ANALYTICS_EXACT_CLICKS_MAX;
  const visitorRows = await queryRows<VisitorRow>(
    clickhouse,
    exact ? exactVisitors(scope) : mergedVisitors(scope),
    params,
  );
  for (const { is_total, start, unique_visitors } of visitorRows) {
    const counts = is_total === 1 ? counted.total : counted.buckets.get(Number(start) * 1_000);
    if (counts !== undefined) counts.unique = Number(unique_visitors);
  }
  return counted;
}

type CountRow = {
  is_total: number;
  /** Unix seconds. */
  start: string;
  humans: string;
  unique_visitors: string;
  bots: string;
  prefetches: string;
};

type VisitorRow = Pick<CountRow, "is_total" | "start" | "unique_visitors">;

const START = (time: string): string => `
  grouping(start) AS is_total, roundDown(toInt64(toUnixTimestamp(${time})), {starts: Array(Int64)}) AS start`;

const rollupCounts = ({ condition, source }: CountScope): string => `
  SELECT ${START("bucket")},
         sumIf(clicks, class = 'human') AS humans,
         '0' AS unique_visitors,
         sumIf(clicks, class = 'bot') AS bots,
         sumIf(clicks, class = 'prefetch') AS prefetches
    FROM ${source.table}
   WHERE ${condition} AND ${BUCKET_RANGE}
   GROUP BY GROUPING SETS ((start), ())`;

const mergedVisitors = ({
  condition,
  source,
  visitorsTable,
  byLinkCondition,
}: CountScope): string => `
  SELECT ${START("bucket")}, uniqCombined64Merge(14)(visitors) AS unique_visitors
    FROM ${visitorsTable ?? source.table}
   WHERE ${visitorsTable === undefined ? condition : byLinkCondition} AND ${BUCKET_RANGE} AND class = 'human'
   GROUP BY GROUPING SETS ((start), ())`;

const exactVisitors = ({ byLinkCondition }: CountScope): string => `
  SELECT ${START("ts")}, uniqExact(visitor) AS unique_visitors
    FROM clicks
   WHERE ${byLinkCondition} AND ${RAW_RANGE} AND class = 'human'
   GROUP BY GROUPING SETS ((start), ())`;

const rawCounts = ({ byLinkCondition }: CountScope): string => `
  SELECT ${START("ts")},
         countIf(class = 'human') AS humans,
         uniqExactIf(visitor, class = 'human') AS unique_visitors,
         countIf(class = 'bot') AS bots,
         countIf(class = 'prefetch') AS prefetches
    FROM clicks
   WHERE ${byLinkCondition} AND ${RAW_RANGE}
   GROUP BY GROUPING SETS ((start), ())`;

function toSummary(rows: readonly CountRow[]): SummaryCounts {
  const buckets = new Map<number, Counts>();
  let total: Counts = { clicks: 0, unique: 0, bots: 0, prefetches: 0 };
  for (const row of rows) {
    const counts = {
      clicks: Number(row.humans),
      unique: Number(row.unique_visitors),
      bots: Number(row.bots),
      prefetches: Number(row.prefetches),
    };
    if (row.is_total === 1) total = counts;
    else buckets.set(Number(row.start) * 1_000, counts);
  }
  return { total, buckets };
}

export type TopLink = { link_id: Uuid; clicks: number };

/** Finds the links of an account with the most human clicks; ties sort by id. */
export async function findTopLinks(
  clickhouse: ClickHouse,
  { accountId, mode }: AccountScope,
  range: QueryRange,
  limit: number,
): Promise<TopLink[]> {
  const days = splitDays(range);
  const condition = "account_id = {account_id: UUID} AND mode = {mode: String}";
  const rows = await queryRows<{ link_id: Uuid; humans: string }>(
    clickhouse,
    `SELECT link_id, sum(clicks) AS humans
       FROM ${days === undefined ? fromRawClicks(condition) : fromAccountRollups(condition)}
      GROUP BY link_id
      ORDER BY humans DESC, link_id
      LIMIT {limit: UInt32}`,
    {
      account_id: accountId,
      mode,
      limit,
      ...(days === undefined
        ? { from: clampInstant(range.from), to: clampInstant(range.to) }
        : dayParams(range, days)),
    },
  );
  return rows.map((row) => ({ link_id: row.link_id, clicks: Number(row.humans) }));
}

/** Raw clicks with the columns of the rollups. */
const fromRawClicks = (condition: string): string =>
  `(SELECT link_id, 1 AS clicks FROM clicks WHERE ${condition} AND ${RAW_RANGE} AND class = 'human')`;
