/** SQL of the authorization of requests by API key. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { AccessRule } from "./access-rules.ts";
import type { KeyParts } from "./api-key.ts";

/** What the database decides; `suspended` is a suspension that ends by itself, `barred` one that an operator must lift. */
export type Verdict =
  "ok" | "revoked" | "expired" | "forbidden" | "suspended" | "barred" | "limited";

/** Requests of a key under a rule. */
export type WantedRequests = {
  key: KeyParts;
  rule: AccessRule;
  /** What they cost together. */
  wanted: number;
  /** The key's requests that this process rejected from its cache. */
  rejected: number;
};

/** A row of `authorize_request`; times are Unix milliseconds by the database's clock. */
export type AuthorizationRow = {
  /** Which of the keys it is about, from 1. */
  number: number;
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
 * Authorizes requests of keys under rules and consumes those it grants: see `migrations/0002_authorize.sql`. A key whose
 * public part is unknown has no row. Accounts are locked in the order of their ids, or two of these queries could wait
 * for each other.
 */
export const authorizeRequests = (
  sql: Sql,
  requests: readonly WantedRequests[],
): Promise<AuthorizationRow[]> =>
  sql<AuthorizationRow[]>`
    select wanted.number::integer, result.*
      from (
        select asked.*
          from unnest(${requests.map(({ key }) => key.lookup)}::text[],
                      ${requests.map(({ key }) => key.secretHash.toString("hex"))}::text[],
                      ${requests.map(({ rule }) => rule.scope)}::text[],
                      ${requests.map(({ rule }) => rule.limit)}::text[],
                      ${requests.map(({ wanted }) => wanted)}::integer[],
                      ${requests.map(({ rejected }) => rejected)}::integer[])
               with ordinality as asked (lookup, hash, scope, endpoint, requests, rejected, number)
          join api_keys on api_keys.lookup = asked.lookup
         order by api_keys.account_id, api_keys.mode, asked.number
      ) wanted
     cross join lateral authorize_request(wanted.lookup, decode(wanted.hash, 'hex'), wanted.scope, wanted.endpoint,
                                          wanted.requests, wanted.rejected) result`.execute();
