/**
 * Breaks down clicks and visitors by one or two dimensions, which are columns of raw clicks. Clicks
 * of an account are also broken down by link, or by the tags or domains that its links have now.
 */
import * as z from "zod";

import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { ClicksReader } from "../clickhouse.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import { cutPart, readCursor, writeNext } from "../http/pagination.ts";
import type { LinkService } from "../links/service.ts";
import { type ColumnFilter, LINK_PROPERTIES, type LinkProperty, toShownValue } from "./filters.ts";
import type { BreakdownRequest } from "./model.ts";
import type { Span } from "./period.ts";
import {
  allOf,
  BUCKET_RANGE,
  dayParams,
  fromRawClicks,
  hasRawClicks,
  IN_CLASSES,
  IN_DAYS,
  needsRawClicks,
  QUARTER_MS,
  RAW_RANGE,
  readRows,
  readWithVisitors,
  roundUpToQuarter,
  splitDays,
  whereClicks,
  whereOwn,
} from "./plan.ts";
import type { AnalyticsQuery } from "./query-resolver.ts";
import {
  type AccountBreakdownResponse,
  type AccountSummary,
  completeFrom,
  type LinkName,
  percentageOf,
} from "./responses.ts";

/** Dimensions that are columns of `clicks`. */
type BreakdownColumn = ColumnFilter | "link" | "target";

/**
 * Returns clicks by dimension; links with their names. Throws `invalid_request` for an invalid
 * cursor, and for too many dimensions or links.
 */
export async function readBreakdown(
  links: LinkService,
  reader: Reader,
  query: AnalyticsQuery,
  { by, limit, starting_after }: BreakdownRequest,
): Promise<AccountBreakdownResponse> {
  const property = LINK_PROPERTIES.find((name) => by.includes(name));
  if (property !== undefined) {
    if (by.length > 1 || starting_after !== undefined)
      throw invalidField(
        "by",
        `"${property}" cannot be combined with another dimension or with a cursor`,
      );
    return await readPropertyValues(links, query, property, limit);
  }
  const columns = by.filter((name) => name !== "tag" && name !== "domain");
  const page = await readColumnValues(query, columns, limit, starting_after);
  const ids = page.data.flatMap(({ values }) => values["link"] ?? []);
  const nameOf = await readLinkNames(links, reader, ids);
  const data = page.data.map((row) => {
    const id = row.values["link"];
    return id === undefined ? row : { ...row, link: nameOf(id) };
  });
  return { ...page, data };
}

/** The counts of values, keyed by column, on a page. */
type ValuesPage = {
  rows: { values: Record<string, string>; clicks: number; unique_clicks: number }[];
  /** Clicks of all values, including those on other pages. */
  total: number;
  /** Where the next page begins; null on the last one. */
  next_cursor: string | null;
};

const toResponse = (
  { range }: AnalyticsQuery,
  by: readonly string[],
  { rows, total, next_cursor }: ValuesPage,
): AccountBreakdownResponse => ({
  period: range.period,
  by: [...by],
  total_clicks: total,
  data: rows.map(({ values: { link_id, ...values }, clicks, unique_clicks }) => ({
    values: link_id === undefined ? values : { ...values, link: encodeId("link", link_id) },
    clicks,
    unique_clicks,
    percentage: percentageOf(clicks, total),
  })),
  next_cursor,
  ...completeFrom(range),
});

// ---- By columns

/** The columns of a dimension: a region or city is unique only within its country or region. */
const columnsOf = (dimension: BreakdownColumn): readonly string[] => {
  if (dimension === "link") return ["link_id"];
  if (dimension === "region") return ["country", "region"];
  return dimension === "city" ? ["country", "region", "city"] : [dimension];
};

/** The clicks and the values of the last row of a page. */
type Cursor = { clicks: number; values: string[] };

const cursorSchema: z.ZodType<Cursor> = z.object({
  clicks: z.int().min(0),
  values: z.array(z.string()).max(6),
});

/** A row has the columns as `c0`, `c1` … */
type ValuesRow = Record<`c${number}`, string> & { clicks: string; visitors: string; total: string };

