/**
 * The quota of concurrent live streams, exact across processes. Each open stream holds a lease in
 * PostgreSQL, which its process renews; the leases of a killed process expire.
 */
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { requireClaimed } from "./quotas.ts";
import { deleteLease, insertLease, renewLeases } from "./sql.ts";

/** A lease's length: how long the streams of a killed process count against the quota. */
const LEASE_SECONDS = 15;

/** A third of a lease, so that streams survive one failed renewal. */
const RENEW_MS = (LEASE_SECONDS * 1_000) / 3;

export type StreamLeases = ReturnType<typeof createStreamLeases>;

export function createStreamLeases({ sql, log }: { sql: Sql; log: Log }) {
  /**
   * The held leases: the callback for a lost lease, and the time (`performance.now()`) until which
   * it is certainly valid.
   */
  const held = new Map<Uuid, { onLost: () => void; until: number }>();

  async function renew(): Promise<void> {
    const ids = [...held.keys()];
    if (ids.length === 0) return;
    const until = endOfLease();
    const renewed = await renewLeases(sql, ids, LEASE_SECONDS);
    for (const id of ids) {
      const lease = held.get(id);
      if (lease !== undefined && renewed.has(id)) lease.until = until;
      else lose(id);
    }
  }

  /**
   * Ends the streams whose leases may expire before the next renewal, because another stream could
   * replace them.
   */
  function loseUnrenewed(): void {
    const next = performance.now() + RENEW_MS;
    for (const [id, { until }] of held) if (until <= next) lose(id);
  }

  function lose(id: Uuid): void {
    const lease = held.get(id);
    held.delete(id);
    lease?.onLost();
  }

  const timer = setInterval(() => {
    loseUnrenewed();
    renew().catch((error: unknown) => log.warn({ error }, "stream_leases_not_renewed"));
  }, RENEW_MS);

  return {
    /**
     * Acquires a lease for a stream and returns a function that releases it. Throws
     * `quota_exceeded` when the account's quota of streams is exhausted. Calls `onLost` when the
     * lease is lost before it is released.
     */
    async acquire(scope: AccountScope, onLost: () => void): Promise<() => Promise<void>> {
      const id = newUuid();
      const until = endOfLease();
      requireClaimed("live_streams", await insertLease(sql, id, scope, LEASE_SECONDS));
      held.set(id, { onLost, until });
      return async () => {
        held.delete(id);
        await deleteLease(sql, id);
      };
    },

    /** Stops renewing. */
    stop: () => clearInterval(timer),
  };
}

/**
 * The end of a lease that is written after this call (`performance.now()`): never later than
 * PostgreSQL's.
 */
const endOfLease = (): number => performance.now() + LEASE_SECONDS * 1_000;
