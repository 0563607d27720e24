/**
 * The links of an account with the most clicks, and the names of links: ClickHouse stores neither
 * their short URLs nor their titles.
 */
import { DAY_MS } from "../../shared/durations.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { ClicksReader } from "../clickhouse.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Span } from "./period.ts";
import {
  allOf,
  type Days,
  hasRawClicks,
  IN_CLASSES,
  needsRawClicks,
  QUARTER_MS,
  RAW_RANGE,
  readRows,
  type RetainedSpan,
  toSeconds,
  whereClicks,
  whereOwn,
} from "./plan.ts";
import type { AnalyticsQuery } from "./query-resolver.ts";
import type { AccountSummary, LinkName } from "./responses.ts";

/** The caller; names of links need the scope `links:read`. */
export type Reader = ClicksReader & { scopes: readonly string[] };

/** Where names of links are read: of those that the owner has. */
export interface LinkNames {
  getNames(owner: AccountScope, ids: readonly Uuid[]): Promise<ReadonlyMap<Uuid, LinkName>>;
}

const NO_NAME: LinkName = { short_url: null, title: null };

/** Reads the names of the links with these ids, in one statement. */
export async function readLinkNames(
  links: LinkNames,
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
  links: LinkNames,
  reader: Reader,
  query: AnalyticsQuery,
  limit: number,
): Promise<AccountSummary["top_links"]> {
  const days = needsRawClicks(query) ? undefined : splitQuarters(query.range);
  const rows = await readRows<{ link_id: Uuid; clicks: string }>(
    query,
    `SELECT link_id, sum(rows.clicks) AS clicks
       FROM (${days === undefined ? selectRawClicks(query) : selectFromRollups(query)}) AS rows
      GROUP BY link_id
      ORDER BY clicks DESC, link_id
      LIMIT {limit: UInt32}`,
    { limit, ...(days === undefined ? {} : toParams(query.range, days)) },
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

/**
 * Splits a range into whole UTC days and its edges, which rollups by quarter hour provide;
 * undefined when raw clicks must be read.
 */
function splitQuarters(range: RetainedSpan): Days | undefined {
  const { from, to } = range;
  if (hasRawClicks(range) && (from % QUARTER_MS !== 0 || to % QUARTER_MS !== 0)) return undefined;
  const dayFrom = Math.ceil(from / DAY_MS) * DAY_MS;
  const dayTo = Math.floor(to / DAY_MS) * DAY_MS;
  // A range within one day consists of edges only.
  return dayFrom < dayTo ? { dayFrom, dayTo } : { dayFrom: to, dayTo: to };
}

/** Raw clicks with the columns of the rollups. */
const selectRawClicks = (query: AnalyticsQuery): string => `
  SELECT link_id, 1 AS clicks FROM clicks
   WHERE ${allOf(whereClicks(query), RAW_RANGE, IN_CLASSES)}`;

const selectFromRollups = (query: AnalyticsQuery): string => `
  SELECT link_id, clicks FROM clicks_1d_of_account WHERE ${whereOwn(query)}
     AND bucket >= toDateTime({day_from: UInt32}, 'UTC') AND bucket < toDateTime({day_to: UInt32}, 'UTC')
  UNION ALL
  SELECT link_id, clicks FROM clicks_15m_of_account WHERE class = 'human' AND ${whereOwn(query)}
     AND bucket >= toDateTime({from_seconds: UInt32}, 'UTC') AND bucket < toDateTime({to_seconds: UInt32}, 'UTC')
     AND (bucket < toDateTime({day_from: UInt32}, 'UTC') OR bucket >= toDateTime({day_to: UInt32}, 'UTC'))`;

const toParams = ({ from, to }: Span, { dayFrom, dayTo }: Days) => ({
  from_seconds: toSeconds(from),
  to_seconds: toSeconds(to),
  day_from: toSeconds(dayFrom),
  day_to: toSeconds(dayTo),
});
