/**
 * Resolves a question to a query: whose clicks it is about, and which of them. Tags and domains are
 * looked up in PostgreSQL, which knows the links that have them now.
 */
import { DAY_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { ClicksClient, ClicksReader, ClicksSource } from "../clickhouse.ts";
import type { AccountScope } from "../http/principal.ts";
import type { LinkRow } from "../links/model.ts";
import type { LinkService } from "../links/service.ts";
import {
  type ClickValues,
  type FilterQuery,
  type Filters,
  groupFilters,
  matchesFilters,
} from "./filters.ts";
import type { BulkBody, ClicksRequest } from "./model.ts";
import { type PeriodQuery, type Range, resolveRange } from "./period.ts";

/** One link of the caller's account, or all links of the account. */
export type Subject = { link: Uuid | undefined } | "account";

/**
 * A range with the instant from which all raw clicks are retained, and the time of the query, both
 * in Unix milliseconds.
 */
export type QueryRange = Range & { rawFrom: number; now: number };

/** Clicks of links in `anyOf` are counted, of all if it is undefined; none of links in `noneOf`. */
export type LinkSets = { anyOf: readonly Uuid[] | undefined; noneOf: readonly Uuid[] };

/**
 * A resolved question. The next stages read it: they plan which tables to read, query
 * them, and shape the response. The same question about another range is a copy with that range.
 */
export type AnalyticsQuery = {
  reader: ClicksReader;
  /** Where clicks are read, within the time that the reader's account has. */
  clickhouse: ClicksClient;
  /** Whose clicks are counted: of one link, of several, or of all, also of deleted ones. */
  subject: { link: LinkRow } | { links: readonly Uuid[] } | "account";
  range: QueryRange;
  filters: Filters;
  /** The links that the filters by tag and domain select. */
  selected: LinkSets;
};

export class QueryResolver {
  readonly #clickhouse: ClicksSource;
  readonly #links: LinkService;
  readonly #clicksRetentionDays: number;

  /** Raw clicks are retained for `clicksRetentionDays`; 0 keeps them for ever. */
  constructor(clickhouse: ClicksSource, links: LinkService, clicksRetentionDays: number) {
    this.#clickhouse = clickhouse;
    this.#links = links;
    this.#clicksRetentionDays = clicksRetentionDays;
  }

  /**
   * Resolves a question about a subject. Throws `not_found`, `rate_limited`, and `invalid_request`
   * for a range or filters that are none.
   */
  async resolve(
    reader: ClicksReader,
    given: Subject,
    request: ClicksRequest,
  ): Promise<AnalyticsQuery> {
    const clickhouse = this.#clickhouse.for(reader);
    const subject =
      given === "account" ? given : { link: await this.#links.find(reader, given.link) };
    const filters = groupFilters(request);
    const [createdAt, selected] = await Promise.all([
      subject === "account"
        ? this.#links.getFirstCreationTime(reader)
        : subject.link.created_at.getTime(),
      this.#findLinks(reader, filters),
    ]);
    const range = this.#resolveRange(request, createdAt);
    return { reader, clickhouse, subject, range, filters, selected };
  }

  /** As `resolve`, for those of the ids that are links of the reader. */
  async resolveLinks(
    reader: ClicksReader,
    ids: readonly Uuid[],
    { filters: given = {}, ...period }: BulkBody,
  ): Promise<AnalyticsQuery & { subject: { links: readonly Uuid[] } }> {
    const clickhouse = this.#clickhouse.for(reader);
    const filters = groupFilters(given);
    const [created, selected] = await Promise.all([
      this.#links.getCreationTimes(reader, ids),
      this.#findLinks(reader, filters, "filters."),
    ]);
    const subject = { links: [...created.keys()] };
    const range = this.#resolveRange(period, Math.min(Date.now(), ...created.values()));
    return { reader, clickhouse, subject, range, filters, selected };
  }

  /** Whether a click of a link passes the filters of a request; throws as `resolve`. */
  async resolveMatcher(
    owner: AccountScope,
    linkId: Uuid,
    request: FilterQuery,
  ): Promise<(click: ClickValues) => boolean> {
    const filters = groupFilters(request);
    const { anyOf, noneOf } = await this.#findLinks(owner, filters);
    if (anyOf?.includes(linkId) === false || noneOf.includes(linkId)) return () => false;
    return (click) => matchesFilters(filters, click);
  }

  /** The period `all` starts at `createdAt` (Unix milliseconds), now if there is none. */
  #resolveRange(request: PeriodQuery, createdAt: number | undefined): QueryRange {
    const now = Date.now();
    const days = this.#clicksRetentionDays;
    const rawFrom = days === 0 ? -Infinity : now - days * DAY_MS;
    return { ...resolveRange(request, createdAt ?? now, now), rawFrom, now };
  }

  /**
   * Finds the links that the filters by tag and domain select. A deleted link has neither, so it is
   * never excluded. `path` is the filters' path in the request, with a trailing dot.
   */
  async #findLinks(
    owner: AccountScope,
    { links: { tag, domain } }: Filters,
    path = "",
  ): Promise<LinkSets> {
    const properties = {
      ...(tag.anyOf.length === 0 ? {} : { tags: tag.anyOf }),
      ...(domain.anyOf.length === 0 ? {} : { domains: domain.anyOf }),
    };
    const links = this.#links;
    const [anyOf, tagged, onDomains] = await Promise.all([
      Object.keys(properties).length === 0 ? undefined : links.findIds(owner, properties),
      tag.noneOf.length === 0 ? [] : links.findIds(owner, { tags: tag.noneOf }),
      domain.noneOf.length === 0 ? [] : links.findIds(owner, { domains: domain.noneOf }),
      links.requireKnownDomains(owner, [...domain.anyOf, ...domain.noneOf], `${path}domain`),
    ]);
    return { anyOf, noneOf: [...new Set([...tagged, ...onDomains])] };
  }
}
