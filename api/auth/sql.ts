/**
 * Authorizes requests of API keys in PostgreSQL, and consumes them from the accounts' rate limits:
 * one statement for any number of keys.
 */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { unavailable } from "../http/errors.ts";
import type { Principal } from "../http/principal.ts";
import type { LimitWindow } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import type { AccessRule } from "./access-rules.ts";
import type { KeyParts } from "./api-key.ts";

/**
 * The database's decision. `throttled` ends by itself; `suspended` lasts until an operator lifts
 * it.
 */
export type Verdict =
  "ok" | "revoked" | "expired" | "forbidden" | "throttled" | "suspended" | "limited";

/** Requests of one key under one rule. */
export type RequestGroup = {
  key: KeyParts;
  rule: AccessRule;
  /** How many requests they are to consume. */
  wanted: number;
  /** The key's requests that this process has refused by itself since the last query. */
  refused: number;
  /** The client's network, as the ledger keeps it; null if its address is not known. */
  network: string | null;
};

/** The database's decision about a request of an existing key. */
export type AuthorizationResult = {
  verdict: Verdict;
  /** Whether another key has replaced a revoked one. */
  isReplaced: boolean;
  principal: Principal;
  /** CIDR blocks from which the key works; none for everywhere. */
  allowedNetworks: readonly string[];
  /** The database's clock and the end of the throttling, in Unix milliseconds. */
  now: number;
  throttledUntil: number | null;
  windows: LimitWindow[];
};

/** The decision about several requests of one key under one rule. */
export type BatchResult = AuthorizationResult & {
  /** How many of the requests are granted; the windows are as after the last of them. */
  granted: number;
};

/** After this long a query counts as failed: a late response is of no use to the client. */
const TIMEOUT_MS = 1_500;

/**
 * Authorizes requests of any number of keys in one round trip. The result of a key that does not
 * exist is undefined. Throws `unavailable` when PostgreSQL does not respond in time.
 */
export async function authorizeAll(
  sql: Sql,
  requests: readonly RequestGroup[],
  timeoutMs = TIMEOUT_MS,
): Promise<(BatchResult | undefined)[]> {
  const rows = await withTimeout(authorizeRequests(sql, requests), timeoutMs, () =>
    unavailable("PostgreSQL did not respond in time."),
  );
  const byNumber = new Map(rows.map((row) => [row.number, row]));
  return requests.map((_, i) => {
    const row = byNumber.get(i + 1);
    return row === undefined || row.verdict === "unknown"
      ? undefined
      : toBatchResult(row, row.verdict);
  });
}

/** A row of `authorize_request`; times are Unix milliseconds by the database's clock. */
type AuthorizationRow = {
  /** The index of the key in the statement's parameters, from 1. */
  number: number;
  verdict: Verdict | "unknown";
  /** Whether another key has replaced it, or will when its grace ends. */
  is_replaced: boolean;
  allowed_networks: string[];
  granted: number;
  key_id: Uuid;
  account_id: Uuid;
  mode: Mode;
  scopes: string[];
  plan: string;
  now_ms: number;
  throttled_until_ms: number | null;
  windows: LimitWindow[];
};

/**
 * Authorizes requests of keys under rules and consumes the granted ones: see
 * `migrations/0001_accounts.sql`. A key whose lookup id is unknown has no row. Locks accounts in
 * the order of their ids; otherwise two of these queries could deadlock.
 */
const authorizeRequests = (
  sql: Sql,
  requests: readonly RequestGroup[],
): Promise<AuthorizationRow[]> =>
  sql<AuthorizationRow[]>`
    select requested.number::integer, requested.is_replaced, requested.allowed_networks, result.*
      from (
        select input.*, api_keys.replaced_by is not null as is_replaced, api_keys.allowed_networks
          from unnest(${requests.map(({ key }) => key.lookup)}::text[],
                      ${requests.map(({ key }) => key.secretHash.toString("hex"))}::text[],
                      ${requests.map(({ rule }) => rule.scope)}::text[],
                      ${requests.map(({ rule }) => rule.endpoint)}::text[],
                      ${requests.map(({ wanted }) => wanted)}::integer[],
                      ${requests.map(({ refused }) => refused)}::integer[],
                      ${requests.map(({ network }) => network)}::text[])
               with ordinality as input (lookup, hash, scope, endpoint, wanted, refused, network, number)
          join api_keys on api_keys.lookup = input.lookup
         order by api_keys.account_id, api_keys.mode, input.number
      ) requested
     cross join lateral authorize_request(requested.lookup, decode(requested.hash, 'hex'), requested.scope, requested.endpoint,
                                          requested.wanted, requested.refused, requested.network) result`.execute();

function toBatchResult(row: AuthorizationRow, verdict: Verdict): BatchResult {
  return {
    verdict,
    isReplaced: row.is_replaced,
    allowedNetworks: row.allowed_networks,
    granted: row.granted,
    principal: {
      callerId: row.key_id,
      actor: { type: "api_key", id: row.key_id },
      accountId: row.account_id,
      mode: row.mode,
      scopes: row.scopes,
      plan: row.plan,
    },
    now: row.now_ms,
    throttledUntil: row.throttled_until_ms,
    windows: row.windows,
  };
}
