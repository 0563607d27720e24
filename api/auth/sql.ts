/** SQL of the authorization of requests by API key. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { AccessRule } from "./access-rules.ts";
import type { KeyParts } from "./api-key.ts";

/** What the database decides; `suspended` is a suspension that ends by itself, `barred` one that an operator must lift. */
export type Verdict =
  "ok" | "revoked" | "expired" | "forbidden" | "suspended" | "barred" | "limited";

/** A row of `authorize_request`; times are Unix milliseconds by the database's clock. */
export type AuthorizationRow = {
  verdict: Verdict | "unknown";
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

/**
 * Authorizes `wanted` requests of a key under a rule and consumes those it grants: see
 * `migrations/0002_authorize.sql`. `rejected` counts the key's requests that this process rejected from its cache.
 */
export async function authorizeRequests(
  sql: Sql,
  key: KeyParts,
  rule: AccessRule,
  wanted: number,
  rejected: number,
): Promise<AuthorizationRow> {
  const [row] = await sql<[AuthorizationRow]>`
    select * from authorize_request(${key.lookup}, ${key.secretHash}, ${rule.scope}, ${rule.limit},
                                    ${wanted}, ${rejected})`;
  return row;
}
