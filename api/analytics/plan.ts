/**
 * Plan: which tables a query reads, under which conditions, and whether visitors are counted
 * exactly. Rollups hold whole buckets, so a range that is not aligned with them is read from raw
 * clicks. After retention has deleted those, the range is rounded to whole buckets.
 */
import { queryRows } from "../../shared/clicks/query.ts";
import { DAY_MS, HOUR_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { CASELESS, type Filters } from "./filters.ts";
import type { Range, Span } from "./period.ts";
import type { AnalyticsQuery, LinkSets, QueryRange } from "./query-resolver.ts";

/** The shortest bucket of a rollup. */
export const QUARTER_MS = 900_000;

/**
 * For links with fewer clicks than this, scanning raw clicks is cheaper than querying several
 * rollups.
 */
const LOW_VOLUME_CLICKS = 50_000;

/** Whether the query is about a link that has fewer clicks of people than that. */
const isOfLinkBelow = ({ subject }: AnalyticsQuery, clicks: number): boolean =>
  subject !== "account" && "link" in subject && subject.link.clicks < clicks;

/** Whether the query is about a link with few clicks. */
export const isLowVolume = (query: AnalyticsQuery): boolean =>
  isOfLinkBelow(query, LOW_VOLUME_CLICKS);

/**
 * Whether the query is about a link whose visitors are counted exactly, however long the range is:
 * that reads its raw clicks, which have all other counts, too.
 */
const isCountedExactly = (query: AnalyticsQuery): boolean =>
  isOfLinkBelow(
    query,
    countsOnlyHumans(query.filters) ? ANALYTICS_EXACT_CLICKS_MAX : LOW_VOLUME_CLICKS,
  );

/** Whether only clicks of people are counted; false for filters that no click can pass. */
const countsOnlyHumans = ({ classes: [first, ...others] }: Filters): boolean =>
  first === "human" && others.length === 0;

/** Whether rollups of human clicks without dimensions cannot be used. */
export const needsRawClicks = ({ filters }: AnalyticsQuery): boolean =>
  filters.columns.size > 0 || !countsOnlyHumans(filters);

/** Whether the filters by tag and domain select some of the links. */
export const selectsLinks = ({ anyOf, noneOf }: LinkSets): boolean =>
  anyOf !== undefined || noneOf.length > 0;

/** A range, and since when raw clicks are retained. */
export type RetainedSpan = Span & { rawFrom: number };

/** Whether all raw clicks of a range are still retained. */
export const hasRawClicks = ({ from, rawFrom }: RetainedSpan): boolean => from >= rawFrom;

/** A range up to now ends with its quarter hour: rollups have it, and no click is later. */
export const roundUpToQuarter = (range: QueryRange): QueryRange =>
  range.to < range.now ? range : { ...range, to: Math.ceil(range.to / QUARTER_MS) * QUARTER_MS };

// ---- Tables

/** The tables by link that clicks over time are counted from; `clicks` has raw clicks. */
type TimeTable = "clicks" | "clicks_1d" | "clicks_1h" | "clicks_15m";

/** The coarsest table whose buckets align with every boundary of the range and its time axis. */
export function tableOf(range: RetainedSpan & { buckets: Range["buckets"] }): TimeTable {
  const { from, to, buckets } = range;
  const boundaries = [from, to, ...buckets.slice(1).map(({ start }) => start)];
  const alignsWith = (ms: number) => boundaries.every((boundary) => boundary % ms === 0);
  if (alignsWith(DAY_MS)) return "clicks_1d";
  if (alignsWith(HOUR_MS)) return "clicks_1h";
  return hasRawClicks(range) && !alignsWith(QUARTER_MS) ? "clicks" : "clicks_15m";
}

/**
 * As {@link tableOf}, for the range up to `rolledTo` (Unix milliseconds). If only the end of the
 * range is within a bucket, as in a range up to now, `isSplit` says that its last hour is read from
 * raw clicks.
 */
export function splitRange(range: QueryRange): {
  table: TimeTable;
  rolledTo: number;
  isSplit: boolean;
} {
  const table = tableOf(range);
  const rolledTo = Math.floor(range.to / HOUR_MS) * HOUR_MS;
  const buckets = range.buckets.filter(({ start }) => start < rolledTo);
  const rolled = tableOf({ ...range, to: rolledTo, buckets });
  return table === "clicks" && rolled !== "clicks" && rolledTo > range.from
    ? { table: rolled, rolledTo, isSplit: true }
    : { table, rolledTo: range.to, isSplit: false };
}

/** The dimensions that rollups by day hold. */
export const DIMENSIONS = [
  "country",
  "region",
  "city",
  "browser",
  "os",
  "device",
  "referrer",
] as const;

export type Dimension = (typeof DIMENSIONS)[number];

/** A table of human clicks by UTC day and some dimensions. Its subjects are links and accounts. */
export type DimensionRollup = {
  table: string;
  dimensions: readonly Dimension[];
};

const DIMENSION_ROLLUPS: readonly DimensionRollup[] = [
  { table: "clicks_1d_places", dimensions: ["country", "region", "city"] },
  { table: "clicks_1d_agents", dimensions: ["device", "browser", "os"] },
  { table: "clicks_1d_referrers", dimensions: ["referrer"] },
];

const hasDimension = ({ dimensions }: DimensionRollup, name: string): boolean =>
  dimensions.some((dimension) => dimension === name);

/**
 * The rollups that have these dimensions; undefined if the query needs raw clicks instead: for
 * clicks that are not people's, and for a filter by a column that one of the rollups lacks.
 */
export function rollupsOf(
  { filters }: AnalyticsQuery,
  requested: readonly Dimension[],
): readonly DimensionRollup[] | undefined {
  const columns = [...filters.columns.keys()];
  const rollups = DIMENSION_ROLLUPS.filter((rollup) =>
    requested.some((name) => hasDimension(rollup, name)),
  );
  const areEnough = rollups.every((rollup) => columns.every((name) => hasDimension(rollup, name)));
  return countsOnlyHumans(filters) && areEnough ? rollups : undefined;
}

/** Whole UTC days in Unix milliseconds; without any, both are the end of the range. */
type Days = { dayFrom: number; dayTo: number };

/**
 * Returns the days of a range to read from rollups by day; raw clicks provide its edges. An edge
 * whose raw clicks have been deleted is rounded to the whole day.
 */
export function splitDays(range: RetainedSpan): Days {
  const { from, to, rawFrom } = range;
  const [firstDay, lastDay] = [floorToDay(from), floorToDay(to)];
  const dayFrom = hasRawClicks(range) ? ceilToDay(from) : firstDay;
  const dayTo = hasRawClicks(range) || lastDay >= rawFrom ? lastDay : ceilToDay(to);
  return dayFrom < dayTo ? { dayFrom, dayTo } : { dayFrom: to, dayTo: to };
}

const floorToDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
const ceilToDay = (ms: number): number => Math.ceil(ms / DAY_MS) * DAY_MS;

// ---- Conditions. Their values are parameters, which `paramsOf` provides all at once.

/** Joins conditions; leaves out empty ones. */
export const allOf = (...conditions: readonly string[]): string =>
  conditions.filter((condition) => condition !== "").join(" AND ");

/** WHERE clause for raw clicks of the range. */
export const RAW_RANGE = `
  ts >= fromUnixTimestamp64Milli({from: Int64}) AND ts < fromUnixTimestamp64Milli({to: Int64})`;

/** WHERE clause for buckets of the range in a rollup over time. */
export const BUCKET_RANGE = `
  bucket >= toDateTime(intDiv({from: Int64}, 1000), 'UTC')
  AND bucket < toDateTime(intDiv({to: Int64}, 1000), 'UTC')`;

/** WHERE clause for the buckets of {@link Days} in a rollup, whose parameters are `dayParams`. */
export const IN_DAYS =
  "bucket >= toDateTime({day_from: UInt32}, 'UTC') AND bucket < toDateTime({day_to: UInt32}, 'UTC')";

export const dayParams = ({ dayFrom, dayTo }: Days) => ({
  day_from: toSeconds(dayFrom),
  day_to: toSeconds(dayTo),
});

/** WHERE clause for the counted classes. */
export const IN_CLASSES = "class IN {classes: Array(String)}";

export const OF_ACCOUNT = "account_id = {account_id: UUID} AND mode = {mode: String}";

/** The query's own clicks, in raw clicks and in rollups with links. */
export const whereOwn = (query: AnalyticsQuery): string =>
  allOf(
    query.subject === "account" ? OF_ACCOUNT : whereLinks(query, "link_id"),
    whereSelected(query.selected, "link_id"),
    whereColumns(query.filters),
  );

/**
 * As {@link whereOwn}. Of an account only the links with clicks in the range, of `anyClass` or of
 * people: tables sorted by link then skip the data of all other links. A statement that reads only
 * a part of the range gives the condition on its buckets (`part`): fewer links have clicks there.
 */
export const whereClicks = (
  query: AnalyticsQuery,
  { anyClass = !countsOnlyHumans(query.filters), part = "" } = {},
): string =>
  query.subject === "account" && needsLookup(query, part)
    ? allOf(whereOwn(query), whereClicked("link_id", anyClass, part))
    : whereOwn(query);

/**
 * Links that filters select are read without looking up which of them have clicks, if they are few,
 * or if the range is long: the look-up reads all links of the account with clicks in it.
 */
const FEW_LINKS = 1_000;
const LOOKUP_MS_MAX = 8 * DAY_MS;

const needsLookup = ({ selected: { anyOf }, range }: AnalyticsQuery, part = ""): boolean =>
  anyOf === undefined ||
  (anyOf.length > FEW_LINKS && (part !== "" || range.to - range.from <= LOOKUP_MS_MAX));

/** The query's own clicks in rollups by dimension, which have no column for other filters. */
export function whereSubjects(query: AnalyticsQuery): string {
  const selected = whereSelected(query.selected, "subject_id");
  if (query.subject !== "account") return allOf(whereLinks(query, "subject_id"), selected);
  if (selected === "") return "subject_id = {account_id: UUID} AND mode = {mode: String}";
  const clicked = needsLookup(query) ? whereClicked("subject_id", false) : "";
  return allOf("mode = {mode: String}", clicked, selected);
}

type LinkColumn = "link_id" | "subject_id";

const whereLinks = ({ subject }: AnalyticsQuery, column: LinkColumn): string =>
  subject !== "account" && "link" in subject
    ? `${column} = {link_id: UUID}`
    : `${column} IN {links: Array(UUID)}`;

/**
 * Statement for the links of an account that have clicks in the range, unordered and with
 * duplicates: clicks of people, in buckets of days, or any, in buckets of quarter hours.
 */
export const selectClicked = (anyClass: boolean, part = ""): string => `
  SELECT link_id FROM ${anyClass ? "clicks_15m_of_account" : "clicks_1d_of_account"}
   WHERE ${allOf(
     OF_ACCOUNT,
     "bucket >= toDateTime({links_from: UInt32}, 'UTC') AND bucket < toDateTime({links_to: UInt32}, 'UTC')",
     part,
   )}`;

export const whereClicked = (column: LinkColumn, anyClass: boolean, part = ""): string =>
  `${column} IN (${selectClicked(anyClass, part)})`;

/** Whole days, as {@link selectClicked} may read rows by day. */
export const clickedParams = ({ from, to }: Span) => ({
  links_from: toSeconds(floorToDay(from)),
  // Of a second that is not over, too.
  links_to: toSeconds(to) + 1,
});

/** The filters by column, which only raw clicks support; empty without such filters. */
export const whereColumns = ({ columns }: Filters): string =>
  allOf(
    ...[...columns].flatMap(([column, { anyOf, noneOf }]) => {
      const compared = CASELESS.has(column) ? `lower(${column})` : column;
      return [
        anyOf.length === 0 ? "" : `${compared} IN {${column}_any: Array(String)}`,
        noneOf.length === 0 ? "" : `${compared} NOT IN {${column}_none: Array(String)}`,
      ];
    }),
  );

export const columnParams = ({ columns }: Filters): Record<string, readonly string[]> =>
  Object.fromEntries(
    [...columns].flatMap(([column, { anyOf, noneOf }]) => [
      [`${column}_any`, anyOf],
      [`${column}_none`, noneOf],
    ]),
  );

/** The condition of the filters by tag and domain, on any table with links; empty for all. */
const whereSelected = ({ anyOf, noneOf }: LinkSets, column: LinkColumn): string =>
  allOf(
    anyOf === undefined ? "" : isAmong(column, "links_any", anyOf),
    noneOf.length === 0 ? "" : `NOT ${isAmong(column, "links_none", noneOf)}`,
  );

const isAmong = (column: LinkColumn, name: string, ids: readonly Uuid[]): string =>
  `(${Object.keys(idParams(name, ids))
    .map((parameter) => `${column} IN {${parameter}: Array(UUID)}`)
    .join(" OR ")})`;

/**
 * Maximum links in one parameter, at most 39 bytes each: ClickHouse rejects a form field of more
 * than 128 KiB (`http_max_field_value_size`).
 */
const PARAMETER_LINKS_MAX = 3_000;

/** Splits ids into as many parameters as they need, at least one. */
function idParams(name: string, ids: readonly Uuid[]): Record<string, readonly Uuid[]> {
  const params: Record<string, readonly Uuid[]> = {};
  for (let from = 0; from === 0 || from < ids.length; from += PARAMETER_LINKS_MAX)
    params[`${name}_${from / PARAMETER_LINKS_MAX}`] = ids.slice(from, from + PARAMETER_LINKS_MAX);
  return params;
}

/** The parameters of all conditions. */
export function paramsOf(query: AnalyticsQuery): Record<string, unknown> {
  const { reader, subject, range, filters, selected } = query;
  return {
    account_id: reader.accountId,
    mode: reader.mode,
    ...(subject !== "account" && "link" in subject ? { link_id: subject.link.id } : {}),
    ...(subject !== "account" && "links" in subject ? { links: subject.links } : {}),
    classes: filters.classes,
    from: clampInstant(range.from),
    to: clampInstant(range.to),
    ...clickedParams(range),
    ...columnParams(filters),
    ...idParams("links_any", selected.anyOf ?? []),
    ...idParams("links_none", selected.noneOf),
  };
}

/** Range of ClickHouse's `DateTime`, in whole days; all clicks are within it. */
const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);

