/** Analytics of links and accounts: resolves owner and range, then queries ClickHouse. */
import type { ClickChunks, ClickHouse } from "../../shared/clicks/query.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { LinkService } from "../links/service.ts";
import { backtestRules } from "./backtest/backtest.ts";
import type { Backtest, BacktestBody } from "./backtest/model.ts";
import { breakDownDevices, breakDownGeo, breakDownReferrers } from "./breakdown-responses.ts";
import { countMany, type LinkCounts } from "./bulk.ts";
import { exploreAccount, exploreColumns, exploreTimes } from "./explore.ts";
import type { ColumnFilter } from "./filter-names.ts";
import type { FilterQuery } from "./filter-parameters.ts";
import { type Condition, EVERY_CLASS } from "./filters.ts";
import { type Reader, readLinkNames } from "./link-names.ts";
import type { LiveClicks } from "./live.ts";
import type {
  AccountBreakdownQuery,
  AccountBreakdownResponse,
  AccountDevicesResponse,
  AccountGeoResponse,
  AccountQuery,
  AccountReferrersResponse,
  AccountSummary,
  AccountTimesResponse,
  AnalyticsQuery,
  BreakdownQuery,
  BreakdownResponse,
  BulkBody,
  BulkResponse,
  DevicesResponse,
  GeoQuery,
  GeoResponse,
  ReferrersQuery,
  ReferrersResponse,
  Summary,
  SummaryQuery,
  TimesResponse,
} from "./model.ts";
import { type PeriodQuery, resolveRange } from "./period.ts";
import { countAccountClicks, countClicks, findTopLinks } from "./queries.ts";
import { accountClicks, accountScope, linkScope } from "./scopes.ts";
import { resolveMatcher, resolveSelection } from "./selection.ts";
import { LOW_VOLUME_CLICKS, type QueryRange } from "./sources.ts";
import { completeFrom, countSummary, incomplete, rollupOf } from "./summary.ts";
import { countTargets, type TargetsResponse } from "./targets.ts";
import { needsSingleClicks, readTopValues } from "./top-values.ts";

const DAY_MS = 86_400_000;

const NO_CLICKS: LinkCounts = { clicks: 0, unique_clicks: 0, top_countries: [] };

/** Whether a caller is still authorised; long-lived streams re-check it. */
export type IsAlive = (caller: { callerId: Uuid; accountId: Uuid }) => Promise<boolean>;

