/**
 * Leases of webhooks. A worker delivers only to webhooks that it has leased, and renews the leases
 * while it works. The leases of a killed one expire, and others take its webhooks over.
 */
import type postgres from "postgres";

import type { Mode } from "../../shared/contracts/link-record.ts";
import type { WebhookFormat } from "../../shared/contracts/webhook-schemas.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { WebhookFilter } from "./matching.ts";

/** How long a lease is valid without a renewal. */
export const LEASE_SECONDS = 20;

/** Accounts whose events get positions in one turn. */
const ACCOUNTS_MAX = 100;

/** A webhook fails when each attempt has failed for so many seconds. */
export const FAILING_SECONDS = 60;

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
};

const columns = (sql: postgres.Sql) => sql`
  webhook.id, webhook.account_id, webhook.mode, webhook.url, webhook.format, webhook.events, webhook.link_ids, webhook.tags,
  webhook.domains, webhook.salt, case when webhook.old_until > clock_timestamp() then webhook.old_salt end as old_salt,
  extract(epoch from clock_timestamp() - webhook.failing_since)::float8 as failing_seconds, webhook.is_slow`;

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

/**
 * Leases webhooks for which there is work, those first that have waited longest; of those that fail
 * or are slow, or of the others. A failing one has none before its time, even if there are new
 * events.
 */
export const lease = async (
  sql: postgres.Sql,
  workerId: Uuid,
  { limit, throttled }: { limit: number; throttled: boolean },
): Promise<LeasedWebhook[]> => sql<LeasedWebhook[]>`
  with free as (
    select id from webhooks webhook
     where status = 'active' and ${isFree(sql)}
       and (is_slow or ${isFailing(sql)}) = ${throttled}
       and (leased_by is not null or wake_at <= clock_timestamp() or ${isOfClockAhead(sql)}
            or not is_full and (wake_at = 'infinity' or not ${isFailing(sql)}) and ${hasNewEvents(sql)})
     order by leased_until limit ${limit}
     for update skip locked)
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

/** What is new for a leased webhook: events, or that somebody has made deliveries due. */
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
