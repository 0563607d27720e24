/** Analytics of links and accounts: resolves owner and range, then queries ClickHouse. */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { LinkService } from "../links/service.ts";
import { breakDownDevices, breakDownGeo, breakDownReferrers } from "./breakdown-responses.ts";
import { accountScope, linkScope } from "./breakdowns.ts";
import { countMany, type LinkCounts } from "./bulk.ts";
import type { LiveClicks } from "./live.ts";
import type {
  AccountDevicesResponse,
  AccountGeoResponse,
  AccountQuery,
  AccountReferrersResponse,
  AccountSummary,
  BulkBody,
  BulkResponse,
  DevicesResponse,
  GeoQuery,
  GeoResponse,
  ReferrersQuery,
  ReferrersResponse,
  Summary,
} from "./model.ts";
import { type PeriodQuery, type Range, resolveRange } from "./period.ts";
import { countAccountClicks, countClicks, findTopLinks, type SummaryCounts } from "./queries.ts";
import { LOW_VOLUME_CLICKS, type QueryRange } from "./sources.ts";

const DAY_MS = 86_400_000;

const NO_CLICKS: LinkCounts = { clicks: 0, unique_clicks: 0, top_countries: [] };

/** Whether a caller is still authorised; long-lived streams re-check it. */
export type IsAlive = (caller: { callerId: Uuid; accountId: Uuid }) => Promise<boolean>;

type AnalyticsServiceDeps = {
  clickhouse: ClickHouse;
  links: LinkService;
  live: Pick<LiveClicks, "open">;
  isAlive: IsAlive;
  /** Days for which raw clicks are retained; 0 for ever. */
  clicksRetentionDays: number;
};

export type AnalyticsService = ReturnType<typeof createAnalyticsService>;

