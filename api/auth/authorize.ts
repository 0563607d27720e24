/** Asks PostgreSQL whether a key may make a request, and spends the request from its limits. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { unavailable } from "../http/errors.ts";
import type { LimitWindow } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import type { KeyParts } from "./api-key.ts";
import type { Scope } from "./scopes.ts";

/** Endpoints with a window of their own beside the plan's. */
type EndpointLimit =
  "POST /v1/links" | "POST /v1/analytics/bulk" | "GET /v1/analytics/*" | "POST /v1/domains";

export type AccessRule = {
  /** The scope the endpoint asks for; null for none. */
  scope: Scope | null;
  /** The endpoint's own window; null for none, `*` for those of all endpoints. */
  limit: EndpointLimit | "*" | null;
  /** How many requests it spends: 1, or 0 for a look at the limits. */
  cost: 0 | 1;
};

/** Who is calling. */
export type Principal = {
  keyId: Uuid;
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
  key_id: Uuid;
  account_id: Uuid;
  mode: Mode;
  scopes: string[];
  plan: string;
  now_ms: number;
  suspended_until_ms: number | null;
  windows: { name: string; allowed: number; seconds: number; spent: number; resets_at: number }[];
};

/** PostgreSQL is given up on after this long: a request without an answer helps nobody. */
const TIMEOUT_MS = 1_500;

/**
 * One round trip: see `migrations/0002_authorize.sql`. `refused` is how many requests of the key this
 * process refused by itself. Undefined when there is no such key; throws `unavailable` in time when
 * PostgreSQL does not answer.
 */
export async function authorize(
  sql: Sql,
  key: KeyParts,
  rule: AccessRule,
  refused: number,
): Promise<KnownVerdict | undefined> {
  const [row] = await withinTime(
    sql<[Row]>`
      select verdict, key_id, account_id, mode, scopes, plan, now_ms, suspended_until_ms, windows
        from authorize_request(${key.lookup}, ${key.secretHash}, ${rule.scope}, ${rule.limit}, ${rule.cost},
                               ${refused})`,
  );
  if (row.verdict === "unknown") return undefined;
  return {
    verdict: row.verdict,
    principal: {
      keyId: row.key_id,
      accountId: row.account_id,
      mode: row.mode,
      scopes: row.scopes,
      plan: row.plan,
    },
    now: row.now_ms,
    suspendedUntil: row.suspended_until_ms,
    windows: row.windows.map(({ resets_at, ...window }) => ({ ...window, resetsAt: resets_at })),
  };
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
