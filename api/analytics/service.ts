/** Answers questions about the clicks of a link its asker owns. */
import type { ClickHouseClient } from "@clickhouse/client";

import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { LinkService } from "../links/service.ts";
import { breakDown, countryName, type Dimension, orUnknown } from "./breakdowns.ts";
import { type BulkFigures, countMany } from "./bulk.ts";
import type {
  BulkAnswer,
  BulkBody,
  DevicesAnswer,
  GeoAnswer,
  GeoQuery,
  ReferrersAnswer,
  ReferrersQuery,
  Summary,
} from "./model.ts";
import { type PeriodQuery, resolveRange } from "./period.ts";
import { countClicks } from "./queries.ts";

/** Whose links may be asked about. */
type Owner = Parameters<LinkService["get"]>[0];

/** Devices, browsers and systems are few: all are told. */
const ALL_VALUES = 1_000;

const NO_CLICKS: BulkFigures = { clicks: 0, unique_clicks: 0, top_countries: [] };

type AnalyticsServiceDeps = { clickhouse: ClickHouseClient; links: LinkService };

export type AnalyticsService = ReturnType<typeof createAnalyticsService>;

export function createAnalyticsService({ clickhouse, links }: AnalyticsServiceDeps) {
  /** Totals and time series of a link; throws `not_found` and `invalid_request`. */
  async function summary(owner: Owner, id: Uuid | undefined, query: PeriodQuery): Promise<Summary> {
    const { link, range, link_id } = await rangeOf(owner, id, query);
    const { total, buckets } = await countClicks(clickhouse, link.id, range);
    return {
      link_id,
      period: range.period,
      summary: {
        total_clicks: total.clicks,
        unique_clicks: total.unique,
        avg_daily_clicks: Math.round(total.clicks / range.days),
        bot_clicks: total.bots,
      },
      clicks_over_time: range.buckets.map(({ label, start }) => ({
        date: label,
        clicks: buckets.get(start)?.clicks ?? 0,
        unique: buckets.get(start)?.unique ?? 0,
      })),
    };
  }

  async function rangeOf(owner: Owner, id: Uuid | undefined, query: PeriodQuery) {
    const link = await links.get(owner, id);
    const range = resolveRange(query, link.created_at.getTime(), Date.now());
    return { link, range, link_id: encodeId("link", link.id) };
  }

  /** Where a link's clicks came from; throws as {@link summary}. */
  async function geo(owner: Owner, id: Uuid | undefined, query: GeoQuery): Promise<GeoAnswer> {
    const { link, range, link_id } = await rangeOf(owner, id, query);
    const { group_by, limit } = query;
    if (group_by === "country") {
      const rows = await breakDown(clickhouse, link.id, range, ["country"], limit);
      const data = rows.map((row) => ({ ...row, country_name: countryName(row.country) }));
      return { link_id, group_by, data };
    }
    const columns: Dimension[] =
      group_by === "city" ? ["city", "region", "country"] : ["region", "region_name", "country"];
    const rows = await breakDown(clickhouse, link.id, range, columns, limit);
    const data = rows.map(({ city, region, region_name, ...row }) => ({
      ...(group_by === "city"
        ? { city: orUnknown(city), region: orUnknown(region) }
        : { region: orUnknown(region), region_name: orUnknown(region_name) }),
      ...row,
    }));
    return { link_id, group_by, data };
  }

  /** What a link's clicks were made with; throws as {@link summary}. */
  async function devices(
    owner: Owner,
    id: Uuid | undefined,
    query: PeriodQuery,
  ): Promise<DevicesAnswer> {
    const { link, range, link_id } = await rangeOf(owner, id, query);
    const [byDevice, byBrowser, byOs] = await Promise.all([
      breakDown(clickhouse, link.id, range, ["device"], ALL_VALUES),
      breakDown(clickhouse, link.id, range, ["browser"], ALL_VALUES),
      breakDown(clickhouse, link.id, range, ["os"], ALL_VALUES),
    ]);
    return {
      link_id,
      devices: byDevice.map(({ device, ...figures }) => ({ type: device, ...figures })),
      browsers: byBrowser.map(({ browser, ...figures }) => ({ name: browser, ...figures })),
      os: byOs.map(({ os, ...figures }) => ({ name: os, ...figures })),
    };
  }

  /** From which sites a link's clicks came; throws as {@link summary}. */
  async function referrers(
    owner: Owner,
    id: Uuid | undefined,
    query: ReferrersQuery,
  ): Promise<ReferrersAnswer> {
    const { link, range, link_id } = await rangeOf(owner, id, query);
    const rows = await breakDown(clickhouse, link.id, range, ["referrer"], query.limit);
    return {
      link_id,
      referrers: rows.map(({ referrer, ...figures }) => ({ source: referrer, ...figures })),
    };
  }

  /** Figures of several links; what is not the owner's is named in `errors`. */
  async function bulk(owner: Owner, { link_ids, period, metrics }: BulkBody): Promise<BulkAnswer> {
    const asked = link_ids.map((text) => ({ text, uuid: decodeId("link", text) }));
    const created = await links.createdAt(
      owner,
      asked.flatMap(({ uuid }) => uuid ?? []),
    );
    const now = Date.now();
    const range = resolveRange({ period }, Math.min(now, ...created.values()), now);
    const counted = await countMany(clickhouse, [...created.keys()], range);
    const answer: BulkAnswer = { data: [] };
    for (const { text, uuid } of asked) {
      if (uuid === undefined || !created.has(uuid)) {
        answer.errors ??= [];
        answer.errors.push({
          link_id: text,
          code: "not_found",
          message: "The link does not exist.",
        });
        continue;
      }
      const found = counted.get(uuid) ?? NO_CLICKS;
      const wanted = Object.fromEntries(metrics.map((metric) => [metric, found[metric]]));
      answer.data.push({ link_id: text, ...wanted });
    }
    return answer;
  }

  return { summary, geo, devices, referrers, bulk };
}
