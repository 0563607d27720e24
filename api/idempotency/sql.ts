/** SQL of idempotent requests. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";

/** An idempotent request as it is stored: its account, and hashes of its key and of its content. */
export type StoredRequest = AccountScope & { keyHash: Uint8Array; requestHash: Uint8Array };

export type LeaseResult = {
  /** Whether the caller now holds the lease and must execute the request. */
  claimed: boolean;
  resource_id: Uuid;
  request_hash: Uint8Array;
  /** The stored result, encrypted; null while the request is being executed. */
  result: Uint8Array | null;
};

/** Stores idempotent requests and their results. */
export type IdempotencyStore = {
  /** See {@link claimRequest}. */
  claim(request: StoredRequest, resourceId: Uuid): Promise<LeaseResult>;
  /** See {@link saveResult}. */
  save(request: StoredRequest, result: Uint8Array): Promise<void>;
  /** See {@link releaseRequest}. */
  release(request: StoredRequest): Promise<void>;
  /** See {@link forgetRequest}. */
  forget(request: StoredRequest): Promise<void>;
};

/** Stores requests in PostgreSQL, shared by all processes. */
export const createIdempotencyStore = (sql: Sql): IdempotencyStore => ({
  claim: (request, resourceId) => claimRequest(sql, request, resourceId),
  save: (request, result) => saveResult(sql, request, result),
  release: (request) => releaseRequest(sql, request),
  forget: (request) => forgetRequest(sql, request),
});

/** How long a stored result is replayed. */
const TTL_HOURS = 24;

/** How long a request may run before a retry takes over its lease. */
const LEASE_SECONDS = 60;

/**
 * Leases a request that is new or expired, or whose lease has expired without a result; a takeover
 * keeps the id of the resource being created. Returns the stored request when it cannot be leased.
 */
async function claimRequest(
  sql: Sql,
  { accountId, mode, keyHash, requestHash }: StoredRequest,
  resourceId: Uuid,
): Promise<LeaseResult> {
  const [claimed] = await sql<Omit<LeaseResult, "claimed">[]>`
    insert into idempotency_keys as known
           (account_id, mode, key_hash, request_hash, resource_id, claimed_until)
    values (${accountId}, ${mode}, ${keyHash}, ${requestHash}, ${resourceId},
            clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}))
    on conflict (account_id, mode, key_hash) do update
       set request_hash = excluded.request_hash, claimed_until = excluded.claimed_until, answer = null,
           created_at = excluded.created_at,
           resource_id = case when known.created_at < clock_timestamp() - make_interval(hours => ${TTL_HOURS})
                              then excluded.resource_id else known.resource_id end
     where known.created_at < clock_timestamp() - make_interval(hours => ${TTL_HOURS})
        or (known.answer is null and known.claimed_until < clock_timestamp()
            and known.request_hash = excluded.request_hash)
    returning resource_id, request_hash, answer as result`;
  if (claimed !== undefined) return { claimed: true, ...claimed };
  const [stored] = await sql<Omit<LeaseResult, "claimed">[]>`
    select resource_id, request_hash, answer as result from idempotency_keys
     where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}`;
  if (stored === undefined) throw new Error("An idempotent request vanished.");
  return { claimed: false, ...stored };
}

/** Stores the result of a leased request. */
async function saveResult(sql: Sql, request: StoredRequest, result: Uint8Array): Promise<void> {
  await sql`
    update idempotency_keys set answer = ${result}
     where account_id = ${request.accountId} and mode = ${request.mode} and key_hash = ${request.keyHash}`;
}

/** Ends the lease, so that a retry can take over the request at once. */
async function releaseRequest(sql: Sql, request: StoredRequest): Promise<void> {
  await sql`
    update idempotency_keys set claimed_until = '-infinity'
     where account_id = ${request.accountId} and mode = ${request.mode} and key_hash = ${request.keyHash}`;
}

/** Deletes a leased request, so that another one can use its key. */
async function forgetRequest(sql: Sql, request: StoredRequest): Promise<void> {
  await sql`
    delete from idempotency_keys
     where account_id = ${request.accountId} and mode = ${request.mode} and key_hash = ${request.keyHash}
       and request_hash = ${request.requestHash} and answer is null`;
}

/** Deletes requests whose results are no longer replayed. */
export async function deleteExpiredRequests(sql: Sql): Promise<void> {
  await sql`
    delete from idempotency_keys
     where created_at < clock_timestamp() - make_interval(hours => ${TTL_HOURS})`;
}
