/** Counts clicks and visitors of a link or an account over time. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import { ALWAYS_FEW } from "./few-clicks.ts";
import { allOf, needsRawClicks, type Selection } from "./filters.ts";
import { accountCondition, accountScope, type CountedLink, linkScope } from "./scopes.ts";
import {
  accountLinks,
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
  splitSource,
  type TimeSource,
} from "./sources.ts";
import { countVisitors, type IsFew } from "./visitors.ts";

/** Clicks of the counted classes, their distinct visitors, and clicks of bots and prefetches. */
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
  /** The table with visitor states, if it is a different one. */
  visitorsTable?: "clicks_15m";
  /** Whether the last hour of the range is read from raw clicks. */
  isSplit: boolean;
  /** The end of the part of the range that is read from the rollup, in Unix milliseconds. */
  rolledTo: number;
  /** The condition for tables sorted by link: raw clicks and visitor states. */
  byLinkCondition: string;
  isFew: IsFew;
};

/**
 * Counts a link's clicks in the range, in total and by bucket. A visitor of several buckets counts
 * once in each, so the visitors of the buckets do not add up to the total.
 */
export function countClicks(
  clickhouse: ClickHouse,
  counted: CountedLink,
  range: QueryRange,
  selection: Selection,
): Promise<SummaryCounts> {
  const { id, lowVolume } = counted;
  const link = { condition: "link_id = {link_id: UUID}", params: { link_id: id } };
  const { condition, params } = allOf(link, selection.links, selection.columns);
  const raw = selection.columns !== undefined || (lowVolume && hasRawClicks(range));
  const { source, ...split } = splitSource(range);
  return count(clickhouse, range, selection, {
    condition,
    byLinkCondition: condition,
    params,
    source: raw ? RAW : source,
    ...split,
    isFew: selection.columns === undefined ? ALWAYS_FEW : linkScope(counted, selection).isFew,
  });
}

/** As {@link countClicks}, for all links of an account in one mode, including deleted ones. */
export function countAccountClicks(
  clickhouse: ClickHouse,
  owner: AccountScope,
  range: QueryRange,
  selection: Selection,
): Promise<SummaryCounts> {
  const account = accountCondition(owner);
  const {
    source: { table, raw },
    ...split
  } = splitSource(range);
  const onlyRaw = raw || selection.columns !== undefined;
  const byLink = allOf(
    account,
    // Bot counts are read from raw clicks too.
    accountLinks(range, onlyRaw || split.isSplit || needsRawClicks(selection)),
    selection.links,
    selection.columns,
  );
  const isFew =
    selection.columns === undefined ? ALWAYS_FEW : accountScope(owner, range, selection).isFew;
  const scope = { byLinkCondition: byLink.condition, params: byLink.params, ...split, isFew };
  if (onlyRaw) {
    return count(clickhouse, range, selection, {
      ...scope,
      condition: byLink.condition,
      source: RAW,
    });
  }
  const byHour = table === "clicks_1d" || table === "clicks_1h";
  if (selection.links !== undefined) {
    return count(clickhouse, range, selection, {
      ...scope,
      condition: byLink.condition,
      source: { table, raw },
    });
  }
  return count(clickhouse, range, selection, {
    ...scope,
    condition: account.condition,
    source: { table: byHour ? "clicks_1h_of_account" : "clicks_15m_of_account", raw: false },
    ...(byHour ? {} : { visitorsTable: "clicks_15m" }),
  });
}