/** Clamps an instant (Unix milliseconds) to the range of ClickHouse's `DateTime`. */
export const clampInstant = (ms: number): number => Math.min(Math.max(ms, EARLIEST), LATEST);

/** As {@link clampInstant}, in Unix seconds. */
const toSeconds = (ms: number): number => Math.floor(clampInstant(ms) / 1_000);

// ---- Visitors

/**
 * Up to this many clicks in a range, distinct visitors are counted exactly; beyond, they are
 * estimated (1.5 % error). A link's `unique_clicks` is exact only up to the smaller
 * `COUNTERS_EXACT_CLICKS_MAX` (shared/clicks/totals.ts) and estimated beyond (0.8 % error). Above
 * that limit it may differ from the link's analytics within these errors.
 */
export const ANALYTICS_EXACT_CLICKS_MAX = 1_000_000;

/**
 * Aggregates for the distinct visitors of raw clicks of the counted classes: exact, or within 1.5 %
 * in bounded memory. 0 is no visitor; a condition costs less than a null for each of them.
 */
const OF_VISITORS = `visitor != 0 AND ${IN_CLASSES}`;
export const EXACT_VISITORS = `uniqExactIf(visitor, ${OF_VISITORS})`;
export const ESTIMATED_VISITORS = `uniqCombined64If(14)(visitor, ${OF_VISITORS})`;

