/** Clicks and visitors over time, of a link or of an account. */
import { askRows, type ClickHouse } from "../../shared/clicks/rollups.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import {
  ACCOUNT_LINKS,
  accountLinksParams,
  type AskedRange,
  bounded,
  BUCKET_RANGE,
  dayParams,
  dayParts,
  EXACT_CLICKS_MAX,
  OF_ACCOUNT,
  RAW,
  RAW_RANGE,
  type TimeSource,
  timeSource,
} from "./sources.ts";

/** Human clicks, their distinct visitors, and what is told beside. */
type Counts = { clicks: number; unique: number; bots: number; prefetches: number };

export type SummaryCounts = {
  total: Counts;
  /** By the first instant of the bucket, in Unix milliseconds; buckets without clicks are absent. */
  buckets: Map<number, Counts>;
};

/** Whose clicks: a WHERE clause with its parameters, and where it holds. */
type Subject = {
  condition: string;
  params: Record<string, unknown>;
  source: TimeSource | { table: "clicks_15m_of_account" | "clicks_1h_of_account"; raw: false };
  /** The condition among single clicks. */
  rawCondition: string;
};

/** A link, and whether it has so few clicks that they are best looked at one by one. */
export type CountedLink = { id: Uuid; few: boolean };

/**
 * Counts a link's clicks over the range, in all and by bucket. Distinct visitors are distinct over
 * whatever they are counted for, so those of buckets do not add up to the total.
 */
export function countClicks(
  clickhouse: ClickHouse,
  { id, few }: CountedLink,
  range: AskedRange,
): Promise<SummaryCounts> {
  const condition = "link_id = {link_id: UUID}";
  return count(clickhouse, range, {
    condition,
    rawCondition: condition,
    params: { link_id: id },
    source: few && range.held ? RAW : timeSource(range),
  });
}

/** As {@link countClicks}, of all links of an account in one mode, deleted ones included. */
export function countAccountClicks(
  clickhouse: ClickHouse,
  { accountId, mode }: { accountId: Uuid; mode: Mode },
  range: AskedRange,
): Promise<SummaryCounts> {
  const condition = "account_id = {account_id: UUID} AND mode = {mode: String}";
  const { table, raw } = timeSource(range);
  const rollup = table === "clicks_1h" ? "clicks_1h_of_account" : "clicks_15m_of_account";
  return count(clickhouse, range, {
    condition,
    rawCondition: `${condition} AND ${ACCOUNT_LINKS}`,
    params: { account_id: accountId, mode, ...accountLinksParams(range) },
    source: raw ? { table: "clicks", raw } : { table: rollup, raw },
  });
}

async function count(
  clickhouse: ClickHouse,
  range: AskedRange,
  subject: Subject,
): Promise<SummaryCounts> {
  const params = {
    ...subject.params,
    from: bounded(range.from),
    to: bounded(range.to),
    starts: range.buckets.map((bucket) => bucket.start / 1_000),
  };
  const { raw } = subject.source;
  const rows = await askRows<CountRow>(
    clickhouse,
    raw ? rawCounts(subject) : rollupCounts(subject),
    params,
  );
  const counted = toSummary(rows);
  const { clicks } = counted.total;
  if (raw || clicks === 0) return counted;
  const exact = range.held && clicks <= EXACT_CLICKS_MAX;
  const visitors = await askRows<VisitorRow>(
    clickhouse,
    exact ? exactVisitors(subject) : mergedVisitors(subject),
    params,
  );
  for (const { is_total, start, different } of visitors) {
    const counts = is_total === 1 ? counted.total : counted.buckets.get(Number(start) * 1_000);
    if (counts !== undefined) counts.unique = Number(different);
  }
  return counted;
}

type CountRow = {
  is_total: number;
  /** Unix seconds. */
  start: string;
  humans: string;
  different: string;
  bots: string;
  prefetches: string;
};

type VisitorRow = Pick<CountRow, "is_total" | "start" | "different">;

const START = (time: string): string => `
  grouping(start) AS is_total, roundDown(toInt64(toUnixTimestamp(${time})), {starts: Array(Int64)}) AS start`;

const rollupCounts = ({ condition, source }: Subject): string => `
  SELECT ${START("bucket")},
         sumIf(clicks, class = 'human') AS humans,
         '0' AS different,
         sumIf(clicks, class = 'bot') AS bots,
         sumIf(clicks, class = 'prefetch') AS prefetches
    FROM ${source.table}
   WHERE ${condition} AND ${BUCKET_RANGE}
   GROUP BY GROUPING SETS ((start), ())`;

const mergedVisitors = ({ condition, source }: Subject): string => `
  SELECT ${START("bucket")}, uniqCombined64Merge(14)(visitors) AS different
    FROM ${source.table}
   WHERE ${condition} AND ${BUCKET_RANGE} AND class = 'human'
   GROUP BY GROUPING SETS ((start), ())`;

const exactVisitors = ({ rawCondition }: Subject): string => `
  SELECT ${START("ts")}, uniqExact(visitor) AS different
    FROM clicks
   WHERE ${rawCondition} AND ${RAW_RANGE} AND class = 'human'
   GROUP BY GROUPING SETS ((start), ())`;

const rawCounts = ({ rawCondition }: Subject): string => `
  SELECT ${START("ts")},
         countIf(class = 'human') AS humans,
         uniqExactIf(visitor, class = 'human') AS different,
         countIf(class = 'bot') AS bots,
         countIf(class = 'prefetch') AS prefetches
    FROM clicks
   WHERE ${rawCondition} AND ${RAW_RANGE}
   GROUP BY GROUPING SETS ((start), ())`;

function toSummary(rows: readonly CountRow[]): SummaryCounts {
  const buckets = new Map<number, Counts>();
  let total: Counts = { clicks: 0, unique: 0, bots: 0, prefetches: 0 };
  for (const row of rows) {
    const counts = {
      clicks: Number(row.humans),
      unique: Number(row.different),
      bots: Number(row.bots),
      prefetches: Number(row.prefetches),
    };
    if (row.is_total === 1) total = counts;
    else buckets.set(Number(row.start) * 1_000, counts);
  }
  return { total, buckets };
}

export type TopLink = { link_id: Uuid; clicks: number };

/** The links of an account with the most human clicks; of equals in the order of their ids. */
export async function topLinks(
  clickhouse: ClickHouse,
  { accountId, mode }: { accountId: Uuid; mode: Mode },
  range: AskedRange,
  limit: number,
): Promise<TopLink[]> {
  const parts = dayParts(range);
  const condition = "account_id = {account_id: UUID} AND mode = {mode: String}";
  const rows = await askRows<{ link_id: Uuid; humans: string }>(
    clickhouse,
    `SELECT link_id, sum(clicks) AS humans
       FROM ${parts === undefined ? ofClicks(condition) : OF_ACCOUNT(condition)}
      GROUP BY link_id
      ORDER BY humans DESC, link_id
      LIMIT {limit: UInt32}`,
    {
      account_id: accountId,
      mode,
      limit,
      ...(parts === undefined
        ? { from: bounded(range.from), to: bounded(range.to) }
        : dayParams(range, parts)),
    },
  );
  return rows.map((row) => ({ link_id: row.link_id, clicks: Number(row.humans) }));
}

/** Single clicks in the form of the rollups. */
const ofClicks = (condition: string): string =>
  `(SELECT link_id, 1 AS clicks FROM clicks WHERE ${condition} AND ${RAW_RANGE} AND class = 'human')`;
