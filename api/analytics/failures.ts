/** Statistics of failed requests: those that were not redirected. */
import * as z from "zod";

import { queryRows } from "../../shared/clicks/query.ts";
import {
  FAILURE_REASONS,
  LINK_FAILURES,
  type LinkFailure,
} from "../../shared/contracts/analytics.ts";
import { component } from "../../shared/contracts/components.ts";
import { CUSTOM_DOMAIN, LINK_ID } from "../../shared/contracts/examples.ts";
import { DOMAIN_LENGTH_MAX, NO_OWNER } from "../../shared/contracts/failures.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { ClicksReader, ClicksSource } from "../clickhouse.ts";
import type { DomainService } from "../domains/service.ts";
import { count, idParameter, items, text } from "../http/common-schemas.ts";
import { invalidField } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { LinkService } from "../links/service.ts";
import { parseFilterValue } from "./filters.ts";
import { accountQuery } from "./model.ts";
import { periodParameters, type Range, resolveRange } from "./period.ts";
import { BUCKET_RANGE, clampInstant, OF_ACCOUNT } from "./plan.ts";
import { date, linkId, overTimeMeta, periodOfQuery } from "./responses.ts";

export const failuresQuery = z.object(periodParameters).extend({
  link_id: idParameter(
    "link",
    "Only requests for this link; without unknown aliases.",
    LINK_ID,
  ).optional(),
  domain: z
    .string()
    .max(DOMAIN_LENGTH_MAX)
    .optional()
    .meta({ description: "Only requests on this domain.", examples: [CUSTOM_DOMAIN] }),
  limit: accountQuery.shape.limit,
});

type FailuresQuery = z.output<typeof failuresQuery>;

const total = count("Failed requests for all reasons.", 31);

const linkFailures = {
  expired: count("Requests for links that had expired.", 9),
  limit_reached: count("Requests for links whose click limit was reached.", 5),
  wrong_password: count("Wrong passwords.", 3),
  disabled: count("Requests for disabled links.", 1),
  not_started: count("Requests for links before their start.", 1),
} satisfies Record<LinkFailure, z.ZodInt>;

const counts = {
  total,
  unknown_alias: count(
    "Requests for aliases without a link on verified domains of the account.",
    12,
  ),
  ...linkFailures,
} satisfies Record<"total" | (typeof FAILURE_REASONS)[number], z.ZodInt>;

const unknownAlias = component(
  "UnknownAlias",
  "An alias that was requested and that no link has.",
  {
    domain: text("The domain.", CUSTOM_DOMAIN),
    alias: text("The requested alias.", "spring-sael"),
    requests: count("How often it was requested.", 7),
  },
);

export const failuresResponse = component("Failures", "Failed requests over time.", {
  period: periodOfQuery,
  summary: component("FailureCounts", "Failed requests by reason.", counts).meta({
    description: "The sums over the period.",
  }),
  failures_over_time: z
    .array(
      component("DatedFailureCounts", "The failed requests of a day or an hour, by reason.", {
        date,
        ...counts,
      }),
    )
    .meta(overTimeMeta),
  top_links: items(
    "The links with the most failed requests in the period, including deleted ones.",
    component("LinkFailureCounts", "The failed requests for a link, by reason.", {
      link_id: linkId,
      total,
      ...linkFailures,
    }),
  ),
  unknown_aliases: items(
    "The unknown aliases that were requested most often. Each redirector counts up to 100 aliases of a domain by name, so in a flood of made-up aliases `summary` exceeds their sum. They are kept for 90 days at most.",
    unknownAlias,
  ),
});

type FailuresResponse = z.output<typeof failuresResponse>;

/** Which failures are counted: of the owner's links, and of unknown aliases on its domains. */
type FailureScope = {
  owner: AccountScope;
  linkId: Uuid | undefined;
  /** Empty for the service's own domain, undefined for all. */
  domain: string | undefined;
  /** The owner's domains, and the start of ownership in Unix milliseconds. */
  hosts: readonly { host: string; since: number }[];
  /** When the owner's first link or domain was created, in Unix milliseconds. */
  createdAt: number;
};

export class FailureService {
  readonly #clickhouse: ClicksSource;
  readonly #links: LinkService;
  readonly #domains: DomainService;

  constructor(clickhouse: ClicksSource, links: LinkService, domains: DomainService) {
    this.#clickhouse = clickhouse;
    this.#links = links;
    this.#domains = domains;
  }

  /**
   * Counts failed requests of an account or a link; throws `not_found`, `invalid_request` and
   * `rate_limited`.
   */
  async count(owner: ClicksReader, request: FailuresQuery): Promise<FailuresResponse> {
    const clickhouse = this.#clickhouse.for(owner);
    const scope = await this.#resolveScope(owner, request);
    const range = resolveRange(request, scope.createdAt, Date.now());
    const params = paramsOf(scope, range, request.limit);
    const [rows, links, aliases] = await Promise.all([
      queryRows<FailureRow>(clickhouse, selectOverTime(scope), params),
      queryRows<LinkFailureRow>(clickhouse, selectFailingLinks(scope), params),
      scope.hosts.length === 0
        ? []
        : queryRows<AliasRow>(clickhouse, SELECT_UNKNOWN_ALIASES, params),
    ]);
    const byStart = Map.groupBy(rows, ({ start }) => start);
    return {
      period: range.period,
      summary: sumUp(rows),
      failures_over_time: range.buckets.map(({ label, start }) => ({
        date: label,
        ...sumUp(byStart.get(start / 1_000) ?? []),
      })),
      top_links: links.map((row) => ({
        link_id: encodeId("link", row.link_id),
        total: Number(row.total),
        ...eachReason(LINK_FAILURES, (reason) => Number(row[reason])),
      })),
      unknown_aliases: aliases.map(({ domain, alias, counted }) => ({
        domain,
        alias,
        requests: Number(counted),
      })),
    };
  }

