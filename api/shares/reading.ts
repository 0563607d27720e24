/**
 * Reads shared statistics, for readers without an account. Two secrets open them: the token in a
 * share's URL and, if the share has a password, an access token that the password grants.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

import { LRUCache } from "lru-cache";

import { boundsOf } from "../../shared/budgets.ts";
import { COLUMN_FILTERS, DEFAULT_PERIOD } from "../../shared/contracts/analytics.ts";
import type { Uuid } from "../../shared/ids.ts";
import { parseZone } from "../analytics/period.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import { hashToken } from "../auth/api-key.ts";
import type { BrandingService } from "../branding/service.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { budgets, type Payer } from "../limits/budgets.ts";
import { NetworkWindow } from "../limits/windows.ts";
import type { LinkService } from "../links/service.ts";
import { buildShortUrl } from "../links/short-url.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import type { Sql } from "../postgres.ts";
import type { SharedQuery, SharedStatistics, SharedView, ShareRow } from "./model.ts";
import { shareColumns } from "./service.ts";

/** A share with its owner, and the version of the owner's branding; null without one. */
type SharedRow = ShareRow & AccountScope & Payer & { brand_version: number | null };

const ROWS_MAX = 10;

const COUNTRIES_MAX = 100;

/**
 * How long statistics are served from the cache: a page with many readers costs one set of queries
 * per minute and process.
 */
const FRESH_MS = 60_000;

/** Maximum cached statistics, about 15 KB each, and 15 KB more for their page in each language. */
const VIEWS_MAX = 500;

/**
 * The share of an account's budget that is kept for the named periods in a share's own time zone:
 * they are few and cached, and who tries many other ranges locks nobody out of them.
 */
const KEPT_SHARE = 0.5;

export class SharedService {
  readonly #sql: Sql;
  readonly #analytics: AnalyticsService;
  readonly #links: LinkService;
  readonly #branding: BrandingService;
  readonly #passwords: PasswordHashing;
  readonly #shortUrl: string;
  readonly #views = new LRUCache<string, Promise<SharedView>>({ max: VIEWS_MAX, ttl: FRESH_MS });
  readonly #tries = new NetworkWindow("share_password_tries");
  readonly #checks = new NetworkWindow("share_password_checks");

  /** `shortUrl` is the origin of short links, without a trailing slash. */
  constructor(
    sql: Sql,
    analytics: AnalyticsService,
    links: LinkService,
    branding: BrandingService,
    passwords: PasswordHashing,
    shortUrl: string,
  ) {
    this.#sql = sql;
    this.#analytics = analytics;
    this.#links = links;
    this.#branding = branding;
    this.#passwords = passwords;
    this.#shortUrl = shortUrl;
  }

  /**
   * Finds the share of a token. Throws `not_found`, also for one that is revoked or has expired,
   * and when an operator has suspended its account.
   */
  async find(token: string): Promise<SharedRow> {
    const hash = parseToken(token);
    const sql = this.#sql;
    const [share] = await sql<SharedRow[]>`
      select ${shareColumns(sql)}, account_id as "accountId", mode,
             (select plan from accounts where id = account_id) as plan,
             (select version from account_branding b where b.account_id = shares.account_id and b.mode = shares.mode) as brand_version
        from shares
       where token_hash = ${hash ?? null} and (expires_at is null or expires_at > clock_timestamp())
         and not exists (select from accounts where id = account_id and suspended_until = 'infinity')`;
    if (share === undefined) throw notFound("share");
    return share;
  }

