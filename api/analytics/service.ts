/** Answers questions about the clicks of a link its asker owns. */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { LinkService } from "../links/service.ts";
import { devicesOf, geoOf, referrersOf } from "./breakdown-answers.ts";
import { ofAccount, ofLink } from "./breakdowns.ts";
import { type BulkFigures, countMany } from "./bulk.ts";
import { liveClicks } from "./live.ts";
import type {
  AccountDevicesAnswer,
  AccountGeoAnswer,
  AccountQuery,
  AccountReferrersAnswer,
  AccountSummary,
  BulkAnswer,
  BulkBody,
  DevicesAnswer,
  GeoAnswer,
  GeoQuery,
  ReferrersAnswer,
  ReferrersQuery,
  Summary,
} from "./model.ts";
import { type PeriodQuery, type Range, resolveRange } from "./period.ts";
import { countAccountClicks, countClicks, type SummaryCounts, topLinks } from "./queries.ts";
import { type AskedRange, FEW_CLICKS } from "./sources.ts";

/** Whose links may be asked about. */
type Owner = Parameters<LinkService["get"]>[0];

const DAY_MS = 86_400_000;

const NO_CLICKS: BulkFigures = { clicks: 0, unique_clicks: 0, top_countries: [] };

/** Whether a caller may still read: what goes on for long asks again. */
export type IsAlive = (caller: { callerId: Uuid; accountId: Uuid }) => Promise<boolean>;

type AnalyticsServiceDeps = {
  clickhouse: ClickHouse;
  links: LinkService;
  /** Whether a key may still be used. */
  isAlive: IsAlive;
  /** For how many days single clicks are kept; 0 for ever. */
  clicksRetentionDays: number;
};

export type AnalyticsService = ReturnType<typeof createAnalyticsService>;

export function createAnalyticsService({
  clickhouse,
  links,
  isAlive,
  clicksRetentionDays,
}: AnalyticsServiceDeps) {
  /** Throws `invalid_request`. `createdAt` is where all begins. */
  function rangeAt(query: PeriodQuery, createdAt: number, now: number): AskedRange {
    const range = resolveRange(query, createdAt, now);
    const keptFrom = clicksRetentionDays === 0 ? -Infinity : now - clicksRetentionDays * DAY_MS;
    return { ...range, held: range.from >= keptFrom };
  }

  /** Totals and time series of a link; throws `not_found` and `invalid_request`. */
  async function summary(owner: Owner, id: Uuid | undefined, query: PeriodQuery): Promise<Summary> {
    const { link, range, link_id } = await rangeOf(owner, id, query);
    return { link_id, ...overTime(range, await countClicks(clickhouse, link, range)) };
  }

  async function accountRange(owner: Owner, query: PeriodQuery): Promise<AskedRange> {
    const now = Date.now();
    return rangeAt(query, (await links.firstCreatedAt(owner)) ?? now, now);
  }

  /** The same of all links of an account, and those with the most clicks; throws `invalid_request`. */
  async function account(owner: Owner, { limit, ...query }: AccountQuery): Promise<AccountSummary> {
    const range = await accountRange(owner, query);
    const [counts, top] = await Promise.all([
      countAccountClicks(clickhouse, owner, range),
      topLinks(clickhouse, owner, range, limit),
    ]);
    const top_links = top.map(({ link_id, clicks }) => ({
      link_id: encodeId("link", link_id),
      clicks,
    }));
    return { ...overTime(range, counts), top_links };
  }

  /** The clicks of a link as they come, as the text of server-sent events; throws `not_found`. */
  async function live(
    owner: Owner & { callerId: Uuid },
    id: Uuid | undefined,
    lastEventId: string | null,
  ) {
    const link = await links.get(owner, id);
    return liveClicks({
      clickhouse,
      linkId: link.id,
      lastEventId,
      mayRead: () => isAlive(owner),
      now: Date.now,
    });
  }

  async function rangeOf(owner: Owner, id: Uuid | undefined, query: PeriodQuery) {
    const found = await links.get(owner, id);
    const range = rangeAt(query, found.created_at.getTime(), Date.now());
    const link = { id: found.id, few: found.clicks < FEW_CLICKS };
    return { link, range, link_id: encodeId("link", link.id) };
  }

  /** Figures of several links; what is not the owner's is named in `errors`. */
  async function bulk(owner: Owner, { link_ids, period, metrics }: BulkBody): Promise<BulkAnswer> {
    const asked = link_ids.map((text) => ({ text, uuid: decodeId("link", text) }));
    const created = await links.createdAt(
      owner,
      asked.flatMap(({ uuid }) => uuid ?? []),
    );
    const now = Date.now();
    const range = rangeAt({ period }, Math.min(now, ...created.values()), now);
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

  /** What is broken down of a link, over the range of a query; throws as {@link summary}. */
  async function broken(owner: Owner, id: Uuid | undefined, query: PeriodQuery) {
    const { link, range, link_id } = await rangeOf(owner, id, query);
    return { range, subject: ofLink(link), link_id };
  }

  async function brokenAccount(owner: Owner, query: PeriodQuery) {
    const range = await accountRange(owner, query);
    return { range, subject: ofAccount(owner, range) };
  }

  return {
    summary,
    account,
    live,
    bulk,

    /** Where a link's clicks came from; throws as {@link summary}. */
    async geo(owner: Owner, id: Uuid | undefined, query: GeoQuery): Promise<GeoAnswer> {
      const { subject, range, link_id } = await broken(owner, id, query);
      return { link_id, ...(await geoOf(clickhouse, subject, range, query)) };
    },

    /** What a link's clicks were made with; throws as {@link summary}. */
    async devices(owner: Owner, id: Uuid | undefined, query: PeriodQuery): Promise<DevicesAnswer> {
      const { subject, range, link_id } = await broken(owner, id, query);
      return { link_id, ...(await devicesOf(clickhouse, subject, range)) };
    },

    /** From which sites a link's clicks came; throws as {@link summary}. */
    async referrers(
      owner: Owner,
      id: Uuid | undefined,
      query: ReferrersQuery,
    ): Promise<ReferrersAnswer> {
      const { subject, range, link_id } = await broken(owner, id, query);
      return { link_id, ...(await referrersOf(clickhouse, subject, range, query.limit)) };
    },

    /** The same three of all links of an account; they throw `invalid_request`. */
    async accountGeo(owner: Owner, query: GeoQuery): Promise<AccountGeoAnswer> {
      const { subject, range } = await brokenAccount(owner, query);
      return await geoOf(clickhouse, subject, range, query);
    },

    async accountDevices(owner: Owner, query: PeriodQuery): Promise<AccountDevicesAnswer> {
      const { subject, range } = await brokenAccount(owner, query);
      return await devicesOf(clickhouse, subject, range);
    },

    async accountReferrers(owner: Owner, query: ReferrersQuery): Promise<AccountReferrersAnswer> {
      const { subject, range } = await brokenAccount(owner, query);
      return await referrersOf(clickhouse, subject, range, query.limit);
    },
  };
}

/** Totals and an axis on which no bucket is missing. */
const overTime = ({ period, days, buckets }: Range, counts: SummaryCounts) => ({
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
