/** Makes the deliveries that are due to the leased webhooks, in turn, within its bounds. */
import type postgres from "postgres";

import { boundsOf } from "../../shared/budgets.ts";
import { CoalescedCalls } from "../../shared/coalesced-calls.ts";
import type { Uuid } from "../../shared/ids.ts";
import { Credit, KeyCounts } from "../../shared/local-limits.ts";
import type { Log } from "../../shared/log.ts";
import type { Context } from "../context.ts";
import type { Metrics } from "../metrics.ts";
import { attempt, type AttemptResult, type Transport } from "./attempt.ts";
import type { Endpoint } from "./endpoint.ts";
import { readEvents, type StoredEvent } from "./events.ts";
import type { Pending } from "./leases.ts";
import { disable, FAILING_SECONDS_MAX, makeDue, noteHealth, ResultWriter } from "./results.ts";

/** No attempt begins while so many results wait to be written. */
const RESULTS_MAX = 1_000;

export class Dispatcher {
  /** The webhooks that this worker has leased. */
  readonly endpoints = new Map<Uuid, Endpoint>();
  readonly #sql: postgres.Sql;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #transport: Transport;
  readonly #workerId: Uuid;
  readonly #results: ResultWriter;
  readonly #slots = new Slots();
  readonly #stopping = new AbortController();
  readonly #dispatches = new CoalescedCalls<void, void>(() => this.#begin());
  #disabled = 0;
  #isClosed = false;

