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
export interface IdempotencyStore {
  /**
   * Leases a request that is new or expired, or whose lease has expired without a result; a
   * takeover keeps the id of the resource being created. Returns the stored request when it cannot
   * be leased.
   */
  claim(request: StoredRequest, resourceId: Uuid): Promise<LeaseResult>;
  /** Stores the result of a leased request. */
  save(request: StoredRequest, result: Uint8Array): Promise<void>;
  /** Ends the lease, so that a retry can take over the request at once. */
  release(request: StoredRequest): Promise<void>;
  /** Deletes a leased request, so that another one can use its key. */
  forget(request: StoredRequest): Promise<void>;
}

/** How long a stored result is replayed. */
const TTL_HOURS = 24;

/** How long a request may run before a retry takes over its lease. */
const LEASE_SECONDS = 60;

/** Stores requests in PostgreSQL, shared by all processes. */
export class PostgresRequests implements IdempotencyStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async claim(
    { accountId, mode, keyHash, requestHash }: StoredRequest,
    resourceId: Uuid,
  ): Promise<LeaseResult> {
    const sql = this.#sql;
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

  async save({ accountId, mode, keyHash }: StoredRequest, result: Uint8Array): Promise<void> {
    await this.#sql`
      update idempotency_keys set answer = ${result}
       where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}`;
  }

  async release({ accountId, mode, keyHash }: StoredRequest): Promise<void> {
    await this.#sql`
      update idempotency_keys set claimed_until = '-infinity'
       where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}`;
  }

  async forget({ accountId, mode, keyHash, requestHash }: StoredRequest): Promise<void> {
    await this.#sql`
      delete from idempotency_keys
       where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}
         and request_hash = ${requestHash} and answer is null`;
  }
}

/** Deletes requests whose results are no longer replayed. */
export async function deleteExpiredRequests(sql: Sql): Promise<void> {
  await sql`
    delete from idempotency_keys
     where created_at < clock_timestamp() - make_interval(hours => ${TTL_HOURS})`;
}
