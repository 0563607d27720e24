/**
 * Quotas of an account: how many resources it may create within a window and how many it may have
 * at once, through the API and the dashboard together. PostgreSQL counts and enforces them
 * (`migrations/0002_quotas.sql`) in the statement or transaction that creates the resource. So they
 * are exact across processes, and a failed creation consumes nothing.
 */
import { ApiError } from "../http/errors.ts";
import { inSeconds, rateLimitHeaders, secondsUntil } from "./windows.ts";

/** Endpoints that have their own rate-limit window, besides those of the plan. */
export type EndpointLimit =
  "POST /v1/links" | "POST /v1/analytics/bulk" | "GET /v1/analytics/*" | "POST /v1/domains";

export const QUOTAS = [
  "links_per_day",
  "invitations_per_day",
  "domains",
  "api_keys",
  "live_streams",
] as const;

export type QuotaName = (typeof QUOTAS)[number];

/** The resources that a quota counts, as messages name them. */
const COUNTED: Readonly<Record<QuotaName, string>> = {
  links_per_day: "links",
  invitations_per_day: "invitations",
  domains: "domains",
  api_keys: "API keys",
  live_streams: "live streams at once",
};

/** A row of `consume_quota`; times are Unix milliseconds by the database's clock. */
export type Consumption = {
  granted: boolean;
  allowed: number;
  seconds: number;
  used: number;
  resets_ms: number;
  now_ms: number;
};

/** A row of `claim_quota`. */
export type Claim = { granted: boolean; allowed: number };

/**
 * Throws `rate_limited`, with the headers that describe the window, unless the quota was granted.
 */
export function requireConsumed(name: QuotaName, consumption: Consumption): void {
  if (!consumption.granted) throw quotaExceeded(name, consumption);
}

/** The 429 of an exhausted quota, with the headers that describe its window. */
export function quotaExceeded(name: QuotaName, consumption: Consumption): ApiError {
  const { allowed: limit, seconds, used, resets_ms: resetsAt, now_ms } = consumption;
  const wait = secondsUntil(resetsAt, now_ms);
  return new ApiError(
    "rate_limited",
    `Quota ${name} exceeded: ${limit} ${COUNTED[name]} in ${inSeconds(seconds)}. Try again in ${inSeconds(wait)}.`,
    {
      retryAfterSeconds: wait,
      headers: rateLimitHeaders({ name, limit, seconds, spent: used, resetsAt }),
    },
  );
}

/** Throws `quota_exceeded` unless the account may have one more. */
export function requireClaimed(name: QuotaName, { granted, allowed: limit }: Claim): void {
  if (granted) return;
  throw new ApiError(
    "quota_exceeded",
    `Quota ${name} exceeded: the account may have ${limit} ${COUNTED[name]}.`,
  );
}

/**
 * The state of a quota. `seconds` and `resetsAt` (Unix milliseconds) are null for a quota without a
 * window.
 */
export type QuotaState = {
  name: QuotaName;
  limit: number;
  used: number;
  seconds: number | null;
  resetsAt: number | null;
};
