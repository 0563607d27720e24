/** Analytics of links and accounts: resolves owner and range, then queries ClickHouse. */
import type { ClickChunks, ClickHouse } from "../../shared/clicks/query.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { ClicksReader } from "../clickhouse.ts";
import type { Confirm } from "../http/principal.ts";
import type {
  AccountBreakdownResponse,
  AccountDevicesResponse,
  AccountGeoResponse,
  AccountReferrersResponse,
  AccountTimesResponse,
} from "./breakdown-model.ts";
import { breakDownDevices, breakDownGeo, breakDownReferrers } from "./breakdown-responses.ts";
import type { BulkBody } from "./bulk-model.ts";
import { countRequested } from "./bulk-response.ts";
import { exploreNamed, exploreTimes } from "./explore.ts";
import type { FilterQuery } from "./filter-parameters.ts";
import { type Condition, EVERY_CLASS } from "./filters.ts";
import type { Reader } from "./link-names.ts";
import type { LiveClicks } from "./live.ts";
import type {
  AccountBreakdownQuery,
  AccountQuery,
  AnalyticsQuery,
  GeoQuery,
  ReferrersQuery,
  SummaryQuery,
} from "./model.ts";
import { accountClicks } from "./scopes.ts";
import { resolveMatcher } from "./selection.ts";
import type { QueryRange } from "./sources.ts";
import { resolveClicks, resolveLinkClicks, type Subject, type SubjectDeps } from "./subject.ts";
import { breakdownCompleteFrom, incomplete } from "./summary.ts";
import { countTargets, type TargetsResponse } from "./targets.ts";
import { countAccount, countOverTime, readOverview } from "./totals.ts";

/** The client of a stream. */
type StreamClient = { request: Pick<Request, "headers" | "signal">; confirm: Confirm };

type AnalyticsServiceDeps = SubjectDeps & {
  live: Pick<LiveClicks, "open">;
};

export type AnalyticsService = ReturnType<typeof createAnalyticsService>;

/**
 * Creates the queries. Each throws `not_found` for a link that the owner does not have,
 * `invalid_request`, and `rate_limited` for an account that has used up its time.
 */
export const createAnalyticsService = (deps: AnalyticsServiceDeps) => ({
  ...createCounts(deps),
  ...createBreakdowns(deps),
  ...createClickReads(deps),
});

/** Totals, over time or by link. */
const createCounts = (deps: SubjectDeps) => ({
  /** Returns totals and time series. */
  summary: async (owner: ClicksReader, subject: Subject, query: SummaryQuery) =>
    await countOverTime(query, await resolveClicks(deps, owner, subject, query)),

  /** As `summary` for all links of an account, with the links with the most clicks. */
  account: (reader: Reader, query: AccountQuery) => countAccount(deps, reader, query),

  /** As `summary`, with the top values of each dimension. */
  overview: (
    owner: ClicksReader,
    subject: Subject,
    query: SummaryQuery,
    options: Parameters<typeof readOverview>[4],
  ) => readOverview(deps, owner, subject, query, options),

  /** Returns when people clicked. */
  async times(
    owner: ClicksReader,
    subject: Subject,
    query: AnalyticsQuery,
  ): Promise<AccountTimesResponse> {
    const clicks = await resolveClicks(deps, owner, subject, query);
    return { ...(await exploreTimes(clicks.clickhouse, clicks, query)), ...clicks.complete };
  },

  /** Returns counts of many links; lists links that the owner does not have in `errors`. */
  bulk: (owner: ClicksReader, body: BulkBody) => countRequested(deps, owner, body),
});