/**
 * Returns the values of columns with the most clicks; ties sort by value. Returns none for a range
 * whose clicks have been deleted. Throws `invalid_request` for an invalid cursor.
 */
export async function readColumnValues(
  query: AnalyticsQuery,
  by: readonly BreakdownColumn[],
  limit: number,
  startingAfter?: string,
): Promise<AccountBreakdownResponse> {
  const cursor = readCursor(cursorSchema, startingAfter);
  const columns = [...new Set(by.flatMap(columnsOf))];
  if (cursor !== undefined && cursor.values.length !== columns.length)
    throw invalidField("starting_after", "belongs to other dimensions");
  const totalOf = ([first]: readonly ValuesRow[]) => Number(first?.total ?? 0);
  const rows = await readWithVisitors<ValuesRow>(
    query,
    fromRawClicks((visitors) => selectValues(query, columns, visitors, cursor !== undefined)),
    {
      limit: limit + 1,
      after_clicks: cursor?.clicks ?? 0,
      ...Object.fromEntries((cursor?.values ?? []).map((value, i) => [`after_${i}`, value])),
    },
    totalOf,
  );
  const valuesOf = (row: ValuesRow) => columns.map((_, i) => row[`c${i}`] ?? "");
  const { rows: page, next } = cutPart(rows, limit, (row): Cursor => ({
    clicks: Number(row.clicks),
    values: valuesOf(row),
  }));
  return toResponse(query, by, {
    rows: page.map((row) => ({
      values: Object.fromEntries(
        valuesOf(row).map((value, i) => [columns[i], toShownValue(columns[i] ?? "", value)]),
      ),
      clicks: Number(row.clicks),
      unique_clicks: Number(row.visitors),
    })),
    total: totalOf(rows),
    next_cursor: writeNext(next),
  });
}

/** Column names are constants, so they need no escaping. */
function selectValues(
  query: AnalyticsQuery,
  columns: readonly string[],
  visitors: string,
  continues: boolean,
): string {
  const names = columns.map((_, i) => `c${i}`);
  const after = names.map((_, i) => `{after_${i}: String}`);
  return `
    SELECT ${names.join(", ")}, clicks, visitors, total
      FROM (
        SELECT ${columns.map((column, i) => `toString(${column}) AS c${i}`).join(", ")},
               count() AS clicks, ${visitors} AS visitors, sum(count()) OVER () AS total
          FROM clicks
         WHERE ${whereClicks(query)} AND ${RAW_RANGE} AND ${IN_CLASSES}
         GROUP BY ${names.join(", ")}
      )
     ${continues ? `WHERE clicks < {after_clicks: UInt64} OR clicks = {after_clicks: UInt64} AND (${names.join(", ")}) > (${after.join(", ")})` : ""}
     ORDER BY clicks DESC, ${names.join(", ")}
     LIMIT {limit: UInt32}`;
}

// ---- By properties of links, which PostgreSQL stores

/** Maximum links of one query: each is a row of ClickHouse's response. */
const LINKS_MAX = 100_000;

type LinkCounts = { link_id: Uuid; counted: string; visitors: string };

/**
 * Returns the tags or domains with the most clicks; ties sort by name. A click counts for every tag
 * of its link. Visitors are distinct per link, so those of several links are added up. Throws
 * `invalid_request` beyond {@link LINKS_MAX} links with clicks.
 */