export function createAnalyticsService({
  clickhouse,
  links,
  live: liveClicks,
  isAlive,
  clicksRetentionDays,
}: AnalyticsServiceDeps) {
  /** Resolves a range; `all` starts at `createdAt`. Throws `invalid_request`. */
  function resolveQueryRange(query: PeriodQuery, createdAt: number, now: number): QueryRange {
    const range = resolveRange(query, createdAt, now);
    const rawFrom = clicksRetentionDays === 0 ? -Infinity : now - clicksRetentionDays * DAY_MS;
    return { ...range, rawFrom };
  }

  /** Returns totals and time series of a link; throws `not_found` and `invalid_request`. */
  async function summary(
    owner: AccountScope,
    id: Uuid | undefined,
    query: PeriodQuery,
  ): Promise<Summary> {
    const { link, range, link_id } = await resolveLink(owner, id, query);
    return { link_id, ...toTimeSeries(range, await countClicks(clickhouse, link, range)) };
  }

  async function resolveAccountRange(owner: AccountScope, query: PeriodQuery): Promise<QueryRange> {
    const now = Date.now();
    return resolveQueryRange(query, (await links.getFirstCreationTime(owner)) ?? now, now);
  }

  /** As {@link summary} for all links of an account, with the top links; throws `invalid_request`. */
  async function account(
    owner: AccountScope,
    { limit, ...query }: AccountQuery,
  ): Promise<AccountSummary> {
    const range = await resolveAccountRange(owner, query);
    const [counts, top] = await Promise.all([
      countAccountClicks(clickhouse, owner, range),
      findTopLinks(clickhouse, owner, range, limit),
    ]);
    const top_links = top.map(({ link_id, clicks }) => ({
      link_id: encodeId("link", link_id),
      clicks,
    }));
    return { ...toTimeSeries(range, counts), top_links };
  }

  /**
   * Streams new clicks of a link as server-sent events; throws `not_found`, `quota_exceeded` and
   * `unavailable`.
   */
  async function live(
    owner: AccountScope & { callerId: Uuid },
    id: Uuid | undefined,
    request: Pick<Request, "headers" | "signal">,
  ): Promise<ReadableStream<Uint8Array>> {
    const link = await links.get(owner, id);
    return await liveClicks.open({
      owner,
      linkId: link.id,
      lastEventId: request.headers.get("last-event-id"),
      isAuthorized: () => isAlive(owner),
      signal: request.signal,
    });
  }

  async function resolveLink(owner: AccountScope, id: Uuid | undefined, query: PeriodQuery) {
    const row = await links.get(owner, id);
    const range = resolveQueryRange(query, row.created_at.getTime(), Date.now());
    const link = { id: row.id, lowVolume: row.clicks < LOW_VOLUME_CLICKS };
    return { link, range, link_id: encodeId("link", link.id) };
  }

  /** Returns counts of many links; lists links that the owner does not have in `errors`. */
  async function bulk(
    owner: AccountScope,
    { link_ids, period, metrics }: BulkBody,
  ): Promise<BulkResponse> {
    const requested = link_ids.map((text) => ({ text, uuid: decodeId("link", text) }));
    const created = await links.getCreationTimes(
      owner,
      requested.flatMap(({ uuid }) => uuid ?? []),
    );
    const now = Date.now();
    const range = resolveQueryRange({ period }, Math.min(now, ...created.values()), now);
    const counted = await countMany(clickhouse, [...created.keys()], range);
    const response: BulkResponse = { data: [] };
    for (const { text, uuid } of requested) {
      if (uuid === undefined || !created.has(uuid)) {
        response.errors ??= [];
        response.errors.push({
          link_id: text,
          code: "not_found",
          message: "The link does not exist.",
        });
        continue;
      }
      const counts = counted.get(uuid) ?? NO_CLICKS;
      const values = Object.fromEntries(metrics.map((metric) => [metric, counts[metric]]));
      response.data.push({ link_id: text, ...values });
    }
    return response;
  }

  /** Resolves the clicks to break down and their range; throws as {@link summary}. */
  async function resolveLinkScope(owner: AccountScope, id: Uuid | undefined, query: PeriodQuery) {
    const { link, range, link_id } = await resolveLink(owner, id, query);
    return { range, scope: linkScope(link), link_id };
  }

  async function resolveAccountScope(owner: AccountScope, query: PeriodQuery) {
    const range = await resolveAccountRange(owner, query);
    return { range, scope: accountScope(owner, range) };
  }

  return {
    summary,
    account,
    live,
    bulk,

    /** Breaks down a link's clicks by location; throws as {@link summary}. */
    async geo(owner: AccountScope, id: Uuid | undefined, query: GeoQuery): Promise<GeoResponse> {
      const { scope, range, link_id } = await resolveLinkScope(owner, id, query);
      return { link_id, ...(await breakDownGeo(clickhouse, scope, range, query)) };
    },

    /** Breaks down a link's clicks by device, browser and system; throws as {@link summary}. */
    async devices(
      owner: AccountScope,
      id: Uuid | undefined,
      query: PeriodQuery,
    ): Promise<DevicesResponse> {
      const { scope, range, link_id } = await resolveLinkScope(owner, id, query);
      return { link_id, ...(await breakDownDevices(clickhouse, scope, range)) };
    },

    /** Breaks down a link's clicks by referrer; throws as {@link summary}. */
    async referrers(
      owner: AccountScope,
      id: Uuid | undefined,
      query: ReferrersQuery,
    ): Promise<ReferrersResponse> {
      const { scope, range, link_id } = await resolveLinkScope(owner, id, query);
      return { link_id, ...(await breakDownReferrers(clickhouse, scope, range, query.limit)) };
    },

    /** The same breakdowns for all links of an account; they throw `invalid_request`. */
    async accountGeo(owner: AccountScope, query: GeoQuery): Promise<AccountGeoResponse> {
      const { scope, range } = await resolveAccountScope(owner, query);
      return await breakDownGeo(clickhouse, scope, range, query);
    },

    async accountDevices(owner: AccountScope, query: PeriodQuery): Promise<AccountDevicesResponse> {
      const { scope, range } = await resolveAccountScope(owner, query);
      return await breakDownDevices(clickhouse, scope, range);
    },

    async accountReferrers(
      owner: AccountScope,
      query: ReferrersQuery,
    ): Promise<AccountReferrersResponse> {
      const { scope, range } = await resolveAccountScope(owner, query);
      return await breakDownReferrers(clickhouse, scope, range, query.limit);
    },
  };
}

/** Totals, and a time series that includes the buckets without clicks. */
const toTimeSeries = ({ period, days, buckets }: Range, counts: SummaryCounts) => ({
  period,
  summary: {
    total_clicks: counts.total.clicks,
    unique_clicks: counts.total.unique,
    avg_daily_clicks: Math.round(counts.total.clicks / days),
    bot_clicks: counts.total.bots,
    prefetch_clicks: counts.total.prefetches,
  },
  clicks_over_time: buckets.map(({ label, start }) => ({
    date: label,
    clicks: counts.buckets.get(start)?.clicks ?? 0,
    unique: counts.buckets.get(start)?.unique ?? 0,
  })),
});
