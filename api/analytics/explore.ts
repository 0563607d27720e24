/** Breakdowns by any dimension, and the times of clicks, from the clicks that filters select. */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { readCursor } from "../http/cursor.ts";
import { invalidField } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { LinkService } from "../links/service.ts";
import {
  breakDownBy,
  type BreakdownColumn,
  breakdownCursor,
  type BreakdownPage,
} from "./breakdown-by.ts";
import type { AccountBreakdownResponse, AccountTimesResponse } from "./breakdown-model.ts";
import type { BreakdownScope } from "./dimensions.ts";
import { type Reader, readLinkNames } from "./link-names.ts";
import { breakDownByProperty, LINK_PROPERTIES, type LinkProperty } from "./link-totals.ts";
import type { AccountBreakdownQuery, AnalyticsQuery, BreakdownQuery } from "./model.ts";
import { resolveOffsets } from "./period.ts";
import type { QueryRange } from "./sources.ts";
import { readTimes, type TimesScope } from "./times.ts";

/** The clicks of a link or an account that a query selects. */
export type SelectedClicks = {
  scope: BreakdownScope;
  range: QueryRange;
  /** Whether a rollup by quarter hour can be used instead of raw clicks. */
  rollup: TimesScope["rollup"];
};

/** Breaks clicks down by columns; throws `invalid_request` for an invalid cursor. */
export async function exploreColumns(
  clickhouse: ClickHouse,
  { scope, range }: SelectedClicks,
  {
    by,
    limit,
    starting_after,
  }: Pick<BreakdownQuery, "limit" | "starting_after"> & {
    by: readonly BreakdownColumn[];
  },
): Promise<AccountBreakdownResponse> {
  const cursor = readCursor(breakdownCursor, starting_after);
  const page = await breakDownBy(clickhouse, scope, range, by, { limit, cursor });
  return toResponse(range, by, page);
}

/**
 * As {@link exploreColumns}. The clicks of an account can also be broken down by link, with its
 * name, and by tag and domain.
 */
export async function exploreNamed(
  clickhouse: ClickHouse,
  links: Pick<LinkService, "getProperties" | "getNames">,
  reader: Reader,
  selected: SelectedClicks,
  query: AccountBreakdownQuery,
): Promise<AccountBreakdownResponse> {
  const page = await exploreAny(clickhouse, links, reader, selected, query);
  const ids = page.data.flatMap(({ values }) => values["link"] ?? []);
  const nameOf = await readLinkNames(links, reader, ids);
  const data = page.data.map((row) => {
    const id = row.values["link"];
    return id === undefined ? row : { ...row, link: nameOf(id) };
  });
  return { ...page, data };
}

async function exploreAny(
  clickhouse: ClickHouse,
  links: Pick<LinkService, "getProperties">,
  owner: AccountScope,
  selected: SelectedClicks,
  query: AccountBreakdownQuery,
): Promise<AccountBreakdownResponse> {
  const { by, limit, starting_after } = query;
  const property = LINK_PROPERTIES.find((name) => by.includes(name));
  if (property === undefined) {
    const columns = by.filter((name) => name !== "tag" && name !== "domain");
    return await exploreColumns(clickhouse, selected, { by: columns, limit, starting_after });
  }
  if (by.length > 1 || starting_after !== undefined) {
    throw invalidField("by", `"${property}" stands alone, on one page`);
  }
  return await exploreProperty(clickhouse, links, owner, selected, property, limit);
}

async function exploreProperty(
  clickhouse: ClickHouse,
  links: Pick<LinkService, "getProperties">,
  owner: AccountScope,
  { scope, range }: SelectedClicks,
  property: LinkProperty,
  limit: number,
): Promise<AccountBreakdownResponse> {
  const readProperties = (ids: readonly Uuid[]) => links.getProperties(owner, ids);
  const page = await breakDownByProperty(clickhouse, scope, range, property, limit, readProperties);
  return toResponse(range, [property], page);
}

const toResponse = (
  { period }: Pick<QueryRange, "period">,
  by: readonly string[],
  { rows, total, next_cursor }: BreakdownPage,
): AccountBreakdownResponse => ({
  period,
  by: [...by],
  total_clicks: total,
  data: rows.map(({ values: { link_id, ...values }, clicks, unique_clicks }) => ({
    values: link_id === undefined ? values : { ...values, link: encodeId("link", link_id) },
    clicks,
    unique_clicks,
    percentage: Math.round((clicks / total) * 1_000) / 10,
  })),
  next_cursor,
});

/**
 * Returns the first and the last click, and clicks by weekday and hour; throws `invalid_request`.
 */
export async function exploreTimes(
  clickhouse: ClickHouse,
  { scope, range, rollup }: SelectedClicks,
  query: AnalyticsQuery,
): Promise<AccountTimesResponse> {
  const offsets = resolveOffsets(query, range);
  const times = await readTimes(clickhouse, { ...scope, rollup }, range, offsets);
  return {
    period: range.period,
    first_click_at: times.first === undefined ? null : new Date(times.first).toISOString(),
    last_click_at: times.last === undefined ? null : new Date(times.last).toISOString(),
    heatmap: times.heatmap,
  };
}