/** Clicks by what is known of them. */
const createBreakdowns = (deps: SubjectDeps) => ({
  /** Breaks clicks down by location. */
  async geo(owner: ClicksReader, subject: Subject, query: GeoQuery): Promise<AccountGeoResponse> {
    const { clickhouse, scope, range, selection } = await resolveClicks(
      deps,
      owner,
      subject,
      query,
    );
    return {
      ...(await breakDownGeo(clickhouse, scope, range, query)),
      ...breakdownCompleteFrom(range, selection),
    };
  },

  /** Breaks clicks down by device, browser and system. */
  async devices(
    owner: ClicksReader,
    subject: Subject,
    query: AnalyticsQuery,
  ): Promise<AccountDevicesResponse> {
    const { clickhouse, scope, range, selection } = await resolveClicks(
      deps,
      owner,
      subject,
      query,
    );
    return {
      ...(await breakDownDevices(clickhouse, scope, range)),
      ...breakdownCompleteFrom(range, selection),
    };
  },

  /** Breaks clicks down by referrer. */
  async referrers(
    owner: ClicksReader,
    subject: Subject,
    query: ReferrersQuery,
  ): Promise<AccountReferrersResponse> {
    const { clickhouse, scope, range, selection } = await resolveClicks(
      deps,
      owner,
      subject,
      query,
    );
    const referrers = await breakDownReferrers(clickhouse, scope, range, query.limit);
    return { ...referrers, ...breakdownCompleteFrom(range, selection) };
  },

  /** Breaks clicks down by one or two dimensions. */
  async breakdown(
    reader: Reader,
    subject: Subject,
    query: AccountBreakdownQuery,
  ): Promise<AccountBreakdownResponse> {
    const clicks = await resolveClicks(deps, reader, subject, query);
    const page = await exploreNamed(clicks.clickhouse, deps.links, reader, clicks, query);
    return { ...page, ...incomplete(clicks.range) };
  },

  /** Counts a link's clicks by rule and arm. */
  async targets(
    owner: ClicksReader,
    id: Uuid | undefined,
    query: AnalyticsQuery,
  ): Promise<TargetsResponse> {
    const { clickhouse, row, scope, range } = await resolveLinkClicks(deps, owner, id, query);
    const data = await countTargets(clickhouse, row, scope, range);
    return { link_id: encodeId("link", row.id), data, ...incomplete(range) };
  },
});

/** The single clicks that a query covers, of one link or of all, and where they are read. */
type ClicksToRead = {
  clickhouse: ClickHouse & ClickChunks;
  scope: Condition;
  range: QueryRange;
  link: Uuid | undefined;
};

/** Single clicks. */
const createClickReads = (deps: AnalyticsServiceDeps) => ({
  /**
   * Streams new clicks of a link, of all classes unless a filter names some, as server-sent events.
   * Throws also `quota_exceeded` and `unavailable`.
   */
  async live(
    owner: ClicksReader,
    id: Uuid | undefined,
    { request, confirm }: StreamClient,
    query: FilterQuery,
  ): Promise<ReadableStream<Uint8Array>> {
    const link = await deps.links.get(owner, id);
    const matches = await resolveMatcher(deps.links, owner, link.id, ofEveryClass(query));
    return await deps.live.open({
      matches,
      owner,
      linkId: link.id,
      lastEventId: request.headers.get("last-event-id"),
      confirm,
      signal: request.signal,
    });
  },

  /**
   * Resolves the single clicks that a query covers: of one `link` or of all, and of all classes
   * unless a filter names some.
   */
  async selectClicks(
    owner: ClicksReader,
    linkId: string | undefined,
    query: AnalyticsQuery,
  ): Promise<ClicksToRead> {
    const link = linkId === undefined ? undefined : decodeId("link", linkId);
    const subject = linkId === undefined ? "account" : { link };
    const clicks = await resolveClicks(deps, owner, subject, ofEveryClass(query));
    const { clickhouse, range, selection } = clicks;
    const scope = subject === "account" ? accountClicks(owner, selection) : clicks.scope;
    return { clickhouse, scope, range, link };
  },
});
/** Selects clicks of all classes, unless the query names some. */
const ofEveryClass = <Query extends FilterQuery>(query: Query) => ({
  ...query,
  class: query.class ?? EVERY_CLASS,
});
