/**
 * Reads analytics. A route parses the request (`model.ts`); here it passes the other stages: it is
 * resolved to a query (`query-resolver.ts`), which tables to read is planned (`plan.ts`), and their
 * rows are shaped into the response, in one file for each kind of request.
 */
import type { ClickTarget } from "../../shared/contracts/click-record.ts";
import { DAY_SECONDS, HOUR_MS, HOUR_SECONDS } from "../../shared/durations.ts";
import { decodeId, encodeId, formatUuid, type Uuid } from "../../shared/ids.ts";
import type { ClicksClient, ClicksReader, ClicksSource } from "../clickhouse.ts";
import { notFound } from "../http/errors.ts";
import type { Confirm } from "../http/principal.ts";
import type { LinkRow } from "../links/model.ts";
import type { LinkService } from "../links/service.ts";
import { readBreakdown, readColumnValues, type Reader, readTopLinks } from "./breakdown.ts";
import { readLinks } from "./bulk.ts";
import { EVERY_CLASS, type FilterQuery } from "./filters.ts";
import type { LiveClicks } from "./live.ts";
import type {
  AccountRequest,
  BreakdownRequest,
  BulkBody,
  ClicksRequest,
  GeoRequest,
  ReferrersRequest,
  SummaryRequest,
} from "./model.ts";
import { readOverTime } from "./over-time.ts";
import { type Offset, type PeriodQuery, resolveOffsets } from "./period.ts";
import {
  BUCKET_RANGE,
  hasRawClicks,
  IN_CLASSES,
  needsRawClicks,
  paramsOf,
  QUARTER_MS,
  RAW_RANGE,
  readRows,
  type RetainedSpan,
  selectsLinks,
  tableOf,
  whereClicks,
  whereOwn,
} from "./plan.ts";
import { type AnalyticsQuery, QueryResolver, type Subject } from "./query-resolver.ts";
import {
  type AccountBreakdownResponse,
  type AccountDevicesResponse,
  type AccountGeoResponse,
  type AccountReferrersResponse,
  type AccountSummary,
  type AccountTimesResponse,
  type BulkResponse,
  completeFrom,
  type Summary,
  type TargetsResponse,
} from "./responses.ts";
import {
  type OverviewRequest,
  readDevices,
  readGeo,
  readOverviewValues,
  readReferrers,
} from "./top-values.ts";

type StreamClient = { request: Request; confirm: Confirm };

/** A WHERE clause with its parameters. */
export type Condition = { condition: string; params: Record<string, unknown> };

/** The raw clicks that a request selects, of one link or of all, and where they are read. */
export type SelectedClicks = {
  clickhouse: ClicksClient;
  where: Condition;
  range: RetainedSpan;
  link: Uuid | undefined;
};

/**
 * A method for each route. Each throws `not_found` for a link that the reader does not have,
 * `invalid_request`, and `rate_limited` for an account that has used up its time.
 */
export class AnalyticsService {
  readonly #queries: QueryResolver;
  readonly #links: LinkService;
  readonly #live: LiveClicks;

  /** Raw clicks are retained for `clicksRetentionDays`; 0 keeps them for ever. */
  constructor(
    clickhouse: ClicksSource,
    links: LinkService,
    live: LiveClicks,
    clicksRetentionDays: number,
  ) {
    this.#queries = new QueryResolver(clickhouse, links, clicksRetentionDays);
    this.#links = links;
    this.#live = live;
  }

  /** Returns totals and a time series. */
  async summary(reader: ClicksReader, subject: Subject, request: SummaryRequest): Promise<Summary> {
    const query = await this.#queries.resolve(reader, subject, request);
    return await readOverTime(query, request);
  }

