/** A webhook that this worker has leased. Times are those of `performance.now()`. */
import { MINUTE_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ATTEMPT_TIMEOUT_MS } from "./attempt.ts";
import { type AttemptEnd, createHealth } from "./health.ts";
import { LEASE_SECONDS, type LeasedWebhook } from "./leases.ts";
import { createQueue, type Pending, PENDING_MAX } from "./queue.ts";

/**
 * Most deliveries in flight to one webhook; one while it fails or is slow, and until one was
 * successful: before that it is not known whether its receiver wants any.
 */
const IN_FLIGHT_MAX = 5;
const UNPROVEN_IN_FLIGHT_MAX = 1;

/**
 * How long a webhook is left alone after an attempt: a failing one, one of which none was
 * successful, and one whose receiver has too many connections.
 */
const REST_MS = MINUTE_MS;
const UNPROVEN_REST_MS = 1_000;
const BUSY_REST_MS = 1_000;

export type Endpoint = ReturnType<typeof createEndpoint>;

/** `requestedAt` is before the statement that leased the webhook. */
export function createEndpoint(leased: LeasedWebhook, requestedAt: number) {
  const queue = createQueue();
  let health = createHealth(leased);
  /** When the results of deliveries that are no longer waiting were written; ∞ for not yet. */
  const ended = new Map<Uuid, number>();
  let webhook = leased;
  let leasedUntil = requestedAt + LEASE_SECONDS * 1_000;
  let restsUntil = 0;
  let needsRead = true;
  let isRetired = false;

  /** Whether it works, as far as is known: one that has not responded yet may be slow. */
  const isProven = (now: number): boolean => health.hasSucceeded() && !health.isThrottled(now);

  /** When the next attempt can be made; undefined without one. */
  function nextDueAt(): number | undefined {
    const dueAt = queue.nextDueAt();
    return dueAt === undefined ? undefined : Math.max(dueAt, restsUntil);
  }

  /** Takes over what the owner has changed. At another URL is another receiver. */
  function change(changed: LeasedWebhook): void {
    const isMoved = changed.url !== webhook.url;
    webhook = changed;
    if (!isMoved) return;
    health = createHealth(changed);
    restsUntil = 0;
    queue.makeDue(performance.now());
  }

  return {
    leasedAt: requestedAt,
    queue,
    webhook: () => webhook,
    isThrottled: (now: number): boolean => health.isThrottled(now),
    isProven,
    failingSince: () => health.failingSince(),
    change,

    /** Takes over the renewed lease, and what the owner has changed. */
    renew(renewed: LeasedWebhook, renewedAt: number): void {
      change(renewed);
      leasedUntil = renewedAt + LEASE_SECONDS * 1_000;
    },

    /** Whether its deliveries have to be read, at first or again. */
    needsRead: () => needsRead && !isRetired,

    /** Whether half of the queue is full, and something in it is due: more can wait. */
    isBusy: (now: number) => queue.size() > PENDING_MAX / 2 && (nextDueAt() ?? now) <= now,

    /** Begins no further attempt: the webhook is given back, or lost already. */
    retire: (): void => void (isRetired = true),
    isRetired: () => isRetired,

    /** Takes a delivery that may be attempted now; undefined without one. */
    take(now: number): Pending | undefined {
      if (isRetired || now < restsUntil || now + ATTEMPT_TIMEOUT_MS > leasedUntil) return undefined;
      const max = isProven(now) ? IN_FLIGHT_MAX : UNPROVEN_IN_FLIGHT_MAX;
      return queue.inFlight() < max ? queue.take(now) : undefined;
    },

    /**
     * Adds deliveries that were read at `readAt`. Those that ended about then are left out: the
     * statement may not have seen that, or somebody has made them due again.
     */
    add(rows: readonly Pending[], readAt: number): void {
      const fresh = rows.filter(({ id }) => (ended.get(id) ?? -1) < readAt);
      for (const [id, writtenAt] of ended) if (writtenAt < readAt) ended.delete(id);
      queue.add(fresh);
      needsRead = fresh.length < rows.length;
    },

    /** Ends an attempt; `dueAt` is when the next one is due. Returns what it changes. */
    finish(row: Pending, end: AttemptEnd, dueAt: number | undefined) {
      const now = performance.now();
      const changed = health.note(end, now);
      queue.finish(row, dueAt);
      if (dueAt === undefined) ended.set(row.id, Number.POSITIVE_INFINITY);
      if (changed.recovered) queue.makeDue(now);
      if (health.isFailing(now)) restsUntil = now + REST_MS;
      else if (!health.hasSucceeded()) restsUntil = now + UNPROVEN_REST_MS;
      return changed;
    },

    /** The result of a delivery was written. */
    written: (id: Uuid): void => void (ended.has(id) && ended.set(id, performance.now())),

    /** The receiver's address has too many connections: others have to end first. */
    restWhileBusy: (): void => void (restsUntil = performance.now() + BUSY_REST_MS),

    /** Somebody wants an attempt now. */
    wake: (): void => void (restsUntil = 0),

    nextDueAt,
  };
}
