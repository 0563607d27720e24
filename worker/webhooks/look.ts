/** Looks for work: leases webhooks, reads their deliveries, and gives them back. */
import type postgres from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { Endpoint } from "./endpoint.ts";
import { refill } from "./fan-out.ts";
import { findNews, lease, LEASE_SECONDS, numberEvents, release, renew } from "./leases.ts";
import { PENDING_MAX } from "./queue.ts";

/** Most webhooks that a worker leases, and of those that fail or are slow. */
const WEBHOOKS_MAX = 100;
const THROTTLED_WEBHOOKS_MAX = 50;

/** Most webhooks of an account, and how many only accounts of which there is none can add. */
const ACCOUNT_WEBHOOKS_MAX = 25;
const RESERVED_WEBHOOKS = 25;

/** After this time a webhook is given back if it is idle, or if there is no room for others. */
const HOLD_MS = 10_000;

/** A webhook is idle if nothing is due within this time. */
const IDLE_MS = 2_000;

/** Leases are renewed several times while they are valid. */
const RENEW_MS = (LEASE_SECONDS * 1_000) / 4;

type LookDeps = {
  sql: postgres.Sql;
  workerId: Uuid;
  ownHosts: readonly string[];
  dispatcher: Dispatcher;
};

/** Returns the function of one look. */
export function createLook(deps: LookDeps): () => Promise<void> {
  const { sql, workerId, dispatcher } = deps;
  const { endpoints, pump } = dispatcher;
  const fill = createRefill(deps);
  let renewedAt = performance.now();

  async function renewAll(): Promise<void> {
    const now = performance.now();
    const renewed = await renew(sql, workerId, [...endpoints.keys()]);
    const byId = new Map(renewed.map((webhook) => [webhook.id, webhook]));
    for (const [id, endpoint] of endpoints) {
      const webhook = byId.get(id);
      if (webhook === undefined) endpoint.retire();
      else endpoint.renew(webhook, now);
    }
    renewedAt = now;
  }

  async function readNews(): Promise<void> {
    const news = await findNews(sql, workerId, [...endpoints.keys()]);
    for (const { id, has_events, is_woken } of news) {
      const endpoint = endpoints.get(id);
      if (endpoint === undefined) continue;
      if (is_woken) endpoint.wake();
      const hasRoom = endpoint.queue.size() < PENDING_MAX && !endpoint.isBusy(performance.now());
      if (is_woken || hasRoom) await fill(endpoint, has_events);
    }
    for (const endpoint of endpoints.values())
      if (endpoint.needsRead() && !endpoint.isBusy(performance.now())) await fill(endpoint, true);
  }

  async function leaseMore(throttled: boolean): Promise<void> {
    const now = performance.now();
    const held = [...endpoints.values()].filter((endpoint) => endpoint.isThrottled(now)).length;
    const room = WEBHOOKS_MAX - endpoints.size;
    const limit = throttled ? Math.min(room, THROTTLED_WEBHOOKS_MAX - held) : room;
    if (limit <= 0) return;
    const demand = {
      throttled,
      limit,
      reserved: RESERVED_WEBHOOKS,
      limitEach: ACCOUNT_WEBHOOKS_MAX,
      held: [...endpoints.values()].map((endpoint) => endpoint.webhook().account_id),
    };
    for (const webhook of await lease(sql, workerId, demand))
      endpoints.set(webhook.id, new Endpoint(webhook, now));
  }

  return async () => {
    if (performance.now() - renewedAt > RENEW_MS) await renewAll();
    await numberEvents(sql);
    await leaseMore(false);
    await leaseMore(true);
    await readNews();
    await pump();
    await giveBackIdle(deps);
  };
}

/** Returns a function that refills the queue of a webhook. */
function createRefill({ sql, workerId, ownHosts }: LookDeps) {
  return async (endpoint: Endpoint, hasEvents: boolean): Promise<void> => {
    const readAt = performance.now();
    const read = await refill(sql, workerId, endpoint.webhook(), { hasEvents, ownHosts });
    if (read === undefined) return endpoint.retire();
    endpoint.change(read.webhook);
    endpoint.add(read.rows, readAt);
  };
}

/** Gives back what has nothing to do soon, and forgets what the worker no longer has. */
async function giveBackIdle({ sql, workerId, dispatcher }: LookDeps): Promise<void> {
  const { endpoints, flush } = dispatcher;
  const isFullForAll = endpoints.size >= WEBHOOKS_MAX - RESERVED_WEBHOOKS;
  const byAccount = Map.groupBy(endpoints.values(), (endpoint) => endpoint.webhook().account_id);
  for (const [id, endpoint] of endpoints) {
    const now = performance.now();
    const ofAccount = byAccount.get(endpoint.webhook().account_id)?.length ?? 0;
    const isFull = isFullForAll || ofAccount >= ACCOUNT_WEBHOOKS_MAX;
    const isIdle = (endpoint.nextDueAt() ?? Number.POSITIVE_INFINITY) > now + IDLE_MS;
    const isLong = now - endpoint.leasedAt > HOLD_MS;
    if ((isLong && (isIdle || isFull)) || (isIdle && isFull)) endpoint.retire();
    if (!endpoint.isRetired() || endpoint.queue.inFlight() > 0 || endpoint.needsRead()) continue;
    if (!(await flush())) continue;
    await giveBack(sql, workerId, endpoint);
    endpoints.delete(id);
  }
}

/** Gives a webhook back; nothing happens if the worker has lost it. */
export async function giveBack(
  sql: postgres.Sql,
  workerId: Uuid,
  endpoint: Endpoint,
): Promise<void> {
  const dueAt = endpoint.nextDueAt();
  await release(sql, workerId, {
    id: endpoint.webhook().id,
    wakeMs: dueAt === undefined ? undefined : Math.max(0, dueAt - performance.now()),
    isFull: endpoint.queue.size() >= PENDING_MAX,
  });
}
