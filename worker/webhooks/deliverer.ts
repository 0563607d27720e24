/**
 * Delivers events to webhooks. Each worker leases webhooks for which there is work, makes their
 * deliveries, and gives them back. What waits is in PostgreSQL; memory holds the queues of the
 * leased ones.
 */
import type postgres from "postgres";

import { newUuid } from "../../shared/ids.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import type { Context } from "../context.ts";
import type { Transport } from "./attempt.ts";
import { Dispatcher } from "./dispatcher.ts";
import { Endpoint } from "./endpoint.ts";
import { refill } from "./fan-out.ts";
import {
  findNews,
  lease,
  LEASE_SECONDS,
  type News,
  numberEvents,
  PENDING_MAX,
  release,
  renew,
} from "./leases.ts";

/** Time between two rounds, and at most, where a round takes long. */
const POLL_MS = 250;
const POLL_MS_MAX = 2_000;

/** Longest time that a stop waits for deliveries in flight, and between two looks at them. */
const STOP_MS = 3_000;
const DRAIN_POLL_MS = 20;

/** Maximum webhooks that a worker leases, and of those that fail or are slow. */
const WEBHOOKS_MAX = 100;
const THROTTLED_WEBHOOKS_MAX = 50;

/** Maximum webhooks of an account, and how many only accounts of which there is none can add. */
const ACCOUNT_WEBHOOKS_MAX = 25;
const RESERVED_WEBHOOKS = 25;

/** After this time a webhook is given back if it is idle, or if there is no room for others. */
const HOLD_MS = 10_000;

/** A webhook is idle if nothing is due within this time. */
const IDLE_MS = 2_000;

/** After this time a round reads no more news than those of one webhook of each account. */
const READ_MS = 250;

/** Leases are renewed several times while they are valid. */
const RENEW_MS = (LEASE_SECONDS * 1_000) / 4;

export class Deliverer {
  readonly #sql: postgres.Sql;
  readonly #ownHosts: readonly string[];
  readonly #workerId = newUuid();
  readonly #dispatcher: Dispatcher;
  readonly #rounds: Repetition;
  #state = "not begun";
  #renewedAt = performance.now();

