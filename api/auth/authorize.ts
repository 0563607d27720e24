/**
 * Authorizes requests of an API key in PostgreSQL, and consumes them from the account's rate
 * limits.
 */
import { DAY_SECONDS } from "../../shared/durations.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { unavailable } from "../http/errors.ts";
import type { Principal } from "../http/principal.ts";
import type { LimitWindow } from "../http/rate-limit.ts";
import type { EndpointLimit } from "../limits/quotas.ts";
import type { Sql } from "../postgres.ts";
import type { AccessRule } from "./access-rules.ts";
import {
  type AuthorizationRow,
  authorizeRequests,
  type RequestGroup,
  type Verdict,
} from "./sql.ts";

/** The database's decision about a request of an existing key. */
export type AuthorizationResult = {
  verdict: Verdict;
  /** Whether another key has replaced a revoked one. */
  isReplaced?: boolean;
  principal: Principal;
  /** The database's clock and the end of a suspension, in Unix milliseconds. */
  now: number;
  suspendedUntil: number | null;
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
  return requests.map(({ rule }, i) => {
    const row = byNumber.get(i + 1);
    return row === undefined || row.verdict === "unknown"
      ? undefined
      : toBatchResult(row, row.verdict, rule);
  });
}

function toBatchResult(row: AuthorizationRow, verdict: Verdict, rule: AccessRule): BatchResult {
  return {
    verdict,
    isReplaced: row.is_replaced,
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
    suspendedUntil: row.suspended_until_ms,
    windows: toWindows(row, rule.limit),
  };
}

function toWindows(row: AuthorizationRow, endpoint: EndpointLimit | null): LimitWindow[] {
  const windows: LimitWindow[] = [
    {
      name: "burst",
      limit: row.burst_allowed,
      seconds: 1,
      used: row.burst_spent,
      resetsAt: row.burst_resets_ms,
    },
    {
      name: "minute",
      limit: row.minute_allowed,
      seconds: 60,
      used: row.minute_spent,
      resetsAt: row.minute_resets_ms,
    },
    {
      name: "day",
      limit: row.day_allowed,
      seconds: DAY_SECONDS,
      used: row.day_spent,
      resetsAt: row.day_resets_ms,
    },
  ];
  if (endpoint === null) return windows;
  windows.push({
    name: endpoint,
    limit: row.endpoint_allowed,
    seconds: row.endpoint_seconds,
    used: row.endpoint_spent,
    resetsAt: row.endpoint_resets_ms,
  });
  return windows;
}
