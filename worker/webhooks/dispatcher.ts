/** Makes the deliveries that are due to the leased webhooks, in turn, within its bounds. */
import type postgres from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Context } from "../context.ts";
import type { Metrics } from "../metrics.ts";
import { attempt, type AttemptResult, type Transport } from "./attempt.ts";
import type { Endpoint } from "./endpoint.ts";
import { readEvents, type StoredEvent } from "./events.ts";
import {
  disable,
  FAILING_SECONDS_MAX,
  makeDue,
  ResultWriter,
  setFailing,
  setSlow,
  setWanted,
} from "./results.ts";
import { Slots, type TakenDelivery } from "./slots.ts";

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
  #disabled = 0;
  #isClosed = false;
  #isDispatching = false;
  #isWanted = false;

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
  async dispatch(): Promise<void> {
    this.#isWanted = true;
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    while (this.#isWanted) {
      this.#isWanted = false;
      await this.#begin();
    }
    this.#isDispatching = false;
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
    const { failing, slow, recovered, wanted } = endpoint.finish(delivery, end, dueAt);
    const failedMs = now - (endpoint.failingSince ?? now);
    try {
      if (failing !== undefined) await setFailing(this.#sql, this.#workerId, { id, failing });
      if (slow !== undefined) await setSlow(this.#sql, this.#workerId, { id, slow });
      if (wanted) await setWanted(this.#sql, this.#workerId, { id, url });
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
