/** Reads shared statistics, for readers without an account. */
import { LRUCache } from "lru-cache";

import { boundsOf } from "../../shared/budgets.ts";
import { COLUMN_FILTERS, DEFAULT_PERIOD } from "../../shared/contracts/analytics.ts";
import type { Uuid } from "../../shared/ids.ts";
import { parseZone } from "../analytics/period.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import type { BrandingService } from "../branding/service.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { budgets } from "../limits/budgets.ts";
import { NetworkWindow } from "../limits/windows.ts";
import type { LinkService } from "../links/service.ts";
import { buildShortUrl } from "../links/short-url.ts";
import type { Sql } from "../postgres.ts";
import type { SharedQuery, SharedStatistics, SharedView } from "./model.ts";
import { findSharedBy, type SharedRow } from "./sql.ts";
import { grantAccess, hasAccess, parseToken } from "./token.ts";

type SharedServiceDeps = {
  sql: Sql;
  analytics: Pick<AnalyticsService, "overview">;
  links: Pick<LinkService, "find">;
  passwords: {
    verifyForAccount(accountId: Uuid, password: string, hashed: string): Promise<boolean>;
  };
  branding: Pick<BrandingService, "find">;
  /** The origin of short links, without a trailing slash. */
  shortUrl: string;
};

export type SharedService = ReturnType<typeof createSharedService>;

/** Maximum rows of each breakdown. */
const ROWS_MAX = 10;

/** Maximum countries on the map. */
const COUNTRIES_MAX = 100;

/**
 * How long statistics are served from the cache: a page with many readers costs one set of queries
 * per minute and process.
 */
const FRESH_MS = 60_000;

/** Maximum cached statistics, about 15 KB each, and 15 KB more for their page in each language. */
const FIGURES_MAX = 500;

/**
 * The share of an account's budget that is kept for the named periods in a share's own time zone:
 * they are few and cached, and who tries many other ranges locks nobody out of them.
 */
const KEPT_SHARE = 0.5;

export function createSharedService(deps: SharedServiceDeps) {
  const { sql, passwords } = deps;
  const cached = new LRUCache<string, Promise<SharedView>>({
    max: FIGURES_MAX,
    ttl: FRESH_MS,
  });
  const tries = new NetworkWindow("share_password_tries");
  const checks = new NetworkWindow("share_password_checks");

  /** Finds the share of a token; throws `not_found`, also for a revoked or expired one. */
  async function find(token: string): Promise<SharedRow> {
    const hash = parseToken(token);
    const share = hash === undefined ? undefined : await findSharedBy(sql, hash);
    if (share === undefined) throw notFound("share");
    return share;
  }

  /**
   * Grants access for an hour with the correct password. Throws as {@link find}, `forbidden` and
   * `rate_limited`.
   */
  async function unlock(
    token: string,
    password: string,
    address: string,
  ): Promise<{ access: string; expires: number }> {
    const share = await find(token);
    const { password_hash } = share;
    if (password_hash === null) {
      throw new ApiError("invalid_request", "These statistics have no password.");
    }
    // The response's headers describe the address's requests, not these attempts.
    if (tries.exhausted(address)) tries.enforce(address, {});
    checks.enforce(address, {});
    if (!(await passwords.verifyForAccount(share.accountId, password, password_hash))) {
      tries.consume(address);
      throw new ApiError("forbidden", "The password is wrong.");
    }
    return grantAccess({ ...share, password_hash }, Date.now());
  }

  /**
   * Returns a share's statistics, at most a minute old; the same object while they are cached.
   * Throws as {@link find}, `unauthorized` without the access that its password grants,
   * `invalid_request`, and `rate_limited` when what the account's shares may cost is used up.
   */
  async function read(
    token: string,
    access: string | undefined,
    query: SharedQuery,
  ): Promise<SharedView> {
    const share = await find(token);
    const { password_hash } = share;
    if (
      password_hash !== null &&
      !hasAccess({ ...share, password_hash }, access ?? "", Date.now())
    ) {
      throw new ApiError("unauthorized", "These statistics need a password.");
    }
    const { period = DEFAULT_PERIOD, start_date, end_date } = query;
    const timezone = parseZone(query.timezone ?? share.timezone);
    const isCustom = start_date !== undefined || end_date !== undefined;
    const when = isCustom ? { start_date, end_date, timezone } : { period, timezone };
    const key = JSON.stringify([share.id, share.updated_at, share.brand_version, when]);
    const known = cached.get(key);
    if (known !== undefined) return await known;
    const isNamed = !isCustom && timezone === share.timezone;
    const { atOnce } = boundsOf("shared_statistics", share.plan);
    budgets.require(share, "shared_statistics", isNamed ? 0 : KEPT_SHARE * atOnce);
    const reading = readView(deps, share, when);
    cached.set(key, reading);
    // After a failure, the next request reads again.
    reading.catch(() => cached.delete(key));
    return await reading;
  }

  return { find, unlock, read };
}

async function readView(
  { analytics, links, branding, shortUrl }: SharedServiceDeps,
  share: SharedRow,
  when: SharedQuery & { timezone: string },
): Promise<SharedView> {
  const { link_id, name } = share;
  const { accountId, mode, plan } = share;
  const owner = { accountId, mode, plan, paysWith: "shared_statistics" } as const;
  const subject = link_id === null ? "account" : { link: link_id };
  const dimensions = COLUMN_FILTERS.filter((name) => share.breakdowns.includes(name));
  const limit = dimensions.includes("country") ? COUNTRIES_MAX : ROWS_MAX;
  const [link, overview, brand] = await Promise.all([
    link_id === null ? null : links.find(owner, link_id),
    analytics.overview(owner, subject, when, { dimensions, limit }),
    share.brand_version === null ? undefined : branding.find(owner),
  ]);
  const breakdowns = overview.breakdowns.map(({ by, data }) => ({
    by,
    data: data.slice(0, ROWS_MAX),
  }));
  const countries = overview.breakdowns
    .find(({ by }) => by === "country")
    ?.data.map(({ values, clicks }) => ({ country: values["country"] ?? "", clicks }));
  const short_url = link === null ? null : buildShortUrl(link, shortUrl);
  const { timezone } = when;
  const statistics: SharedStatistics = { name, short_url, timezone, ...overview, breakdowns };
  return { statistics, countries, brand };
}
