/** Statistics of failed requests: those that were not redirected. */
import { FAILURE_REASONS, LINK_FAILURES } from "../../../shared/contracts/failure-reasons.ts";
import { DEFAULT_DOMAIN } from "../../../shared/contracts/link-record.ts";
import { decodeId, encodeId } from "../../../shared/ids.ts";
import type { ClicksReader, ClicksSource } from "../../clickhouse.ts";
import type { DomainService } from "../../domains/service.ts";
import { invalidField } from "../../http/errors.ts";
import type { LinkService } from "../../links/service.ts";
import { parseFilterValue } from "../filter-values.ts";
import { resolveRange } from "../period.ts";
import type { FailuresQuery, FailuresResponse } from "./model.ts";
import {
  countFailures,
  type FailureRow,
  type FailureScope,
  findFailingLinks,
  findUnknownAliases,
} from "./queries.ts";

type FailureServiceDeps = {
  clickhouse: ClicksSource;
  links: Pick<LinkService, "get" | "getFirstCreationTime" | "isOwnHost" | "requireKnownDomains">;
  domains: Pick<DomainService, "listVerified">;
};

export type FailureService = ReturnType<typeof createFailureService>;

export function createFailureService({ clickhouse: source, links, domains }: FailureServiceDeps) {
  /**
   * Resolves the scope of a query, and when the owner's first link or domain was created. Throws
   * `not_found` and `invalid_request`.
   */
  async function resolveScope(
    owner: ClicksReader,
    { link_id, domain: given }: Pick<FailuresQuery, "link_id" | "domain">,
  ): Promise<{ scope: FailureScope; createdAt: number }> {
    const host = given === undefined ? undefined : parseDomain(given);
    if (host !== undefined) await links.requireKnownDomains(owner, [host], "domain");
    const domain = host !== undefined && links.isOwnHost(host) ? DEFAULT_DOMAIN : host;
    if (link_id !== undefined) {
      const { id, created_at } = await links.get(owner, decodeId("link", link_id));
      return {
        scope: { owner, linkId: id, domain, hosts: [] },
        createdAt: created_at.getTime(),
      };
    }
    const [first = Date.now(), verified] = await Promise.all([
      links.getFirstCreationTime(owner),
      domains.listVerified(owner),
    ]);
    const hosts = verified
      .map(({ host: name, verifiedAt }) => ({ host: name, since: verifiedAt.getTime() }))
      .filter(({ host: name }) => domain === undefined || name === domain);
    const createdAt = Math.min(first, ...hosts.map(({ since }) => since));
    return { scope: { owner, linkId: undefined, domain, hosts }, createdAt };
  }

  /**
   * Counts failed requests of an account or a link; throws `not_found`, `invalid_request` and
   * `rate_limited`.
   */
  return {
    async count(owner: ClicksReader, query: FailuresQuery): Promise<FailuresResponse> {
      const clickhouse = source.for(owner);
      const { scope, createdAt } = await resolveScope(owner, query);
      const range = resolveRange(query, createdAt, Date.now());
      const [rows, failing, unknown] = await Promise.all([
        countFailures(clickhouse, scope, range),
        findFailingLinks(clickhouse, scope, range, query.limit),
        scope.hosts.length === 0 ? [] : findUnknownAliases(clickhouse, scope, range, query.limit),
      ]);
      const byStart = Map.groupBy(rows, ({ start }) => start);
      return {
        period: range.period,
        summary: sumUp(rows),
        failures_over_time: range.buckets.map(({ label, start }) => ({
          date: label,
          ...sumUp(byStart.get(start / 1_000) ?? []),
        })),
        top_links: failing.map((row) => ({
          link_id: encodeId("link", row.link_id),
          total: Number(row.total),
          ...toCounts(LINK_FAILURES, (reason) => Number(row[reason])),
        })),
        unknown_aliases: unknown.map(({ domain, alias, counted }) => ({
          domain,
          alias,
          requests: Number(counted),
        })),
      };
    },
  };
}

/** Returns a domain in lower case; throws `invalid_request`. */
function parseDomain(text: string): string {
  const parsed = parseFilterValue("domain", text);
  if ("expected" in parsed) throw invalidField("domain", `must be ${parsed.expected}`);
  return parsed.value;
}

function sumUp(rows: readonly FailureRow[]): FailuresResponse["summary"] {
  return {
    total: countOf(rows),
    ...toCounts(FAILURE_REASONS, (name) => countOf(rows.filter(({ reason }) => reason === name))),
  };
}

const countOf = (rows: readonly FailureRow[]): number =>
  rows.reduce((sum, { counted }) => sum + Number(counted), 0);

const toCounts = <Reason extends string>(
  reasons: readonly Reason[],
  count: (reason: Reason) => number,
) => Object.fromEntries(reasons.map((reason) => [reason, count(reason)])) as Record<Reason, number>; // One per reason.
