/**
 * The quota of concurrent live streams, exact across processes. Each open stream holds a lease in
 * PostgreSQL, which its process renews; the leases of a killed process expire.
 */
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { type Claim, requireClaimed } from "./quotas.ts";

/** A lease's length: how long the streams of a killed process count against the quota. */
const LEASE_SECONDS = 15;

/** A third of a lease, so that streams survive one failed renewal. */
const RENEW_MS = (LEASE_SECONDS * 1_000) / 3;

/** A held lease; `until` (`performance.now()`) is when it is certainly still valid. */
type HeldLease = { onLost: () => void; until: number };

/** Leases of an account's live streams. */
export interface StreamLeases {
  /**
   * Acquires a lease for a stream and returns a function that releases it. Throws `quota_exceeded`
   * when the account's quota of streams is exhausted. Calls `onLost` when the lease is lost before
   * it is released.
   */
  acquire(scope: AccountScope, onLost: () => void): Promise<() => Promise<void>>;
  stop(): void;
}

/** Leases in PostgreSQL, which all processes see. */
export class PostgresStreamLeases implements StreamLeases {
  readonly #sql: Sql;
  readonly #log: Log;
  readonly #held = new Map<Uuid, HeldLease>();
  readonly #renewals: Repetition;

  constructor(sql: Sql, log: Log) {
    this.#sql = sql;
    this.#log = log;
    this.#renewals = repeat(() => this.#beginRenewal(), RENEW_MS);
  }

  async acquire(scope: AccountScope, onLost: () => void): Promise<() => Promise<void>> {
    const id = newUuid();
    const until = endOfLease();
    requireClaimed("live_streams", await insertLease(this.#sql, id, scope));
    this.#held.set(id, { onLost, until });
    return async () => {
      this.#held.delete(id);
      await this.#sql`delete from stream_leases where id = ${id}`;
    };
  }

  stop(): void {
    void this.#renewals.stop();
  }

  /** Does not wait for PostgreSQL: leases end in time also while it does not respond. */
  #beginRenewal(): number {
    this.#loseUnrenewed();
    this.#renew().catch((error: unknown) => this.#log.warn({ error }, "stream_leases_not_renewed"));
    return RENEW_MS;
  }

  /**
   * Ends the streams whose leases may expire before the next renewal, because another stream could
   * replace them.
   */
  #loseUnrenewed(): void {
    const next = performance.now() + RENEW_MS;
    for (const [id, { until }] of this.#held) if (until <= next) this.#lose(id);
  }

  async #renew(): Promise<void> {
    const ids = [...this.#held.keys()];
    if (ids.length === 0) return;
    const until = endOfLease();
    const rows = await this.#sql<{ id: Uuid }[]>`
      update stream_leases set expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
       where id = any (${ids}::uuid[]) and expires_at > clock_timestamp()
      returning id`;
    const renewed = new Set(rows.map(({ id }) => id));
    for (const id of ids) {
      const lease = this.#held.get(id);
      if (lease !== undefined && renewed.has(id)) lease.until = until;
      else this.#lose(id);
    }
  }

  #lose(id: Uuid): void {
    const lease = this.#held.get(id);
    this.#held.delete(id);
    lease?.onLost();
  }
}

/**
 * The end of a lease that is written after this call (`performance.now()`): never later than
 * PostgreSQL's.
 */
const endOfLease = (): number => performance.now() + LEASE_SECONDS * 1_000;

/** Inserts a lease on a live stream, unless the account's quota of streams is exhausted. */
export async function insertLease(
  sql: Sql,
  id: Uuid,
  { accountId, mode }: AccountScope,
  seconds = LEASE_SECONDS,
): Promise<Claim> {
  const [claim] = await sql<[Claim]>`
    with quota as materialized (
      select granted, allowed from claim_quota(${accountId}, ${mode}, 'live_streams')
    ), inserted as (
      insert into stream_leases (id, account_id, mode, expires_at)
      select ${id}, ${accountId}, ${mode}, clock_timestamp() + make_interval(secs => ${seconds})
        from quota where granted
    )
    select * from quota`;
  return claim;
}
