/** SQL of the authorization of requests by API key. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { AccessRule } from "./access-rules.ts";
import type { KeyParts } from "./api-key.ts";

/**
 * The database's decision. `suspended` ends by itself; `barred` is a suspension that an operator
 * must lift.
 */
export type Verdict =
  "ok" | "revoked" | "expired" | "forbidden" | "suspended" | "barred" | "limited";

/** Requests of one key under one rule. */
export type RequestGroup = {
  key: KeyParts;
  rule: AccessRule;
  /** The number of requests they consume in total. */
  cost: number;
  /** The key's requests that this process rejected from its cache. */
  rejected: number;
};

/** A row of `authorize_request`; times are Unix milliseconds by the database's clock. */
export type AuthorizationRow = {
  /** The index of the key in the statement's parameters, from 1. */
  number: number;
  verdict: Verdict | "unknown";
  /** Whether another key has replaced it, or will when its grace ends. */
  is_replaced: boolean;
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
 * Authorizes requests of keys under rules and consumes the granted ones: see
 * `migrations/0002_authorize.sql`. A key whose lookup id is unknown has no row. Locks accounts in
 * the order of their ids; otherwise two of these queries could deadlock.
 */
export const authorizeRequests = (
  sql: Sql,
  requests: readonly RequestGroup[],
): Promise<AuthorizationRow[]> =>
  sql<AuthorizationRow[]>`
    select requested.number::integer, requested.is_replaced, result.*
      from (
        select input.*, api_keys.replaced_by is not null as is_replaced
          from unnest(${requests.map(({ key }) => key.lookup)}::text[],
                      ${requests.map(({ key }) => key.secretHash.toString("hex"))}::text[],
                      ${requests.map(({ rule }) => rule.scope)}::text[],
                      ${requests.map(({ rule }) => rule.limit)}::text[],
                      ${requests.map(({ cost }) => cost)}::integer[],
                      ${requests.map(({ rejected }) => rejected)}::integer[])
               with ordinality as input (lookup, hash, scope, endpoint, requests, rejected, number)
          join api_keys on api_keys.lookup = input.lookup
         order by api_keys.account_id, api_keys.mode, input.number
      ) requested
     cross join lateral authorize_request(requested.lookup, decode(requested.hash, 'hex'), requested.scope, requested.endpoint,
                                          requested.requests, requested.rejected) result`.execute();
