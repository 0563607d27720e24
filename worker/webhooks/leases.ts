/**
 * Leases of webhooks. A worker delivers only to webhooks that it has leased, and renews the leases
 * while it works. The leases of a killed one expire, and others take its webhooks over.
 */
import type postgres from "postgres";

import type { Mode } from "../../shared/contracts/link-record.ts";
import type { WebhookFormat } from "../../shared/contracts/webhook-schemas.ts";
import type { Uuid } from "../../shared/ids.ts";

/** How long a lease is valid without a renewal. */
export const LEASE_SECONDS = 20;

/** Accounts whose events get positions in one turn. */
const ACCOUNTS_MAX = 100;

/** A webhook fails when each attempt has failed for so many seconds. */
export const FAILING_SECONDS = 60;

/** Maximum deliveries of a webhook that wait; later events have none yet. */
export const PENDING_MAX = 1_000;

type Statements = postgres.Sql | postgres.TransactionSql;

/** Which events a webhook gets. */
export type WebhookFilter = {
  events: readonly string[];
  link_ids: readonly Uuid[] | null;
  tags: readonly string[] | null;
  domains: readonly string[] | null;
};

export type LeasedWebhook = WebhookFilter & {
  id: Uuid;
  account_id: Uuid;
  mode: Mode;
  url: string;
  format: WebhookFormat;
  salt: Uint8Array;
  /** Null when no older secret is valid. */
  old_salt: Uint8Array | null;
  /** For how many seconds every attempt has failed; null when the last one was successful. */
  failing_seconds: number | null;
  /** Whether its receiver took long recently. */
  is_slow: boolean;
  /** Whether a delivery to its URL was ever successful. */
  is_wanted: boolean;
  /** The account's. */
  plan: string;
};

/** A delivery that waits for an attempt. */
export type Pending = {
  id: Uuid;
  eventId: Uuid;
  /** Deliveries are made in this order. */
  position: number;
  /** Null for a delivery that waits for no other. */
  orderKey: Uuid | null;
  /** Of clicks of many links: those that the webhook gets; null for all. */
  linkIds: readonly Uuid[] | null;
  attempts: number;
  /** By `performance.now()`. */
  dueAt: number;
};

const columns = (sql: Statements) => sql`
  webhook.id, webhook.account_id, webhook.mode, webhook.url, webhook.format, webhook.events, webhook.link_ids, webhook.tags,
  webhook.domains, webhook.salt, case when webhook.old_until > clock_timestamp() then webhook.old_salt end as old_salt,
  extract(epoch from clock_timestamp() - webhook.failing_since)::float8 as failing_seconds, webhook.is_slow,
  webhook.is_wanted, account_plan(webhook.account_id) as plan`;

/** Locks and reads a leased webhook; undefined when the worker has lost the lease. */
export async function lockLeased(
  transaction: postgres.TransactionSql,
  workerId: Uuid,
  id: Uuid,
): Promise<LeasedWebhook | undefined> {
  const [webhook] = await transaction<LeasedWebhook[]>`
    select ${columns(transaction)} from webhooks webhook
     where id = ${id} and leased_by = ${workerId} and status = 'active' for update`;
  return webhook;
}

/** Moves a leased webhook beyond an event, if there is one, and reads it: what woke it is read. */
export async function advance(
  transaction: postgres.TransactionSql,
  workerId: Uuid,
  { id, position }: { id: Uuid; position: string | undefined },
): Promise<LeasedWebhook | undefined> {
  const [webhook] = await transaction<LeasedWebhook[]>`
    update webhooks webhook
       set wake_at = 'infinity', position = coalesce(${position ?? null}, position)
     where id = ${id} and leased_by = ${workerId}
    returning ${columns(transaction)}`;
  return webhook;
}

const isFailing = (sql: postgres.Sql) => sql`
  coalesce(webhook.failing_since < clock_timestamp() - make_interval(secs => ${FAILING_SECONDS}), false)`;

/**
 * Whether no lease is valid. One that ends much later than any can is of a clock that was ahead;
 * a smaller step of the clock takes nobody's lease away.
 */
const isFree = (sql: postgres.Sql) => sql`
  (webhook.leased_until < clock_timestamp()
   or webhook.leased_until > clock_timestamp() + make_interval(secs => ${2 * LEASE_SECONDS}))`;

/** Whether a webhook was given back at a time that is yet to come: so is what it waits for. */
const isOfClockAhead = (sql: postgres.Sql) => sql`webhook.leased_until > clock_timestamp()`;