  async #resolveScope(
    owner: ClicksReader,
    { link_id, domain: given }: FailuresQuery,
  ): Promise<FailureScope> {
    const host = given === undefined ? undefined : parseDomain(given);
    if (host !== undefined) await this.#links.requireKnownDomains(owner, [host], "domain");
    const domain = host !== undefined && this.#links.isOwnHost(host) ? DEFAULT_DOMAIN : host;
    if (link_id !== undefined) {
      const { id, created_at } = await this.#links.find(owner, decodeId("link", link_id));
      return { owner, linkId: id, domain, hosts: [], createdAt: created_at.getTime() };
    }
    const [first = Date.now(), verified] = await Promise.all([
      this.#links.getFirstCreationTime(owner),
      this.#domains.listVerified(owner),
    ]);
    const hosts = verified
      .map(({ host: name, verifiedAt }) => ({ host: name, since: verifiedAt.getTime() }))
      .filter(({ host: name }) => domain === undefined || name === domain);
    const createdAt = Math.min(first, ...hosts.map(({ since }) => since));
    return { owner, linkId: undefined, domain, hosts, createdAt };
  }
}

/** Returns a domain in lower case; throws `invalid_request`. */
function parseDomain(text: string): string {
  const parsed = parseFilterValue("domain", text);
  if ("problem" in parsed) throw invalidField("domain", parsed.problem);
  return parsed.value;
}

const paramsOf = (
  { owner, linkId, domain, hosts }: FailureScope,
  { from, to, buckets }: Range,
  limit: number,
) => ({
  account_id: owner.accountId,
  mode: owner.mode,
  ...(linkId === undefined ? {} : { link_id: linkId }),
  ...(domain === undefined ? {} : { domain }),
  hosts: hosts.map(({ host }) => host),
  since: hosts.map(({ since }) => Math.ceil(since / 1_000)),
  from: clampInstant(from),
  to: clampInstant(to),
  starts: buckets.map(({ start }) => Math.floor(start / 1_000)),
  limit,
});

const ofLinks = ({ linkId, domain }: FailureScope): string =>
  `${OF_ACCOUNT}
   ${linkId === undefined ? "" : "AND link_id = {link_id: UUID}"}
   ${domain === undefined ? "" : "AND domain = {domain: String}"}`;

/**
 * A domain may have belonged to another account. The quarter hour of the transfer counts for
 * neither account.
 */
const OF_HOSTS = `domain IN {hosts: Array(String)}
   AND toUnixTimestamp(bucket) >= {since: Array(UInt32)}[indexOf({hosts: Array(String)}, domain)]`;

/** `start` is that of a bucket of the range, in Unix seconds. */
type FailureRow = { start: number; reason: string; counted: string };

const selectOverTime = (scope: FailureScope): string => `
  SELECT toUInt32(roundDown(toUnixTimestamp(bucket), {starts: Array(Int64)})) AS start, reason,
         sum(requests) AS counted
    FROM failures
   WHERE (${ofLinks(scope)} OR account_id = toUUID('${NO_OWNER}') AND ${OF_HOSTS})
     AND ${BUCKET_RANGE}
   GROUP BY start, reason`;

type LinkFailureRow = { link_id: Uuid } & Record<"total" | (typeof LINK_FAILURES)[number], string>;

/** The links with the most failures, including deleted ones; ties sort by id. */
const selectFailingLinks = (scope: FailureScope): string => `
  SELECT link_id, sum(requests) AS total,
         ${LINK_FAILURES.map((reason) => `sumIf(requests, reason = '${reason}') AS ${reason}`).join(", ")}
    FROM failures
   WHERE ${ofLinks(scope)} AND ${BUCKET_RANGE}
   GROUP BY link_id
   ORDER BY total DESC, link_id
   LIMIT {limit: UInt32}`;

type AliasRow = { domain: string; alias: string; counted: string };

/** The unknown aliases with the most requests; ties sort by name. */
const SELECT_UNKNOWN_ALIASES = `
  SELECT domain, alias, sum(requests) AS counted
    FROM unknown_aliases
   WHERE ${OF_HOSTS} AND ${BUCKET_RANGE}
   GROUP BY domain, alias
   ORDER BY counted DESC, domain, alias
   LIMIT {limit: UInt32}`;

function sumUp(rows: readonly FailureRow[]): FailuresResponse["summary"] {
  const sumOf = (counted: readonly FailureRow[]) =>
    counted.reduce((sum, row) => sum + Number(row.counted), 0);
  return {
    total: sumOf(rows),
    ...eachReason(FAILURE_REASONS, (name) => sumOf(rows.filter(({ reason }) => reason === name))),
  };
}

const eachReason = <Reason extends string>(
  reasons: readonly Reason[],
  count: (reason: Reason) => number,
) => Object.fromEntries(reasons.map((reason) => [reason, count(reason)])) as Record<Reason, number>; // One per reason.
