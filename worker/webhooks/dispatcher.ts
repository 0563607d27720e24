/** Makes the deliveries that are due to the leased webhooks, in turn, within its bounds. */
import type postgres from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { attempt, type AttemptDeps, type AttemptResult } from "./attempt.ts";
import { Connections } from "./connections.ts";
import type { Endpoint } from "./endpoint.ts";
import { readEvents, type StoredEvent } from "./events.ts";
import type { Pending } from "./queue.ts";
import { createResultWriter } from "./result-writer.ts";
import {
  disable,
  FAILING_SECONDS_MAX,
  makeDue,
  type Outcome,
  setFailing,
  setSlow,
} from "./results.ts";
import { type Pick, Slots } from "./slots.ts";

/** No attempt begins while so many results wait to be written. */
const RESULTS_MAX = 1_000;

export type DispatcherDeps = AttemptDeps & {
  sql: postgres.Sql;
  workerId: Uuid;
  log: Log;
  /** Called for each attempt. */
  onAttempt(outcome: Outcome): void;
  /** Called for each webhook that was disabled. */
  onDisabled(): void;
};

export type Dispatcher = ReturnType<typeof createDispatcher>;

export function createDispatcher(deps: DispatcherDeps) {
  const { sql, workerId, log } = deps;
  const endpoints = new Map<Uuid, Endpoint>();
  const results = createResultWriter({
    sql,
    workerId,
    log,
    onWritten: ({ webhookId, id }) => endpoints.get(webhookId)?.written(id),
  });
  const stopping = new AbortController();
  const slots = new Slots();
  const connections = new Connections();
  let isClosed = false;
  let isPumping = false;
  let isWanted = false;
  const settle = createSettlement(deps);

  async function deliver(pick: Pick, event: StoredEvent | undefined): Promise<void> {
    const { endpoint, delivery, isProven } = pick;
    const webhook = endpoint.webhook();
    const { signal } = stopping;
    const work = { webhook, delivery, event, connections, isProven, signal };
    const result = await attempt(deps, work);
    if (result === undefined) endpoint.restWhileBusy();
    // An attempt that was stopped, or was made where the receiver is no longer, says nothing of it.
    const isObsolete = signal.aborted || endpoint.webhook().url !== webhook.url;
    if (result === undefined || (isObsolete && result.outcome.status !== "delivered"))
      return slots.putBack(pick);
    slots.free(pick);
    deps.onAttempt(result.outcome);
    results.add({ ...result.outcome, id: delivery.id, webhookId: webhook.id });
    await settle(endpoint, delivery, result);
    await pump();
  }

  /** Begins the deliveries that are due. */
  async function begin(): Promise<void> {
    if (isClosed || results.waiting() >= RESULTS_MAX) return;
    const picks = slots.take(endpoints.values());
    if (picks.length === 0) return;
    try {
      const events = await readEvents(
        sql,
        picks.map(({ delivery }) => delivery.eventId),
      );
      for (const pick of picks) void deliver(pick, events.get(pick.delivery.eventId));
    } catch (error) {
      log.warn({ error }, "webhook_events_not_read");
      for (const pick of picks) slots.putBack(pick);
    }
  }

  /** Begins what is due; what becomes due while events are read is read together afterwards. */
  async function pump(): Promise<void> {
    isWanted = true;
    if (isPumping) return;
    isPumping = true;
    while (isWanted) {
      isWanted = false;
      await begin();
    }
    isPumping = false;
  }

  return {
    endpoints,
    pump,
    flush: results.flush,
    inFlight: (): number => slots.used,
    /** Begins no further attempt. */
    close: (): void => void (isClosed = true),
    /** Stops the attempts in flight. */
    abort: (): void => stopping.abort(),
  };
}

/** What follows for a webhook from an attempt. Errors only delay that: later attempts repeat it. */
function createSettlement({ sql, workerId, log, onDisabled }: DispatcherDeps) {
  return async (
    endpoint: Endpoint,
    delivery: Pending,
    { outcome, isGone }: AttemptResult,
  ): Promise<void> => {
    const { id } = endpoint.webhook();
    const now = performance.now();
    const dueAt = outcome.delayMs === null ? undefined : now + outcome.delayMs;
    const end = { delivered: outcome.status === "delivered", latencyMs: outcome.latencyMs };
    const { failing, slow, recovered } = endpoint.finish(delivery, end, dueAt);
    const failedMs = now - (endpoint.failingSince() ?? now);
    try {
      if (failing !== undefined) await setFailing(sql, workerId, { id, failing });
      if (slow !== undefined) await setSlow(sql, workerId, { id, slow });
      if (recovered) await makeDue(sql, id);
      if (!isGone && failedMs < FAILING_SECONDS_MAX * 1_000) return;
      const reason = isGone ? "gone" : "failing";
      if (await disable(sql, workerId, { id, reason })) onDisabled();
      log.info({ webhook: id, reason }, "webhook_disabled");
      endpoint.retire();
    } catch (error) {
      log.warn({ error, webhook: id }, "webhook_state_not_written");
    }
  };
}