/** Runs a statement with the parameters of the query, and further ones. */
export const readRows = <Row>(
  query: AnalyticsQuery,
  statement: string,
  params: Record<string, unknown> = {},
): Promise<Row[]> => queryRows<Row>(query.clickhouse, statement, { ...paramsOf(query), ...params });

/**
 * Statements that return the same rows with visitors: one counts them exactly, in raw clicks, if
 * those are retained; the other one estimates them.
 */
type WithVisitors = { exact: string | undefined; estimated: string };

/** Both statements, from one on raw clicks that is built with an aggregate for visitors. */
export const fromRawClicks = (statement: (visitors: string) => string): WithVisitors => ({
  exact: statement(EXACT_VISITORS),
  estimated: statement(ESTIMATED_VISITORS),
});

/**
 * Reads rows with visitors, exactly if clicks are few. Unless that is known of them, estimates
 * first, and reads again if the rows' total (`totalOf`) is small enough.
 */
export async function readWithVisitors<Row>(
  query: AnalyticsQuery,
  { exact, estimated }: WithVisitors,
  params: Record<string, unknown>,
  totalOf: (rows: readonly Row[]) => number,
): Promise<Row[]> {
  if (exact !== undefined && (await areFew(query)))
    return await readRows<Row>(query, exact, params);
  const rows = await readRows<Row>(query, estimated, params);
  const total = totalOf(rows);
  return exact !== undefined && total > 0 && total <= ANALYTICS_EXACT_CLICKS_MAX
    ? await readRows<Row>(query, exact, params)
    : rows;
}