  /** As `summary` for all links of an account, with the links with the most clicks. */
  async account(reader: Reader, request: AccountRequest): Promise<AccountSummary> {
    const query = await this.#queries.resolve(reader, "account", request);
    const [summary, top_links] = await Promise.all([
      readOverTime(query, request),
      readTopLinks(this.#links, reader, query, request.limit),
    ]);
    // Those of the links may need raw clicks where the summary does not, as for clicks of bots.
    return { ...summary, top_links, ...completeFrom(query.range, needsRawClicks(query)) };
  }

  /** As `summary` without a comparison, with the top values of dimensions. */
  async overview(
    reader: ClicksReader,
    subject: Subject,
    request: ClicksRequest,
    values: OverviewRequest,
  ) {
    const query = await this.#queries.resolve(reader, subject, request);
    const [{ period, summary, clicks_over_time }, breakdowns] = await Promise.all([
      readOverTime(query, request),
      readOverviewValues(query, values),
    ]);
    return { period, summary, clicks_over_time, ...breakdowns };
  }

  async geo(
    reader: ClicksReader,
    subject: Subject,
    request: GeoRequest,
  ): Promise<AccountGeoResponse> {
    return await readGeo(await this.#queries.resolve(reader, subject, request), request);
  }

  /** Returns clicks by device, browser and system. */
  async devices(
    reader: ClicksReader,
    subject: Subject,
    request: ClicksRequest,
  ): Promise<AccountDevicesResponse> {
    return await readDevices(await this.#queries.resolve(reader, subject, request));
  }

  async referrers(
    reader: ClicksReader,
    subject: Subject,
    request: ReferrersRequest,
  ): Promise<AccountReferrersResponse> {
    return await readReferrers(await this.#queries.resolve(reader, subject, request), request);
  }

  /** Returns clicks by one or two dimensions. */
  async breakdown(
    reader: Reader,
    subject: Subject,
    request: BreakdownRequest,
  ): Promise<AccountBreakdownResponse> {
    const query = await this.#queries.resolve(reader, subject, request);
    return await readBreakdown(this.#links, reader, query, request);
  }

  /** Returns when people clicked. */
  async times(
    reader: ClicksReader,
    subject: Subject,
    request: ClicksRequest,
  ): Promise<AccountTimesResponse> {
    return await readTimes(await this.#queries.resolve(reader, subject, request), request);
  }

  /** Returns a link's clicks by rule and arm. */
  async targets(
    reader: ClicksReader,
    link: Uuid | undefined,
    request: ClicksRequest,
  ): Promise<TargetsResponse> {
    const query = await this.#queries.resolve(reader, { link }, request);
    if (query.subject === "account" || !("link" in query.subject)) throw notFound("link");
    const { subject } = query;
    const targets = await readTargets(query, subject.link);
    return { link_id: encodeId("link", subject.link.id), ...targets };
  }

  /** Returns counts of many links; lists links that the reader does not have in `errors`. */
  async bulk(reader: ClicksReader, body: BulkBody): Promise<BulkResponse> {
    const ids = body.link_ids.flatMap((id) => decodeId("link", id) ?? []);
    return await readLinks(await this.#queries.resolveLinks(reader, ids, body), body);
  }

  /**
   * Streams new clicks of a link, of all classes unless a filter names some, as server-sent events.
   * Throws also `quota_exceeded` and `unavailable`.
   */
  async live(
    owner: ClicksReader,
    id: Uuid | undefined,
    { request, confirm }: StreamClient,
    filters: FilterQuery,
  ): Promise<ReadableStream<Uint8Array>> {
    const link = await this.#links.find(owner, id);
    const matches = await this.#queries.resolveMatcher(owner, link.id, ofEveryClass(filters));
    return await this.#live.open({
      matches,
      owner,
      linkId: link.id,
      lastEventId: request.headers.get("last-event-id"),
      confirm,
      signal: request.signal,
    });
  }

  /**
   * Resolves the raw clicks that a question is about: of one link or of all, and of all classes
   * unless a filter names some.
   */
  async selectClicks(
    reader: ClicksReader,
    linkId: string | undefined,
    request: ClicksRequest,
  ): Promise<SelectedClicks> {
    const link = linkId === undefined ? undefined : decodeId("link", linkId);
    const subject = linkId === undefined ? "account" : { link };
    const query = await this.#queries.resolve(reader, subject, ofEveryClass(request));
    const where = { condition: whereOwn(query), params: paramsOf(query) };
    return { clickhouse: query.clickhouse, where, range: query.range, link };
  }
}

/** Selects clicks of all classes, unless the filters name some. */
const ofEveryClass = <Request extends FilterQuery>(request: Request): Request => ({
  ...request,
  class: request.class ?? EVERY_CLASS,
});

/** More than the rules and arms of any link in practice; those with the most clicks come first. */
const TARGETS_MAX = 1_000;

/**
 * Returns the clicks of the query's link by target: the destination that its rules and arms chose.
 * Reads raw clicks, while they are retained.
 */
async function readTargets(
  query: AnalyticsQuery,
  link: LinkRow,
): Promise<Omit<TargetsResponse, "link_id">> {
  const page = await readColumnValues(query, ["target"], TARGETS_MAX);
  const { rules = [], split } = link.extras ?? {};
  const known = new Map([...rules, ...(split?.arms ?? [])].map((each) => [each.id, each]));
  const data = page.data.map(({ values: { target = "" }, clicks, unique_clicks, percentage }) => ({
    ...describe(target, known, link.original_url),
    clicks,
    unique_clicks,
    percentage,
  }));
  return { data, ...completeFrom(query.range) };
}

/** Destination and label of a rule or an arm. */
type Known = { url: string; label?: string | undefined };

function describe(target: string, known: ReadonlyMap<string, Known>, ownUrl: string) {
  if (target === "") return { kind: "default" as const, id: null, label: null, url: ownUrl };
  const kind: ClickTarget["kind"] = target.startsWith("arm:") ? "arm" : "rule";
  const id = encodeId(kind, formatUuid(target.slice(target.indexOf(":") + 1)));
  const { label = null, url = null } = known.get(id) ?? {};
  return { kind, id, label, url };
}

// When people click: the first and the last click of a range, and clicks by weekday and hour of the
// time zone.

const DAYS = 7;
const HOURS = 24;

/** 1 January 1970 was a Thursday, three days after a Monday. */
const EPOCH_WEEKDAY = 3;

/** An hour of the week; instants are Unix milliseconds. */
type Cell = { cell: number; counted: string; first: string; last: string };

/** Returns when people clicked, in the time zone of the request; throws `invalid_request`. */
async function readTimes(
  query: AnalyticsQuery,
  request: PeriodQuery,
): Promise<AccountTimesResponse> {
  const offsets = resolveOffsets(request, query.range);
  const rollup = rollupOf(query, offsets);
  const cells = await readRows<Cell>(query, selectCells(query, rollup), {
    starts: offsets.map(({ from }) => Math.floor(from / 1_000)),
    offsets: offsets.map(({ seconds }) => seconds),
  });
  const heatmap = Array.from({ length: DAYS }, () => Array.from({ length: HOURS }, () => 0));
  let [first, last] = [Infinity, -Infinity];
  for (const { cell, counted, ...instants } of cells) {
    const day = heatmap[Math.floor(cell / HOURS)];
    if (day !== undefined) day[cell % HOURS] = Number(counted);
    first = Math.min(first, Number(instants.first));
    last = Math.max(last, Number(instants.last));
  }
  if (cells.length > 0 && rollup !== undefined)
    ({ first, last } = await readExactEnds(query, rollup.bucketMs, first, last));
  const toText = (ms: number) => (cells.length === 0 ? null : new Date(ms).toISOString());
  return {
    period: query.range.period,
    first_click_at: toText(first),
    last_click_at: toText(last),
    heatmap,
    ...completeFrom(query.range, query.filters.columns.size > 0),
  };
}

type Rollup = { table: string; where: string; bucketMs: number };

/**
 * The rollup whose buckets each lie in one local hour; undefined if raw clicks are needed. Of an
 * account without filters, rows by the hour are those of all links together.
 */
function rollupOf(query: AnalyticsQuery, offsets: readonly Offset[]): Rollup | undefined {
  const { subject, range, filters, selected } = query;
  if (filters.columns.size > 0 || tableOf({ ...range, buckets: [] }) === "clicks") return undefined;
  const boundaries = [range.from, range.to, ...offsets.slice(1).map(({ from }) => from)];
  const isByHour =
    hasRawClicks(range) &&
    [...boundaries, ...offsets.map(({ seconds }) => seconds * 1_000)].every(
      (ms) => ms % HOUR_MS === 0,
    );
  const [name, bucketMs] = isByHour ? ["clicks_1h", HOUR_MS] : ["clicks_15m", QUARTER_MS];
  return subject !== "account" || selectsLinks(selected)
    ? { table: name, where: whereClicks(query), bucketMs }
    : { table: `${name}_of_account`, where: whereOwn(query), bucketMs };
}

/** Local time is UTC plus the offset in force. */
const selectCells = (query: AnalyticsQuery, rollup: Rollup | undefined): string => `
  SELECT toUInt32((intDiv(local, ${DAY_SECONDS}) + ${EPOCH_WEEKDAY}) % ${DAYS} * ${HOURS} + intDiv(local % ${DAY_SECONDS}, ${HOUR_SECONDS})) AS cell,
         sum(weight) AS counted, min(at) AS first, max(at) AS last
    FROM (
      SELECT ${rollup === undefined ? "toUnixTimestamp64Milli(ts) AS at, 1 AS weight" : "toInt64(toUnixTimestamp(bucket)) * 1000 AS at, clicks AS weight"},
             intDiv(at, 1000) AS seconds,
             seconds + {offsets: Array(Int64)}[indexOf({starts: Array(Int64)}, roundDown(seconds, {starts: Array(Int64)}))] AS local
        FROM ${rollup?.table ?? "clicks"}
       WHERE ${rollup?.where ?? whereClicks(query)} AND ${rollup === undefined ? RAW_RANGE : BUCKET_RANGE} AND ${IN_CLASSES}
    )
   GROUP BY cell`;

/**
 * Reads the first and the last click, in Unix milliseconds, within the first and the last bucket
 * that has clicks. A deleted click counts as the start of its bucket.
 */
async function readExactEnds(query: AnalyticsQuery, bucketMs: number, first: number, last: number) {
  const part = `(bucket < fromUnixTimestamp64Milli({first_end: Int64})
     OR bucket >= fromUnixTimestamp64Milli({last: Int64}))`;
  const [exact] = await readRows<{ first: string; last: string; counted: string }>(
    query,
    `SELECT toUnixTimestamp64Milli(min(ts)) AS first, toUnixTimestamp64Milli(max(ts)) AS last, count() AS counted
       FROM clicks
      WHERE ${whereClicks(query, { anyClass: true, part })} AND ${IN_CLASSES} AND ${RAW_RANGE}
        AND (ts < fromUnixTimestamp64Milli({first_end: Int64}) OR ts >= fromUnixTimestamp64Milli({last: Int64}))`,
    { first_end: first + bucketMs, last },
  );
  if (exact === undefined || exact.counted === "0") return { first, last };
  const isRetained = first >= query.range.rawFrom;
  return { first: isRetained ? Number(exact.first) : first, last: Number(exact.last) };
}
