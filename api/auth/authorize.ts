/** Asks PostgreSQL whether a key may make a request, and spends the request from its limits. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { unavailable } from "../http/errors.ts";
import type { LimitWindow } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import type { KeyParts } from "./api-key.ts";
import type { Permission } from "./scopes.ts";

/** Endpoints with a window of their own beside the plan's. */
export type EndpointLimit =
  "POST /v1/links" | "POST /v1/analytics/bulk" | "GET /v1/analytics/*" | "POST /v1/domains";

export type AccessRule = {
  /** The scope the endpoint asks for; null for none. */
  scope: Permission | null;
  /** The endpoint's own window; null for none. */
  limit: EndpointLimit | null;
  /** How many requests it spends: 1, or 0 for a look at the limits. */
  cost: 0 | 1;
};

/** Who is calling. */
export type Principal = {
  /** The API key, or the session of a person in the dashboard. */
  callerId: Uuid;
  accountId: Uuid;
  mode: Mode;
  scopes: readonly string[];
  plan: string;
};

/** What PostgreSQL says of a key that exists. */
export type KnownVerdict = {
  verdict: "ok" | "revoked" | "expired" | "forbidden" | "suspended" | "barred" | "limited";
  principal: Principal;
  /** The database's clock and the end of a suspension, in Unix milliseconds. */
  now: number;
  suspendedUntil: number | null;
  windows: LimitWindow[];
};

type Row = {
  verdict: KnownVerdict["verdict"] | "unknown";
  granted: number;
  key_id: Uuid;
  account_id: Uuid;
  mode: Mode;
  scopes: string[];
  plan: string;
  now_ms: number;
  suspended_until_ms: number | null;
  burst_allowed: number;
  burst_spent: number;
  burst_resets_ms: number;
  minute_allowed: number;
  minute_spent: number;
  minute_resets_ms: number;
  day_allowed: number;
  day_spent: number;
  day_resets_ms: number;
  endpoint_allowed: number;
  endpoint_seconds: number;
  endpoint_spent: number;
  endpoint_resets_ms: number;
};

/** PostgreSQL is given up on after this long: a request without an answer helps nobody. */
const TIMEOUT_MS = 1_500;

/** What one round trip says of requests of one key under one rule. */
export type Ruling = KnownVerdict & {
  /** How many of the requests are granted; the windows are as they stand after the last of them. */
  granted: number;
};

/**
 * One round trip for `wanted` requests: see `migrations/0002_authorize.sql`. `refused` is how many
 * requests of the key this process refused by itself. Undefined when there is no such key; throws
 * `unavailable` in time when PostgreSQL does not answer.
 */
export async function authorizeAll(
  sql: Sql,
  key: KeyParts,
  rule: AccessRule,
  wanted: number,
  refused: number,
): Promise<Ruling | undefined> {
  const [row] = await withinTime(
    sql<[Row]>`
      select * from authorize_request(${key.lookup}, ${key.secretHash}, ${rule.scope}, ${rule.limit},
                                      ${wanted}, ${refused})`,
  );
  if (row.verdict === "unknown") return undefined;
  return {
    verdict: row.verdict,
    granted: row.granted,
    principal: {
      callerId: row.key_id,
      accountId: row.account_id,
      mode: row.mode,
      scopes: row.scopes,
      plan: row.plan,
    },
    now: row.now_ms,
    suspendedUntil: row.suspended_until_ms,
    windows: windowsOf(row, rule.limit),
  };
}

function windowsOf(row: Row, endpoint: EndpointLimit | null): LimitWindow[] {
  const windows = [
    limitWindow("burst", row.burst_allowed, 1, row.burst_spent, row.burst_resets_ms),
    limitWindow("minute", row.minute_allowed, 60, row.minute_spent, row.minute_resets_ms),
    limitWindow("day", row.day_allowed, 86_400, row.day_spent, row.day_resets_ms),
  ];
  if (endpoint === null) return windows;
  const { endpoint_allowed, endpoint_seconds, endpoint_spent, endpoint_resets_ms } = row;
  windows.push(
    limitWindow(endpoint, endpoint_allowed, endpoint_seconds, endpoint_spent, endpoint_resets_ms),
  );
  return windows;
}

const limitWindow = (
  name: string,
  allowed: number,
  seconds: number,
  spent: number,
  resetsAt: number,
): LimitWindow => ({
  name,
  allowed,
  seconds,
  spent,
  resetsAt,
});

/** The windows of an account and mode as they stand, the plan's first; spends nothing. */
export async function windowsOfAccount(
  sql: Sql,
  { accountId, mode }: Pick<Principal, "accountId" | "mode">,
): Promise<LimitWindow[]> {
  const rows = await sql<
    { name: string; allowed: number; seconds: number; spent: number; resets_ms: number }[]
  >`
    select name, allowed, seconds, spent, resets_ms from plan_limits_of(${accountId}, ${mode})
    union all
    select name, allowed, seconds, spent, resets_ms from endpoint_limits_of(${accountId}, ${mode})`;
  return rows.map((row) =>
    limitWindow(row.name, row.allowed, row.seconds, row.spent, row.resets_ms),
  );
}

function withinTime<T>(query: PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(unavailable("PostgreSQL did not answer in time.")),
      TIMEOUT_MS,
    );
    query.then(resolve, reject).then(() => clearTimeout(timer), reject);
  });
}