async function readPropertyValues(
  links: LinkService,
  query: AnalyticsQuery,
  property: LinkProperty,
  limit: number,
): Promise<AccountBreakdownResponse> {
  const totalOf = (rows: readonly LinkCounts[]) =>
    rows.reduce((sum, { counted }) => sum + Number(counted), 0);
  const counts = await readWithVisitors<LinkCounts>(
    query,
    fromRawClicks(
      (visitors) => `
        SELECT link_id, count() AS counted, ${visitors} AS visitors
          FROM clicks
         WHERE ${whereClicks(query)} AND ${RAW_RANGE} AND ${IN_CLASSES}
         GROUP BY link_id
         LIMIT {link_limit: UInt32}`,
    ),
    { link_limit: LINKS_MAX + 1 },
    totalOf,
  );
  if (counts.length > LINKS_MAX) {
    throw new ApiError(
      "invalid_request",
      `More than ${LINKS_MAX} links have clicks in this period: choose a shorter one, or filter.`,
    );
  }
  const ids = counts.map(({ link_id }) => link_id);
  const properties = await links.getProperties(query.reader, ids);
  const sums = new Map<string, { clicks: number; unique_clicks: number }>();
  for (const { link_id, counted, visitors } of counts) {
    const { tags = [], domain = "" } = properties.get(link_id) ?? {};
    for (const name of property === "tag" ? tags : [domain]) {
      const sum = sums.get(name) ?? { clicks: 0, unique_clicks: 0 };
      sum.clicks += Number(counted);
      sum.unique_clicks += Number(visitors);
      sums.set(name, sum);
    }
  }
  const rows = [...sums]
    .toSorted(
      ([a, { clicks }], [b, other]) => other.clicks - clicks || (a < b ? -1 : Number(a > b)),
    )
    .slice(0, limit)
    .map(([name, sum]) => ({ values: { [property]: name }, ...sum }));
  return toResponse(query, [property], { rows, total: totalOf(counts), next_cursor: null });
}

// The links of an account with the most clicks, and the names of links: ClickHouse stores neither
// their short URLs nor their titles.

/** The caller; names of links need the scope `links:read`. */
export type Reader = ClicksReader & { scopes: readonly string[] };

const NO_NAME: LinkName = { short_url: null, title: null };

/** Reads the names of the links with these ids, in one statement. */
export async function readLinkNames(
  links: LinkService,
  reader: Reader,
  ids: readonly string[],
): Promise<(id: string) => LinkName> {
  if (ids.length === 0 || !reader.scopes.includes("links:read")) return () => NO_NAME;
  const uuids = ids.flatMap((id) => decodeId("link", id) ?? []);
  const found = await links.getNames(reader, uuids);
  const names = new Map([...found].map(([uuid, name]) => [encodeId("link", uuid), name]));
  return (id) => names.get(id) ?? NO_NAME;
}

/** Returns the links of the account with the most clicks, with their names; ties sort by id. */
export async function readTopLinks(
  links: LinkService,
  reader: Reader,
  query: AnalyticsQuery,
  limit: number,
): Promise<AccountSummary["top_links"]> {
  const range = roundUpToQuarter(query.range);
  const isRaw = needsRawClicks(query) || (hasRawClicks(range) && !isOfQuarters(range));
  const rows = await readRows<{ link_id: Uuid; clicks: string }>(
    { ...query, range },
    `SELECT link_id, sum(rows.clicks) AS clicks
       FROM (${isRaw ? selectRawClicks(query) : selectFromRollups(query)}) AS rows
      GROUP BY link_id
      ORDER BY clicks DESC, link_id
      LIMIT {limit: UInt32}`,
    { limit, ...dayParams(splitDays({ ...range, rawFrom: -Infinity })) },
  );
  const top = rows.map((row) => ({
    link_id: encodeId("link", row.link_id),
    clicks: Number(row.clicks),
  }));
  const nameOf = await readLinkNames(
    links,
    reader,
    top.map(({ link_id }) => link_id),
  );
  return top.map(({ link_id, clicks }) => ({ link_id, ...nameOf(link_id), clicks }));
}

const isOfQuarters = ({ from, to }: Span): boolean =>
  from % QUARTER_MS === 0 && to % QUARTER_MS === 0;

/** Raw clicks with the columns of the rollups. */
const selectRawClicks = (query: AnalyticsQuery): string => `
  SELECT link_id, 1 AS clicks FROM clicks
   WHERE ${allOf(whereClicks(query), RAW_RANGE, IN_CLASSES)}`;

/** Whole UTC days, and the edges of the range by quarter hour. */
const selectFromRollups = (query: AnalyticsQuery): string => `
  SELECT link_id, clicks FROM clicks_1d_of_account WHERE ${whereOwn(query)} AND ${IN_DAYS}
  UNION ALL
  SELECT link_id, clicks FROM clicks_15m_of_account
   WHERE class = 'human' AND ${whereOwn(query)} AND ${BUCKET_RANGE} AND NOT (${IN_DAYS})`;