async function count(
  clickhouse: ClickHouse,
  range: QueryRange,
  { classes }: Selection,
  scope: CountScope,
): Promise<SummaryCounts> {
  const params = {
    ...scope.params,
    classes,
    from: clampInstant(range.from),
    to: clampInstant(range.to),
    starts: range.buckets.map((bucket) => bucket.start / 1_000),
  };
  if (scope.source.raw) {
    const query = (visitors: string) =>
      queryRows<CountRow>(clickhouse, rawCounts(scope, visitors), params);
    return toSummary(await countVisitors(query, totalOf, () => scope.isFew(clickhouse, range)));
  }
  const rolled = {
    ...params,
    to: clampInstant(scope.rolledTo),
    edge_to: clampInstant(range.to),
  };
  const counted = toSummary(await queryRows<CountRow>(clickhouse, rollupCounts(scope), rolled));
  const { clicks } = counted.total;
  if (clicks === 0) return counted;
  const exact = hasRawClicks(range) && clicks <= ANALYTICS_EXACT_CLICKS_MAX;
  const visitorRows = await queryRows<VisitorRow>(
    clickhouse,
    exact ? exactVisitors(scope) : mergedVisitors(scope),
    exact ? params : rolled,
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
  counted: string;
  unique_visitors: string;
  bots: string;
  prefetches: string;
};

type VisitorRow = Pick<CountRow, "is_total" | "start" | "unique_visitors">;

const BUCKET_START = (time: string): string =>
  `roundDown(toInt64(toUnixTimestamp(${time})), {starts: Array(Int64)}) AS start`;

const START = (time: string): string => `
  grouping(start) AS is_total, ${BUCKET_START(time)}`;

/** WHERE clause for the raw clicks between the end of the rollup's part and the range's end. */
const EDGE = `
  ts >= fromUnixTimestamp64Milli({to: Int64}) AND ts < fromUnixTimestamp64Milli({edge_to: Int64})`;

/** Adds a second SELECT over those clicks, if there can be any. */
const withEdge = (
  { byLinkCondition, isSplit }: CountScope,
  columns: string,
  further = "",
): string =>
  isSplit
    ? `UNION ALL SELECT ${columns} FROM clicks WHERE ${byLinkCondition} AND ${EDGE} ${further}`
    : "";

const rollupCounts = (scope: CountScope): string => `
  SELECT ${START("bucket")},
         sumIf(clicks, class IN {classes: Array(String)}) AS counted,
         '0' AS unique_visitors,
         sumIf(clicks, class = 'bot') AS bots,
         sumIf(clicks, class = 'prefetch') AS prefetches
    FROM (
      SELECT bucket, class, clicks
        FROM ${scope.source.table} WHERE ${scope.condition} AND ${BUCKET_RANGE}
      ${withEdge(scope, "toDateTime(ts, 'UTC'), class, 1")}
    )
   GROUP BY GROUPING SETS ((start), ())`;

/** Merges each state once into its bucket, and the buckets into the total. */
const mergedVisitors = (scope: CountScope): string => `
  SELECT grouping(start) AS is_total, start, uniqCombined64Merge(14)(states) AS unique_visitors
    FROM (
      SELECT ${BUCKET_START("bucket")}, uniqCombined64MergeState(14)(visitors) AS states
        FROM ${scope.visitorsTable ?? scope.source.table}
       WHERE ${scope.visitorsTable === undefined ? scope.condition : scope.byLinkCondition} AND ${BUCKET_RANGE} AND class IN {classes: Array(String)}
       GROUP BY start
      ${withEdge(
        scope,
        `${BUCKET_START("ts")}, uniqCombined64State(14)(visitor)`,
        "AND class IN {classes: Array(String)} GROUP BY start",
      )}
    )
   GROUP BY GROUPING SETS ((start), ())`;

const exactVisitors = ({ byLinkCondition }: CountScope): string => `
  SELECT ${START("ts")}, uniqExact(visitor) AS unique_visitors
    FROM clicks
   WHERE ${byLinkCondition} AND ${RAW_RANGE} AND class IN {classes: Array(String)}
   GROUP BY GROUPING SETS ((start), ())`;

/** Reads clicks of all classes, to count bots; counts visitors of the counted classes only. */
const rawCounts = ({ byLinkCondition }: CountScope, visitors: string): string => `
  SELECT ${START("ts")},
         countIf(class IN {classes: Array(String)}) AS counted,
         ${visitors} FILTER (WHERE class IN {classes: Array(String)}) AS unique_visitors,
         countIf(class = 'bot') AS bots,
         countIf(class = 'prefetch') AS prefetches
    FROM clicks
   WHERE ${byLinkCondition} AND ${RAW_RANGE}
   GROUP BY GROUPING SETS ((start), ())`;

const totalOf = (rows: readonly CountRow[]): number =>
  Number(rows.find(({ is_total }) => is_total === 1)?.counted ?? 0);

function toSummary(rows: readonly CountRow[]): SummaryCounts {
  const buckets = new Map<number, Counts>();
  let total: Counts = { clicks: 0, unique: 0, bots: 0, prefetches: 0 };
  for (const row of rows) {
    const counts = {
      clicks: Number(row.counted),
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

/** Finds the links of an account with the most clicks; ties sort by id. */
export async function findTopLinks(
  clickhouse: ClickHouse,
  owner: AccountScope,
  range: QueryRange,
  limit: number,
  selection: Selection,
): Promise<TopLink[]> {
  const onlyRaw = needsRawClicks(selection);
  const days = onlyRaw ? undefined : splitDays(range);
  const { condition, params } = allOf(
    accountCondition(owner),
    onlyRaw ? accountLinks(range, true) : undefined,
    selection.links,
    selection.columns,
  );
  const rows = await queryRows<{ link_id: Uuid; clicks: string }>(
    clickhouse,
    `SELECT link_id, sum(rows.clicks) AS clicks
       FROM ${days === undefined ? fromRawClicks(condition) : fromAccountRollups(condition)} AS rows
      GROUP BY link_id
      ORDER BY clicks DESC, link_id
      LIMIT {limit: UInt32}`,
    {
      ...params,
      limit,
      ...(days === undefined
        ? {
            classes: selection.classes,
            from: clampInstant(range.from),
            to: clampInstant(range.to),
          }
        : dayParams(range, days)),
    },
  );
  return rows.map((row) => ({ link_id: row.link_id, clicks: Number(row.clicks) }));
}

/** Raw clicks with the columns of the rollups. */
const fromRawClicks = (condition: string): string =>
  `(SELECT link_id, 1 AS clicks FROM clicks
     WHERE ${condition} AND ${RAW_RANGE} AND class IN {classes: Array(String)})`;