  constructor({ webhooksSql, log, metrics }: Context, transport: Transport, workerId: Uuid) {
    this.#sql = webhooksSql;
    this.#log = log;
    this.#metrics = metrics;
    this.#transport = transport;
    this.#workerId = workerId;
    this.#results = new ResultWriter(webhooksSql, workerId, log, ({ webhookId, id }) =>
      this.endpoints.get(webhookId)?.written(id),
    );
  }

  get inFlight(): number {
    return this.#slots.used;
  }

  /** Webhooks that this worker has disabled. */
  get disabled(): number {
    return this.#disabled;
  }

  /** Begins what is due; what becomes due while events are read is read together afterwards. */
  dispatch(): Promise<void> {
    return this.#dispatches.run();
  }

  /** Writes all results; returns false when PostgreSQL has not taken them. */
  flush(): Promise<boolean> {
    return this.#results.flush();
  }

  /** Begins no further attempt. */
  close(): void {
    this.#isClosed = true;
  }

  /** Stops the attempts in flight. */
  abort(): void {
    this.#stopping.abort();
  }

  async #begin(): Promise<void> {
    if (this.#isClosed || this.#results.waiting >= RESULTS_MAX) return;
    const taken = this.#slots.take(this.endpoints.values());
    if (taken.length === 0) return;
    try {
      const ids = taken.map(({ delivery }) => delivery.eventId);
      const events = await readEvents(this.#sql, ids);
      for (const one of taken) void this.#deliver(one, events.get(one.delivery.eventId));
    } catch (error) {
      this.#log.warn({ error }, "webhook_events_not_read");
      for (const one of taken) this.#slots.putBack(one);
    }
  }

  async #deliver(taken: TakenDelivery, event: StoredEvent | undefined): Promise<void> {
    const { endpoint, delivery, isProven } = taken;
    const { webhook } = endpoint;
    const { signal } = this.#stopping;
    const work = { webhook, delivery, event, isProven, signal };
    const result = await attempt(this.#transport, work);
    if (result === undefined) endpoint.restWhileBusy();
    // An attempt that was stopped, or was made where the receiver is no longer, says nothing of it.
    const isObsolete = signal.aborted || endpoint.webhook.url !== webhook.url;
    if (result === undefined || (isObsolete && result.outcome.status !== "delivered"))
      return this.#slots.putBack(taken);
    this.#slots.free(taken);
    const { outcome } = result;
    this.#metrics.observeAttempt(outcome.status, outcome.latencyMs);
    this.#results.add({ ...outcome, id: delivery.id, webhookId: webhook.id });
    await this.#noteAttempt(taken, webhook.url, result);
    await this.dispatch();
  }

  /** Notes what an attempt says of its webhook; after an error, the next one says it again. */
  async #noteAttempt(
    { endpoint, delivery }: TakenDelivery,
    url: string,
    { outcome, isGone }: AttemptResult,
  ): Promise<void> {
    const { id } = endpoint.webhook;
    const now = performance.now();
    const dueAt = outcome.delayMs === null ? undefined : now + outcome.delayMs;
    const end = { delivered: outcome.status === "delivered", latencyMs: outcome.latencyMs };
    const changed = endpoint.finish(delivery, end, dueAt);
    const { failing, slow, wanted, recovered } = changed;
    const failedMs = now - (endpoint.failingSince ?? now);
    try {
      if (failing !== undefined || slow !== undefined || wanted)
        await noteHealth(this.#sql, this.#workerId, { id, url }, changed);
      if (recovered) await makeDue(this.#sql, id);
      if (!isGone && failedMs < FAILING_SECONDS_MAX * 1_000) return;
      const reason = isGone ? "gone" : "failing";
      if (await disable(this.#sql, this.#workerId, { id, reason })) this.#disabled++;
      this.#log.info({ webhook: id, reason }, "webhook_disabled");
      endpoint.retire();
    } catch (error) {
      this.#log.warn({ error, webhook: id }, "webhook_state_not_written");
    }
  }
}

/**
 * Maximum deliveries in flight; of those to webhooks that have not responded yet, fail or are slow;
 * and of those to webhooks of which it is known that they fail or are slow.
 */
const IN_FLIGHT_MAX = 200;
const UNPROVEN_IN_FLIGHT_MAX = 160;
const THROTTLED_IN_FLIGHT_MAX = 100;

/** An account has at most this part of the places that are left: another one finds some. */
const SHARE_OF_LEFT = 1 / 3;

/** Accounts whose budgets are remembered. */
const ACCOUNTS_MAX = 50_000;

/** A delivery that is made, and the places that it takes. */
export type TakenDelivery = {
  endpoint: Endpoint;
  delivery: Pending;
  isProven: boolean;
  places: readonly Places[];
};

/** Places for deliveries, counted by account, of which one never has all. */
class Places extends KeyCounts {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  isFree(account: string): boolean {
    const left = this.#max - this.total;
    const own = this.of(account);
    return left > 0 && (own === 0 || own < left * SHARE_OF_LEFT);
  }
}

/** How many deliveries a worker makes at once and in the course of time, and whose is next. */
export class Slots {
  readonly #all = new Places(IN_FLIGHT_MAX);
  readonly #unproven = new Places(UNPROVEN_IN_FLIGHT_MAX);
  readonly #throttled = new Places(THROTTLED_IN_FLIGHT_MAX);
  readonly #credit: Credit;
  /** The last turn of each webhook; ascending. */
  readonly #lastTurns = new WeakMap<Endpoint, number>();
  #turn = 0;

  constructor(now?: () => number) {
    this.#credit = new Credit(ACCOUNTS_MAX, now);
  }

  get used(): number {
    return this.#all.total;
  }

  /**
   * Takes deliveries of the accounts in turn, and for each of its webhooks in turn, beginning with
   * the one of which none was taken for the longest time.
   */
  take(endpoints: Iterable<Endpoint>): TakenDelivery[] {
    const taken: TakenDelivery[] = [];
    const now = performance.now();
    let lines = this.#linesByAccount(endpoints);
    while (lines.length > 0) {
      for (const line of lines) {
        const one = this.#takeFirst(line, now);
        if (one !== undefined) taken.push(one);
      }
      lines = lines.filter((line) => line.length > 0);
    }
    return taken;
  }

  /** Frees the places of a delivery of which an attempt was made. */
  free({ endpoint, places }: TakenDelivery): void {
    const { account_id } = endpoint.webhook;
    for (const each of places) each.add(account_id, -1);
  }

  /** Frees the places of a delivery of which no attempt was made, which is as if never taken. */
  putBack(taken: TakenDelivery): void {
    this.free(taken);
    this.#spend(taken.endpoint, -1);
    taken.endpoint.queue.putBack(taken.delivery);
  }

  /** The webhooks of each account in the order of their turns, in the order of the accounts'. */
  #linesByAccount(endpoints: Iterable<Endpoint>): Endpoint[][] {
    const turnOf = (endpoint: Endpoint): number => this.#lastTurns.get(endpoint) ?? 0;
    const inOrder = Array.from(endpoints).toSorted((a, b) => turnOf(a) - turnOf(b));
    const lines = Map.groupBy(inOrder, (endpoint) => endpoint.webhook.account_id);
    const lastOf = (line: Endpoint[]): number => line.map(turnOf).at(-1) ?? 0;
    return [...lines.values()].toSorted((a, b) => lastOf(a) - lastOf(b));
  }

  /** Takes a delivery of the first webhook that has one; those before it leave the line. */
  #takeFirst(line: Endpoint[], now: number): TakenDelivery | undefined {
    for (const [index, endpoint] of line.entries()) {
      const one = this.#takeOne(endpoint, now);
      if (one === undefined) continue;
      line.splice(0, index + 1);
      line.push(endpoint);
      this.#lastTurns.set(endpoint, ++this.#turn);
      return one;
    }
    line.length = 0;
    return undefined;
  }

  /** Takes a delivery of a webhook, if one is due, and a place and some budget are left. */
  #takeOne(endpoint: Endpoint, now: number): TakenDelivery | undefined {
    const { account_id, plan } = endpoint.webhook;
    const isProven = endpoint.isProven(now);
    const places = [this.#all];
    if (!isProven) places.push(this.#unproven);
    if (endpoint.isThrottled(now)) places.push(this.#throttled);
    if (!places.every((each) => each.isFree(account_id))) return undefined;
    if (this.#credit.waitMs(account_id, boundsOf("deliveries", plan)) > 0) return undefined;
    const delivery = endpoint.take(now);
    if (delivery === undefined) return undefined;
    for (const each of places) each.add(account_id, 1);
    this.#spend(endpoint, 1);
    return { endpoint, delivery, isProven, places };
  }

  #spend(endpoint: Endpoint, units: number): void {
    const { account_id, plan } = endpoint.webhook;
    this.#credit.spend(account_id, units, boundsOf("deliveries", plan));
  }
}