const hasNewEvents = (sql: postgres.Sql) => sql`
  exists (select from events event
           where event.account_id = webhook.account_id and event.mode = webhook.mode
             and event.position > webhook.position)`;

/** Gives positions to the events of accounts with webhooks. */
export async function numberEvents(sql: postgres.Sql): Promise<void> {
  await sql`
    select number_events(account_id, mode)
      from (select distinct account_id, mode from webhooks webhook
             where status = 'active'
               and exists (select from events event
                            where event.account_id = webhook.account_id and event.mode = webhook.mode
                              and event.position is null)
             order by account_id, mode limit ${ACCOUNTS_MAX}) waiting`;
}

/** The webhooks that a worker leases: those that fail or are slow, or the others. */
export type Demand = {
  throttled: boolean;
  /** Maximum webhooks, and so many of those only for accounts of which the worker has none. */
  limit: number;
  reserved: number;
  /** Maximum webhooks of an account, and the account of each one that the worker has. */
  limitEach: number;
  held: readonly Uuid[];
};

/**
 * Leases webhooks for which there is work: accounts take turns, and of each those first that have
 * waited longest. A failing one has none before its time, even if there are new events.
 */
export const lease = async (
  sql: postgres.Sql,
  workerId: Uuid,
  { throttled, limit, reserved, limitEach, held }: Demand,
): Promise<LeasedWebhook[]> => sql<LeasedWebhook[]>`
  with held as (
    select account_id, count(*) as count from unnest(${[...held]}::uuid[]) as account_id group by account_id),
  waiting as (
    select id, leased_until,
           coalesce(held.count, 0) + row_number() over (partition by account_id order by leased_until, id) as nth
      from webhooks webhook left join held using (account_id)
     where status = 'active' and ${isFree(sql)}
       and (is_slow or ${isFailing(sql)}) = ${throttled}
       and (leased_by is not null or wake_at <= clock_timestamp() or ${isOfClockAhead(sql)}
            or not is_full and (wake_at = 'infinity' or not ${isFailing(sql)}) and ${hasNewEvents(sql)})),
  in_turn as (
    select id, nth, leased_until, row_number() over (order by nth, leased_until) as turn
      from waiting where nth <= ${limitEach}),
  free as (
    select webhook.id from in_turn join webhooks webhook using (id)
     where (nth = 1 or turn <= ${limit - reserved}) and status = 'active' and ${isFree(sql)}
     order by turn limit ${limit}
     for update of webhook skip locked)
  update webhooks webhook
     set leased_by = ${workerId}, leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    from free where webhook.id = free.id
  returning ${columns(sql)}`;

/** Renews leases; returns those that the worker still has, as the webhooks are now. */
export const renew = async (
  sql: postgres.Sql,
  workerId: Uuid,
  ids: readonly Uuid[],
): Promise<LeasedWebhook[]> => sql<LeasedWebhook[]>`
  update webhooks webhook set leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
   where id = any (${[...ids]}::uuid[]) and leased_by = ${workerId} and status = 'active'
  returning ${columns(sql)}`;

/** News of a leased webhook: events, or deliveries that somebody has made due. */
export type News = { id: Uuid; has_events: boolean; is_woken: boolean };

/** Returns those of a worker's webhooks for which there is something new. */
export const findNews = async (
  sql: postgres.Sql,
  workerId: Uuid,
  ids: readonly Uuid[],
): Promise<News[]> => sql<News[]>`
  select * from (
    select id, ${hasNewEvents(sql)} as has_events, wake_at <= clock_timestamp() as is_woken
      from webhooks webhook
     where id = any (${[...ids]}::uuid[]) and leased_by = ${workerId} and status = 'active') news
   where has_events or is_woken`;

/** Gives a webhook back; `wakeMs` is when the next delivery is due, undefined for never. */
export async function release(
  sql: postgres.Sql,
  workerId: Uuid,
  { id, wakeMs, isFull }: { id: Uuid; wakeMs: number | undefined; isFull: boolean },
): Promise<void> {
  const wakeAt =
    wakeMs === undefined
      ? sql`wake_at`
      : sql`least(wake_at, clock_timestamp() + make_interval(secs => ${wakeMs / 1_000}))`;
  await sql`
    update webhooks
       set leased_by = null, leased_until = clock_timestamp(), wake_at = ${wakeAt}, is_full = ${isFull}
     where id = ${id} and leased_by = ${workerId}`;
}
