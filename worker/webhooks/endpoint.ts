/**
 * A webhook that this worker has leased: its deliveries that wait, and whether it works. Times are
 * those of `performance.now()`, which no change of the clock affects.
 */
import { MINUTE_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ATTEMPT_TIMEOUT_MS } from "./attempt.ts";
import {
  FAILING_SECONDS,
  LEASE_SECONDS,
  type LeasedWebhook,
  type Pending,
  PENDING_MAX,
} from "./leases.ts";
import type { HealthChange } from "./results.ts";

/**
 * Maximum deliveries in flight to one webhook; one while it fails or is slow, and until one was
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
  readonly queue = new Queue();
  #webhook: LeasedWebhook;
  #health: Health;
  #leasedUntil: number;
  #restsUntil = 0;
  #needsRead = true;
  #readAt = 0;
  #isRetired = false;
  /** When the results of deliveries that are no longer waiting were written; ∞ for not yet. */
  readonly #ended = new Map<Uuid, number>();

  /** `requestedAt` is before the statement that leased the webhook. */
  constructor(leased: LeasedWebhook, requestedAt: number) {
    this.leasedAt = requestedAt;
    this.#webhook = leased;
    this.#health = new Health(leased);
    this.#leasedUntil = requestedAt + LEASE_SECONDS * 1_000;
  }

  get webhook(): LeasedWebhook {
    return this.#webhook;
  }

  isThrottled(now: number): boolean {
    return this.#health.isThrottled(now);
  }

  /** Whether it works, as far as is known: one that has not responded yet may be slow. */
  isProven(now: number): boolean {
    return this.#health.hasSucceeded && !this.#health.isThrottled(now);
  }

  get failingSince(): number | undefined {
    return this.#health.failingSince;
  }

  /** Takes over what the owner has changed. At another URL is another receiver. */
  change(changed: LeasedWebhook): void {
    const isMoved = changed.url !== this.#webhook.url;
    this.#webhook = changed;
    if (!isMoved) return;
    this.#health = new Health(changed);
    this.#restsUntil = 0;
    this.queue.makeDue(performance.now());
  }

  /** Takes over the renewed lease, and what the owner has changed. */
  renew(renewed: LeasedWebhook, renewedAt: number): void {
    this.change(renewed);
    this.#leasedUntil = renewedAt + LEASE_SECONDS * 1_000;
  }

  /** Whether its deliveries have to be read, at first or again. */
  get needsRead(): boolean {
    return this.#needsRead && !this.#isRetired;
  }

  /** When its deliveries were read last; 0 for never. */
  get readAt(): number {
    return this.#readAt;
  }

  /** Whether half of the queue is full, and something in it is due: more can wait. */
  isBusy(now: number): boolean {
    return this.queue.size > PENDING_MAX / 2 && (this.nextDueAt ?? now) <= now;
  }

  /** Begins no further attempt: the webhook is given back, or lost already. */
  retire(): void {
    this.#isRetired = true;
  }

  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Takes a delivery that may be attempted now; undefined without one. */
  take(now: number): Pending | undefined {
    if (this.#isRetired || now < this.#restsUntil) return undefined;
    if (now + ATTEMPT_TIMEOUT_MS > this.#leasedUntil) return undefined;
    const max = this.isProven(now) ? IN_FLIGHT_MAX : UNPROVEN_IN_FLIGHT_MAX;
    return this.queue.inFlight < max ? this.queue.take(now) : undefined;
  }

  /**
   * Adds deliveries that were read at `readAt`. Those that ended about then are left out: the
   * statement may not have seen that, or somebody has made them due again.
   */
  add(rows: readonly Pending[], readAt: number): void {
    this.#readAt = readAt;
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
    else if (!this.#health.hasSucceeded) this.#restsUntil = now + UNPROVEN_REST_MS;
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
  get nextDueAt(): number | undefined {
    const dueAt = this.queue.nextDueAt;
    return dueAt === undefined ? undefined : Math.max(dueAt, this.#restsUntil);
  }
}

/** A webhook is slow while its attempts take longer on average, of which the last count most. */
const SLOW_MS = 2_000;
const LAST_ATTEMPT_WEIGHT = 0.3;

type AttemptEnd = { delivered: boolean; latencyMs: number };

class Health {
  #failingSince: number | undefined;
  /** Undefined before the first attempt. A slow one has to be quick several times. */
  #meanMs: number | undefined;
  #hasSucceeded: boolean;

  /** The health as the last worker left it. */
  constructor({ failing_seconds, is_slow, is_wanted }: LeasedWebhook) {
    if (failing_seconds !== null) this.#failingSince = performance.now() - failing_seconds * 1_000;
    if (is_slow) this.#meanMs = 2 * SLOW_MS;
    this.#hasSucceeded = is_wanted;
  }

  get failingSince(): number | undefined {
    return this.#failingSince;
  }

  /** Whether an attempt at its URL was ever successful. */
  get hasSucceeded(): boolean {
    return this.#hasSucceeded;
  }

  isFailing(now: number): boolean {
    return this.#failingSince !== undefined && now - this.#failingSince > FAILING_SECONDS * 1_000;
  }

  /** Whether its attempts are held apart from those of others. */
  isThrottled(now: number): boolean {
    return this.isFailing(now) || this.#isSlow();
  }

  note({ delivered, latencyMs }: AttemptEnd, now: number): HealthChange {
    const [wasFailing, wasSlow] = [this.#failingSince !== undefined, this.#isSlow()];
    const recovered = delivered && this.isFailing(now);
    const wanted = delivered && !this.#hasSucceeded;
    this.#hasSucceeded ||= delivered;
    this.#failingSince = delivered ? undefined : (this.#failingSince ?? now);
    const meanMs = this.#meanMs ?? latencyMs;
    this.#meanMs = meanMs + LAST_ATTEMPT_WEIGHT * (latencyMs - meanMs);
    return {
      failing: delivered === wasFailing ? !delivered : undefined,
      slow: this.#isSlow() === wasSlow ? undefined : this.#isSlow(),
      recovered,
      wanted,
    };
  }

  #isSlow(): boolean {
    return (this.#meanMs ?? 0) > SLOW_MS;
  }
}

/**
 * The deliveries of one webhook that wait, and those in flight. Deliveries with the same order key
 * are made one after another: while the first of them waits for another attempt, the others wait
 * for it.
 */
export class Queue {
  readonly #rows: Pending[] = [];
  readonly #inFlight = new Set<Uuid>();

  get size(): number {
    return this.#rows.length;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** When the next delivery that can be made is due; undefined without one. */
  get nextDueAt(): number | undefined {
    let first: number | undefined;
    for (const { dueAt } of this.#heads()) first = Math.min(first ?? dueAt, dueAt);
    return first;
  }

  /** Adds deliveries; of one that is there and waits, takes an earlier time. */
  add(added: readonly Pending[]): void {
    const known = new Map(this.#rows.map((row) => [row.id, row]));
    for (const row of added) {
      const found = known.get(row.id);
      if (found === undefined) this.#rows.push(row);
      else if (!this.#inFlight.has(row.id)) found.dueAt = Math.min(found.dueAt, row.dueAt);
    }
    this.#rows.sort((a, b) => a.position - b.position);
  }

  /** Takes the first delivery that is due, and marks it as in flight; undefined without one. */
  take(now: number): Pending | undefined {
    for (const row of this.#heads()) {
      if (row.dueAt > now) continue;
      this.#inFlight.add(row.id);
      return row;
    }
    return undefined;
  }

  /** Undoes `take`: no attempt was made. */
  putBack(row: Pending): void {
    this.#inFlight.delete(row.id);
  }

  /** Ends an attempt: removes the delivery, or sets when it is due again. */
  finish(row: Pending, dueAt: number | undefined): void {
    this.#inFlight.delete(row.id);
    row.attempts += 1;
    if (dueAt === undefined) this.#rows.splice(this.#rows.indexOf(row), 1);
    else row.dueAt = dueAt;
  }

  makeDue(now: number): void {
    for (const row of this.#rows) row.dueAt = Math.min(row.dueAt, now);
  }

  /** The deliveries that wait for no earlier one, in order. */
  *#heads(): Iterable<Pending> {
    const behind = new Set<Uuid>();
    for (const row of this.#rows) {
      if (row.orderKey !== null) {
        if (behind.has(row.orderKey)) continue;
        behind.add(row.orderKey);
      }
      if (!this.#inFlight.has(row.id)) yield row;
    }
  }
}