  /**
   * Grants access for an hour with the correct password. Throws as `find`, `forbidden` and
   * `rate_limited`.
   */
  async unlock(
    token: string,
    password: string,
    address: string,
  ): Promise<{ access: string; expires: number }> {
    const share = await this.find(token);
    const { password_hash } = share;
    if (password_hash === null) {
      throw new ApiError("invalid_request", "These statistics have no password.");
    }
    // The response's headers describe the address's requests, not these attempts.
    if (this.#tries.isExhausted(address)) this.#tries.enforce(address, {});
    this.#checks.enforce(address, {});
    const { accountId } = share;
    if (!(await this.#passwords.verifyForAccount(accountId, password, password_hash))) {
      this.#tries.consume(address);
      throw new ApiError("forbidden", "The password is wrong.");
    }
    return grantAccess({ ...share, password_hash }, Date.now());
  }

  /**
   * Returns a share's statistics, at most a minute old; the same object while they are cached.
   * Throws as `find`, `unauthorized` without the access that its password grants,
   * `invalid_request`, and `rate_limited` when what the account's shares may cost is used up.
   */
  async read(token: string, access: string | undefined, query: SharedQuery): Promise<SharedView> {
    const share = await this.find(token);
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
    const known = this.#views.get(key);
    if (known !== undefined) return await known;
    const isNamed = !isCustom && timezone === share.timezone;
    const { atOnce } = boundsOf("shared_statistics", share.plan);
    budgets.require(share, "shared_statistics", isNamed ? 0 : KEPT_SHARE * atOnce);
    const reading = this.#readView(share, when);
    this.#views.set(key, reading);
    // After a failure, the next request reads again.
    reading.catch(() => this.#views.delete(key));
    return await reading;
  }

  async #readView(share: SharedRow, when: SharedQuery & { timezone: string }): Promise<SharedView> {
    const { link_id, name } = share;
    const { accountId, mode, plan } = share;
    const owner = { accountId, mode, plan, paysWith: "shared_statistics" } as const;
    const subject = link_id === null ? "account" : { link: link_id };
    const dimensions = COLUMN_FILTERS.filter((name) => share.breakdowns.includes(name));
    const limit = dimensions.includes("country") ? COUNTRIES_MAX : ROWS_MAX;
    const [link, overview, brand] = await Promise.all([
      link_id === null ? null : this.#links.find(owner, link_id),
      this.#analytics.overview(owner, subject, when, { dimensions, limit }),
      share.brand_version === null ? undefined : this.#branding.find(owner),
    ]);
    const breakdowns = overview.breakdowns.map(({ by, data }) => ({
      by,
      data: data.slice(0, ROWS_MAX),
    }));
    const countries = overview.breakdowns
      .find(({ by }) => by === "country")
      ?.data.map(({ values, clicks }) => ({ country: values["country"] ?? "", clicks }));
    const short_url = link === null ? null : buildShortUrl(link, this.#shortUrl);
    const { timezone } = when;
    const statistics: SharedStatistics = { name, short_url, timezone, ...overview, breakdowns };
    return { statistics, countries, brand };
  }
}

const TOKEN_FORM = /^[\w-]{43}$/;

/** How long an access token is valid. */
const ACCESS_SECONDS = 3_600;

const ACCESS_FORM = /^(?<expires>\d{1,12})\.(?<signature>[\w-]{43})$/;

/** The hash by which the share of a token is found; undefined for an invalid token. */
export const parseToken = (token: string): Buffer | undefined =>
  TOKEN_FORM.test(token) ? hashToken(token) : undefined;

type ProtectedShare = { id: Uuid; password_hash: string };

/**
 * Keyed with the password's hash, which only the database has: a new password invalidates access
 * tokens.
 */
const sign = ({ id, password_hash }: ProtectedShare, expires: number): Buffer =>
  createHmac("sha256", password_hash).update(`${id}\n${expires}`).digest();

/**
 * Creates an access token for a share after its password was checked. `now` is Unix milliseconds,
 * `expires` Unix seconds.
 */
export function grantAccess(
  share: ProtectedShare,
  now: number,
): { access: string; expires: number } {
  const expires = Math.floor(now / 1_000) + ACCESS_SECONDS;
  return { access: `${expires}.${sign(share, expires).toString("base64url")}`, expires };
}

/** Whether an access token belongs to this share and its current password, and has not expired. */
export function hasAccess(share: ProtectedShare, access: string, now: number): boolean {
  const { expires, signature } = ACCESS_FORM.exec(access)?.groups ?? {};
  if (expires === undefined || signature === undefined || Number(expires) * 1_000 <= now) {
    return false;
  }
  const given = Buffer.from(signature, "base64url");
  const expected = sign(share, Number(expires));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