  /** Begins to deliver. `ownHosts` are those of the installation's own short domain. */
  constructor(context: Context, transport: Transport, ownHosts: readonly string[]) {
    this.#sql = context.webhooksSql;
    this.#ownHosts = ownHosts;
    this.#dispatcher = new Dispatcher(context, transport, this.#workerId);
    this.#rounds = repeat(async () => {
      const startedAt = performance.now();
      try {
        await this.#work();
        this.#state = "ok";
      } catch (error) {
        this.#state = "webhooks wait for PostgreSQL";
        context.log.warn({ error }, "webhooks_not_read");
      }
      // Rounds take at most half of the time: the database has other work.
      return Math.min(POLL_MS_MAX, Math.max(POLL_MS, performance.now() - startedAt));
    });
  }

  /** Why the last round failed; undefined if it did not. */
  get warning(): string | undefined {
    return this.#state === "ok" ? undefined : this.#state;
  }

  /** Webhooks that this worker has leased. */
  get leased(): number {
    return this.#dispatcher.endpoints.size;
  }

  get inFlight(): number {
    return this.#dispatcher.inFlight;
  }

  /** Webhooks that this worker has disabled. */
  get disabled(): number {
    return this.#dispatcher.disabled;
  }

  /** Waits for deliveries in flight, for a while, and gives all webhooks back. */
  async stop(): Promise<void> {
    const { endpoints } = this.#dispatcher;
    await this.#rounds.stop();
    await this.#drain();
    await this.#dispatcher.flush();
    await Promise.allSettled([...endpoints.values()].map((endpoint) => this.#giveBack(endpoint)));
    endpoints.clear();
  }

  async #drain(): Promise<void> {
    this.#dispatcher.close();
    const until = performance.now() + STOP_MS;
    while (this.inFlight > 0 && performance.now() < until) await Bun.sleep(DRAIN_POLL_MS);
    this.#dispatcher.abort();
    // Attempts that were stopped put their deliveries back.
    await Bun.sleep(DRAIN_POLL_MS);
  }

  /** One round: leases webhooks, reads their deliveries, makes them, and gives webhooks back. */
  async #work(): Promise<void> {
    if (performance.now() - this.#renewedAt > RENEW_MS) await this.#renewAll();
    await numberEvents(this.#sql);
    await this.#leaseMore(false);
    await this.#leaseMore(true);
    await this.#readNews();
    await this.#dispatcher.dispatch();
    await this.#giveBackIdle();
  }

  async #renewAll(): Promise<void> {
    const { endpoints } = this.#dispatcher;
    const now = performance.now();
    const renewed = await renew(this.#sql, this.#workerId, [...endpoints.keys()]);
    const byId = new Map(renewed.map((webhook) => [webhook.id, webhook]));
    for (const [id, endpoint] of endpoints) {
      const webhook = byId.get(id);
      if (webhook === undefined) endpoint.retire();
      else endpoint.renew(webhook, now);
    }
    this.#renewedAt = now;
  }

  /** Leases webhooks that fail or are slow, or the others. */
  async #leaseMore(throttled: boolean): Promise<void> {
    const { endpoints } = this.#dispatcher;
    const now = performance.now();
    const leased = [...endpoints.values()];
    const throttledCount = leased.filter((endpoint) => endpoint.isThrottled(now)).length;
    const room = WEBHOOKS_MAX - endpoints.size;
    const limit = throttled ? Math.min(room, THROTTLED_WEBHOOKS_MAX - throttledCount) : room;
    if (limit <= 0) return;
    const demand = {
      throttled,
      limit,
      reserved: RESERVED_WEBHOOKS,
      limitEach: ACCOUNT_WEBHOOKS_MAX,
      held: leased.map((endpoint) => endpoint.webhook.account_id),
    };
    for (const webhook of await lease(this.#sql, this.#workerId, demand))
      endpoints.set(webhook.id, new Endpoint(webhook, now));
  }

  /** Reads what is new for webhooks, and begins what is due after each turn of their accounts. */
  async #readNews(): Promise<void> {
    const { endpoints } = this.#dispatcher;
    const found = await findNews(this.#sql, this.#workerId, [...endpoints.keys()]);
    const news = new Map(found.map((one) => [one.id, one]));
    const startedAt = performance.now();
    const waiting = Array.from(endpoints.values()).filter((endpoint) =>
      hasToBeRead(endpoint, news.get(endpoint.webhook.id), startedAt),
    );
    for (const turn of inTurns(waiting)) {
      for (const endpoint of turn) {
        const its = news.get(endpoint.webhook.id);
        if (its?.is_woken === true) endpoint.wake();
        await this.#refill(endpoint, its?.has_events ?? true);
      }
      await this.#dispatcher.dispatch();
      if (performance.now() - startedAt > READ_MS) return;
    }
  }

  /** `hasEvents`: whether there may be events of which no deliveries have been made. */
  async #refill(endpoint: Endpoint, hasEvents: boolean): Promise<void> {
    const readAt = performance.now();
    const options = { hasEvents, ownHosts: this.#ownHosts };
    const read = await refill(this.#sql, this.#workerId, endpoint.webhook, options);
    if (read === undefined) return endpoint.retire();
    endpoint.change(read.webhook);
    endpoint.add(read.rows, readAt);
  }

  /** Gives back what has nothing to do soon, and forgets what the worker no longer has. */
  async #giveBackIdle(): Promise<void> {
    const { endpoints } = this.#dispatcher;
    const isFullForAll = endpoints.size >= WEBHOOKS_MAX - RESERVED_WEBHOOKS;
    const byAccount = Map.groupBy(endpoints.values(), ({ webhook }) => webhook.account_id);
    for (const [id, endpoint] of endpoints) {
      const now = performance.now();
      const ofAccount = byAccount.get(endpoint.webhook.account_id)?.length ?? 0;
      const isFull = isFullForAll || ofAccount >= ACCOUNT_WEBHOOKS_MAX;
      const isIdle = (endpoint.nextDueAt ?? Number.POSITIVE_INFINITY) > now + IDLE_MS;
      const isLong = now - endpoint.leasedAt > HOLD_MS;
      if ((isLong && (isIdle || isFull)) || (isIdle && isFull)) endpoint.retire();
      if (!endpoint.isRetired || endpoint.queue.inFlight > 0 || endpoint.needsRead) continue;
      if (!(await this.#dispatcher.flush())) continue;
      await this.#giveBack(endpoint);
      endpoints.delete(id);
    }
  }

  /** Gives a webhook back; nothing happens if the worker has lost it. */
  async #giveBack({ webhook, queue, nextDueAt }: Endpoint): Promise<void> {
    await release(this.#sql, this.#workerId, {
      id: webhook.id,
      wakeMs: nextDueAt === undefined ? undefined : Math.max(0, nextDueAt - performance.now()),
      isFull: queue.size >= PENDING_MAX,
    });
  }
}

/** Whether the deliveries of a webhook have to be read, and more of them can wait. */
function hasToBeRead(endpoint: Endpoint, news: News | undefined, now: number): boolean {
  if (news?.is_woken === true) return true;
  if (endpoint.isBusy(now)) return false;
  return endpoint.needsRead || (news !== undefined && endpoint.queue.size < PENDING_MAX);
}

/**
 * The first webhook of each account, then the second of each, and so on: one account's many delay
 * no other's. Of an account those are first that were read longest ago.
 */
function* inTurns(endpoints: readonly Endpoint[]): Iterable<Endpoint[]> {
  const inOrder = endpoints.toSorted((a, b) => a.readAt - b.readAt);
  const lines = [...Map.groupBy(inOrder, ({ webhook }) => webhook.account_id).values()];
  for (let i = 0; lines.some((line) => i < line.length); i++)
    yield lines.flatMap((line) => line[i] ?? []);
}