type AnalyticsServiceDeps = {
  clickhouse: ClickHouse & ClickChunks;
  links: LinkService;
  live: Pick<LiveClicks, "open">;
  isAlive: IsAlive;
  /** Days for which raw clicks are retained; 0 keeps them for ever. */
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
  function resolveQueryRange(
    query: PeriodQuery,
    createdAt: number,
    now: number,
  ): QueryRange & { now: number } {
    const range = resolveRange(query, createdAt, now);
    const rawFrom = clicksRetentionDays === 0 ? -Infinity : now - clicksRetentionDays * DAY_MS;
    return { ...range, rawFrom, now };
  }

  /** Returns totals and time series of a link; throws `not_found` and `invalid_request`. */
  async function summary(
    owner: AccountScope,
    id: Uuid | undefined,
    query: SummaryQuery,
  ): Promise<Summary> {
    const { link, range, link_id, selection } = await resolveLink(owner, id, query);
    const countIn = (within: QueryRange) => countClicks(clickhouse, link, within, selection);
    return { link_id, ...(await countSummary(query, range, selection, countIn)) };
  }

  async function resolveAccountRange(owner: AccountScope, query: PeriodQuery) {
    const now = Date.now();
    return resolveQueryRange(query, (await links.getFirstCreationTime(owner)) ?? now, now);
  }

  /** As {@link summary} for all links of an account, with the ids of the top links; throws `invalid_request`. */
  async function accountSummary(owner: AccountScope, { limit, ...query }: AccountQuery) {
    const [range, selection] = await Promise.all([
      resolveAccountRange(owner, query),
      resolveSelection(links, owner, query),
    ]);
    const countIn = (within: QueryRange) =>
      countAccountClicks(clickhouse, owner, within, selection);
    const [series, top] = await Promise.all([
      countSummary(query, range, selection, countIn),
      findTopLinks(clickhouse, owner, range, limit, selection),
    ]);
    const top_links = top.map(({ link_id, clicks }) => ({
      link_id: encodeId("link", link_id),
      clicks,
    }));
    return { ...series, top_links };
  }

  /** As {@link accountSummary}, with names of the top links. */
  async function account(reader: Reader, query: AccountQuery): Promise<AccountSummary> {
    const counted = await accountSummary(reader, query);
    const ids = counted.top_links.map(({ link_id }) => link_id);
    const nameOf = await readLinkNames(links, reader, ids);
    const top_links = counted.top_links.map(({ link_id, clicks }) => ({
      link_id,
      ...nameOf(link_id),
      clicks,
    }));
    return { ...counted, top_links };
  }

  /**
   * Streams new clicks of a link, of all classes unless a filter names some, as server-sent events; throws `not_found`, `quota_exceeded` and
   * `unavailable`.
   */
  async function live(
    owner: AccountScope & { callerId: Uuid },
    id: Uuid | undefined,
    request: Pick<Request, "headers" | "signal">,
    query: FilterQuery,
  ): Promise<ReadableStream<Uint8Array>> {
    const link = await links.get(owner, id);
    const classified = { ...query, class: query.class ?? EVERY_CLASS };
    const matches = await resolveMatcher(links, owner, link.id, classified);
    return await liveClicks.open({
      matches,
      owner,
      linkId: link.id,
      lastEventId: request.headers.get("last-event-id"),
      isAuthorized: () => isAlive(owner),
      signal: request.signal,
    });
  }

  async function resolveLink(owner: AccountScope, id: Uuid | undefined, query: AnalyticsQuery) {
    const row = await links.get(owner, id);
    const selection = await resolveSelection(links, owner, query);
    const range = resolveQueryRange(query, row.created_at.getTime(), Date.now());
    const link = { id: row.id, lowVolume: row.clicks < LOW_VOLUME_CLICKS };
    return { row, link, range, selection, link_id: encodeId("link", link.id) };
  }

  /** Returns counts of many links; lists links that the owner does not have in `errors`. */
  async function bulk(
    owner: AccountScope,
    { link_ids, period, metrics, filters = {} }: BulkBody,
  ): Promise<BulkResponse> {
    const requested = link_ids.map((text) => ({ text, uuid: decodeId("link", text) }));
    const [created, selection] = await Promise.all([
      links.getCreationTimes(
        owner,
        requested.flatMap(({ uuid }) => uuid ?? []),
      ),
      resolveSelection(links, owner, filters, "filters."),
    ]);
    const now = Date.now();
    const range = resolveQueryRange({ period }, Math.min(now, ...created.values()), now);
    const counted = await countMany(clickhouse, [...created.keys()], range, selection);
    const response: BulkResponse = { data: [], ...completeFrom(range, selection) };
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
  async function resolveLinkScope(
    owner: AccountScope,
    id: Uuid | undefined,
    query: AnalyticsQuery,
  ) {
    const { row, link, range, selection, link_id } = await resolveLink(owner, id, query);
    const scope = linkScope(link, selection);
    const complete = completeFrom(range, selection);
    const rollup = rollupOf("clicks_15m", range, selection);
    return { row, range, scope, link_id, complete, rollup };
  }

  /**
   * Resolves the single clicks that a query covers: of one `link` or of all, and of all classes
   * unless a filter names some. Throws `not_found` and `invalid_request`.
   */
  async function selectClicks(
    owner: AccountScope,
    linkId: string | undefined,
    query: AnalyticsQuery,
  ): Promise<{ scope: Condition; range: QueryRange; link: Uuid | undefined }> {
    const classified = { ...query, class: query.class ?? EVERY_CLASS };
    if (linkId !== undefined) {
      const { row, scope, range } = await resolveLinkScope(
        owner,
        decodeId("link", linkId),
        classified,
      );
      return { scope, range, link: row.id };
    }
    const [range, selection] = await Promise.all([
      resolveAccountRange(owner, classified),
      resolveSelection(links, owner, classified),
    ]);
    return { scope: accountClicks(owner, selection), range, link: undefined };
  }

  async function resolveAccountScope(owner: AccountScope, query: AnalyticsQuery) {
    const [range, selection] = await Promise.all([
      resolveAccountRange(owner, query),
      resolveSelection(links, owner, query),
    ]);
    const scope = accountScope(owner, range, selection);
    const complete = completeFrom(range, selection);
    const rollup = rollupOf("clicks_15m_of_account", range, selection);
    return { range, scope, complete, rollup };
  }

  /**
   * Returns totals, time series and the top values of each dimension, of a link or (`id` is null) of an account; throws as
   * {@link summary}.
   */
  async function overview(
    owner: AccountScope,
    id: Uuid | null,
    query: SummaryQuery,
    { dimensions, limit }: { dimensions: readonly ColumnFilter[]; limit: number },
  ) {
    const selected =
      id === null
        ? await resolveAccountScope(owner, query)
        : await resolveLinkScope(owner, id, query);
    const [series, breakdowns] = await Promise.all([
      id === null ? accountSummary(owner, { ...query, limit: 1 }) : summary(owner, id, query),
      readTopValues(clickhouse, selected, dimensions, limit),
    ]);
    const { period, summary: totals, clicks_over_time } = series;
    const complete = needsSingleClicks(dimensions) ? incomplete(selected.range) : {};
    return { period, summary: totals, clicks_over_time, breakdowns, ...complete };
  }

  return {
    summary,
    account,
    overview,
    live,
    bulk,
    selectClicks,

    /** Breaks down a link's clicks by location; throws as {@link summary}. */
    async geo(owner: AccountScope, id: Uuid | undefined, query: GeoQuery): Promise<GeoResponse> {
      const { scope, range, link_id, complete } = await resolveLinkScope(owner, id, query);
      return { link_id, ...(await breakDownGeo(clickhouse, scope, range, query)), ...complete };
    },

    /** Breaks down a link's clicks by device, browser and system; throws as {@link summary}. */
    async devices(
      owner: AccountScope,
      id: Uuid | undefined,
      query: AnalyticsQuery,
    ): Promise<DevicesResponse> {
      const { scope, range, link_id, complete } = await resolveLinkScope(owner, id, query);
      return { link_id, ...(await breakDownDevices(clickhouse, scope, range)), ...complete };
    },

    /** Counts a link's clicks by rule and arm; throws as {@link summary}. */
    async targets(
      owner: AccountScope,
      id: Uuid | undefined,
      query: AnalyticsQuery,
    ): Promise<TargetsResponse> {
      const { row, scope, range, link_id } = await resolveLinkScope(owner, id, query);
      const data = await countTargets(clickhouse, row, scope, range);
      return { link_id, data, ...incomplete(range) };
    },

    /** Runs rules over a link's clicks; throws as {@link summary}, and `invalid_url`. */
    async backtest(
      owner: AccountScope,
      id: Uuid | undefined,
      { rules, ...query }: BacktestBody,
    ): Promise<Backtest> {
      const { range, link_id, link } = await resolveLink(owner, id, query);
      const tested = await backtestRules(clickhouse, link.id, rules, range);
      return { link_id, ...incomplete(range), ...tested };
    },

    /** Breaks down a link's clicks by referrer; throws as {@link summary}. */
    async referrers(
      owner: AccountScope,
      id: Uuid | undefined,
      query: ReferrersQuery,
    ): Promise<ReferrersResponse> {
      const { scope, range, link_id, complete } = await resolveLinkScope(owner, id, query);
      return {
        link_id,
        ...(await breakDownReferrers(clickhouse, scope, range, query.limit)),
        ...complete,
      };
    },

    /** Breaks down a link's clicks by one or two dimensions; throws as {@link summary}. */
    async breakdown(
      owner: AccountScope,
      id: Uuid | undefined,
      query: BreakdownQuery,
    ): Promise<BreakdownResponse> {
      const { link_id, ...selected } = await resolveLinkScope(owner, id, query);
      const page = await exploreColumns(clickhouse, selected, query);
      return { link_id, ...page, ...incomplete(selected.range) };
    },

    async accountBreakdown(
      reader: Reader,
      query: AccountBreakdownQuery,
    ): Promise<AccountBreakdownResponse> {
      const selected = await resolveAccountScope(reader, query);
      const page = await exploreAccount(clickhouse, links, reader, selected, query);
      const ids = page.data.flatMap(({ values }) => values["link"] ?? []);
      const nameOf = await readLinkNames(links, reader, ids);
      const data = page.data.map((row) => {
        const id = row.values["link"];
        return id === undefined ? row : { ...row, link: nameOf(id) };
      });
      return { ...page, data, ...incomplete(selected.range) };
    },

    /** Returns when people clicked a link; throws as {@link summary}. */
    async times(
      owner: AccountScope,
      id: Uuid | undefined,
      query: AnalyticsQuery,
    ): Promise<TimesResponse> {
      const { link_id, complete, ...selected } = await resolveLinkScope(owner, id, query);
      return { link_id, ...(await exploreTimes(clickhouse, selected, query)), ...complete };
    },

    async accountTimes(owner: AccountScope, query: AnalyticsQuery): Promise<AccountTimesResponse> {
      const { complete, ...selected } = await resolveAccountScope(owner, query);
      return { ...(await exploreTimes(clickhouse, selected, query)), ...complete };
    },

    /** The same breakdowns for all links of an account; they throw `invalid_request`. */
    async accountGeo(owner: AccountScope, query: GeoQuery): Promise<AccountGeoResponse> {
      const { scope, range, complete } = await resolveAccountScope(owner, query);
      return { ...(await breakDownGeo(clickhouse, scope, range, query)), ...complete };
    },

    async accountDevices(
      owner: AccountScope,
      query: AnalyticsQuery,
    ): Promise<AccountDevicesResponse> {
      const { scope, range, complete } = await resolveAccountScope(owner, query);
      return { ...(await breakDownDevices(clickhouse, scope, range)), ...complete };
    },

    async accountReferrers(
      owner: AccountScope,
      query: ReferrersQuery,
    ): Promise<AccountReferrersResponse> {
      const { scope, range, complete } = await resolveAccountScope(owner, query);
      return { ...(await breakDownReferrers(clickhouse, scope, range, query.limit)), ...complete };
    },
  };
}
