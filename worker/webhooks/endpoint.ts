/** A webhook that this worker has leased. Times are those of `performance.now()`. */
import { MINUTE_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ATTEMPT_TIMEOUT_MS } from "./attempt.ts";
import { type AttemptEnd, createHealth, type Health, type HealthChange } from "./health.ts";
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

export class Endpoint {
  readonly leasedAt: number;
  readonly queue = createQueue();
  #webhook: LeasedWebhook;
  #health: Health;
  #leasedUntil: number;
  #restsUntil = 0;
  #needsRead = true;
  #isRetired = false;
  /** When the results of deliveries that are no longer waiting were written; ∞ for not yet. */
  readonly #ended = new Map<Uuid, number>();

  /** `requestedAt` is before the statement that leased the webhook. */
  constructor(leased: LeasedWebhook, requestedAt: number) {
    this.leasedAt = requestedAt;
    this.#webhook = leased;
    this.#health = createHealth(leased);
    this.#leasedUntil = requestedAt + LEASE_SECONDS * 1_000;
  }

  webhook(): LeasedWebhook {
    return this.#webhook;
  }

  isThrottled(now: number): boolean {
    return this.#health.isThrottled(now);
  }

  /** Whether it works, as far as is known: one that has not responded yet may be slow. */
  isProven(now: number): boolean {
    return this.#health.hasSucceeded() && !this.#health.isThrottled(now);
  }

  failingSince(): number | undefined {
    return this.#health.failingSince();
  }

  /** Takes over what the owner has changed. At another URL is another receiver. */
  change(changed: LeasedWebhook): void {
    const isMoved = changed.url !== this.#webhook.url;
    this.#webhook = changed;
    if (!isMoved) return;
    this.#health = createHealth(changed);
    this.#restsUntil = 0;
    this.queue.makeDue(performance.now());
  }

  /** Takes over the renewed lease, and what the owner has changed. */
  renew(renewed: LeasedWebhook, renewedAt: number): void {
    this.change(renewed);
    this.#leasedUntil = renewedAt + LEASE_SECONDS * 1_000;
  }

  /** Whether its deliveries have to be read, at first or again. */
  needsRead(): boolean {
    return this.#needsRead && !this.#isRetired;
  }

  /** Whether half of the queue is full, and something in it is due: more can wait. */
  isBusy(now: number): boolean {
    return this.queue.size() > PENDING_MAX / 2 && (this.nextDueAt() ?? now) <= now;
  }

  /** Begins no further attempt: the webhook is given back, or lost already. */
  retire(): void {
    this.#isRetired = true;
  }

  isRetired(): boolean {
    return this.#isRetired;
  }

  /** Takes a delivery that may be attempted now; undefined without one. */
  take(now: number): Pending | undefined {
    if (this.#isRetired || now < this.#restsUntil) return undefined;
    if (now + ATTEMPT_TIMEOUT_MS > this.#leasedUntil) return undefined;
    const max = this.isProven(now) ? IN_FLIGHT_MAX : UNPROVEN_IN_FLIGHT_MAX;
    return this.queue.inFlight() < max ? this.queue.take(now) : undefined;
  }

  /**
   * Adds deliveries that were read at `readAt`. Those that ended about then are left out: the
   * statement may not have seen that, or somebody has made them due again.
   */
  add(rows: readonly Pending[], readAt: number): void {
    const fresh = rows.filter(({ id }) => (this.#ended.get(id) ?? -1) < readAt);
    for (const [id, writtenAt] of this.#ended) if (writtenAt < readAt) this.#ended.delete(id);
    this.queue.add(fresh);
    this.#needsRead = fresh.length < rows.length;
  }

  /** Ends an attempt; `dueAt` is when the next one is due. Returns what it changes. */
  finish(row: Pending, end: AttemptEnd, dueAt: number | undefined): HealthChange {
    const now = performance.now();
    const changed = this.#health.note(end, now);
    this.queue.finish(row, dueAt);
    if (dueAt === undefined) this.#ended.set(row.id, Number.POSITIVE_INFINITY);
    if (changed.recovered) this.queue.makeDue(now);
    if (this.#health.isFailing(now)) this.#restsUntil = now + REST_MS;
    else if (!this.#health.hasSucceeded()) this.#restsUntil = now + UNPROVEN_REST_MS;
    return changed;
  }

  /** The result of a delivery was written. */
  written(id: Uuid): void {
    if (this.#ended.has(id)) this.#ended.set(id, performance.now());
  }

  /** The receiver's address has too many connections: others have to end first. */
  restWhileBusy(): void {
    this.#restsUntil = performance.now() + BUSY_REST_MS;
  }

  /** Somebody wants an attempt now. */
  wake(): void {
    this.#restsUntil = 0;
  }

  /** When the next attempt can be made; undefined without one. */
  nextDueAt(): number | undefined {
    const dueAt = this.queue.nextDueAt();
    return dueAt === undefined ? undefined : Math.max(dueAt, this.#restsUntil);
  }
}