/**
 * Whether the query selects so few clicks that visitors are counted exactly: those of a link that
 * has few, or as many as a rollup says that one of its filters can select in the days of the range.
 * False if that is known only after counting them.
 */
async function areFew(query: AnalyticsQuery): Promise<boolean> {
  if (isCountedExactly(query)) return true;
  const sums = sourcesOfSums(query).map(async ({ table, where }) => {
    const [row] = await readRows<{ clicks: string }>(
      query,
      `SELECT sum(clicks) AS clicks FROM ${table}
        WHERE ${where}
          AND bucket >= toStartOfDay(fromUnixTimestamp64Milli({from: Int64}, 'UTC'))
          AND bucket < fromUnixTimestamp64Milli({to: Int64}, 'UTC')`,
    );
    return Number(row?.clicks ?? 0);
  });
  return Math.min(...(await Promise.all(sums))) <= ANALYTICS_EXACT_CLICKS_MAX;
}

/** Rollups that have all clicks of the query, and more if they lack the columns of some filters. */
function sourcesOfSums(query: AnalyticsQuery): { table: string; where: string }[] {
  const { subject, filters, selected } = query;
  if (filters.columns.size === 0) {
    const isOfAccount = subject === "account" && !selectsLinks(selected);
    return [
      isOfAccount
        ? { table: "clicks_1h_of_account", where: allOf(OF_ACCOUNT, IN_CLASSES) }
        : { table: "clicks_1d", where: allOf(whereClicks(query), IN_CLASSES) },
    ];
  }
  // Rollups by dimension hold only human clicks.
  const rollups = countsOnlyHumans(filters) ? DIMENSION_ROLLUPS : [];
  return rollups.flatMap((rollup) => {
    const columns = new Map([...filters.columns].filter(([name]) => hasDimension(rollup, name)));
    if (columns.size === 0) return [];
    const where = allOf(whereSubjects(query), whereColumns({ ...filters, columns }));
    return [{ table: rollup.table, where }];
  });
}
