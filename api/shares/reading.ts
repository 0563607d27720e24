/** Reads shared statistics, for readers without an account. */
import { LRUCache } from "lru-cache";

import { COLUMN_FILTERS } from "../analytics/filter-names.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import { createConcurrencyLimit } from "../concurrency-limit.ts";
import { ApiError, notFound, unavailable } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { createPasswordTryLimit } from "../limits/anonymous.ts";
import { buildShortUrl } from "../links/responses.ts";
import type { LinkService } from "../links/service.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import type { Sql } from "../postgres.ts";
import type { SharedQuery, SharedStatistics, ShareRow } from "./model.ts";
import { findSharedBy } from "./sql.ts";
import { grantAccess, hasAccess, parseToken } from "./token.ts";

type SharedServiceDeps = {
  sql: Sql;
  analytics: Pick<AnalyticsService, "overview">;
  links: Pick<LinkService, "get">;
  passwords: Pick<PasswordHashing, "verifyForAccount">;
  /** The origin of short links, without a trailing slash. */
  shortUrl: string;
};

export type SharedService = ReturnType<typeof createSharedService>;

/** A share, with its owner. */
type OwnedShare = ShareRow & AccountScope;

/** Maximum rows of each breakdown. */
const ROWS_MAX = 10;

/**
 * How long statistics are served from the cache: a page with many readers costs one set of queries
 * per minute and process.
 */
const FRESH_MS = 60_000;

/** Maximum cached statistics, about 10 KB each. */
const FIGURES_MAX = 500;

/**
 * Maximum concurrent reads for all readers: fewer than ClickHouse's queries, so that accounts keep
 * their share.
 */
const READS = { running: 2, waiting: 32, waitMs: 5_000 };

export function createSharedService(deps: SharedServiceDeps) {
  const { sql, passwords } = deps;
  const limit = createConcurrencyLimit(READS, () =>
    unavailable(new Error("Too many shared statistics are being read.")),
  );
  const cached = new LRUCache<string, Promise<SharedStatistics>>({
    max: FIGURES_MAX,
    ttl: FRESH_MS,
  });
  const tries = createPasswordTryLimit();

  /** Finds the share of a token; throws `not_found`, also for a revoked or expired one. */
  async function find(token: string): Promise<OwnedShare> {
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
    if (!(await passwords.verifyForAccount(share.accountId, password, password_hash))) {
      tries.consume(address);
      throw new ApiError("forbidden", "The password is wrong.");
    }
    return grantAccess({ ...share, password_hash }, Date.now());
  }

  /**
   * Returns a share's statistics, at most a minute old. Throws as {@link find}, and `unauthorized`
   * without the access that its password grants.
   */
  async function read(
    token: string,
    access: string | undefined,
    query: SharedQuery,
  ): Promise<SharedStatistics> {
    const share = await find(token);
    const { password_hash } = share;
    if (
      password_hash !== null &&
      !hasAccess({ ...share, password_hash }, access ?? "", Date.now())
    ) {
      throw new ApiError("unauthorized", "These statistics need a password.");
    }
    const key = `${share.id} ${share.updated_at.getTime()} ${query.period ?? ""}`;
    const known = cached.get(key);
    if (known !== undefined) return await known;
    const reading = limit(() => readStatistics(deps, share, query));
    cached.set(key, reading);
    // After a failure, the next request reads again.
    reading.catch(() => cached.delete(key));
    return await reading;
  }

  return { find, unlock, read };
}

async function readStatistics(
  { analytics, links, shortUrl }: SharedServiceDeps,
  share: OwnedShare,
  { period }: SharedQuery,
): Promise<SharedStatistics> {
  const { link_id, name, timezone } = share;
  const owner = { accountId: share.accountId, mode: share.mode };
  const subject = link_id === null ? "account" : { link: link_id };
  const dimensions = COLUMN_FILTERS.filter((name) => share.breakdowns.includes(name));
  const [link, overview] = await Promise.all([
    link_id === null ? null : links.get(owner, link_id),
    analytics.overview(owner, subject, { period, timezone }, { dimensions, limit: ROWS_MAX }),
  ]);
  const short_url = link === null ? null : buildShortUrl(link, shortUrl);
  return { name, short_url, timezone, ...overview };
}
