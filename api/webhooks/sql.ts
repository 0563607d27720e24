/** SQL statements on webhooks and their deliveries. */
import type { JSONValue, PendingQuery, Row } from "postgres";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { actorJson } from "../events/record.ts";
import type { ListStart } from "../http/pagination.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import { newestFirst, OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DeliveryRow, WebhookFields, WebhookRow } from "./model.ts";

const columns = (sql: Sql | Transaction) => sql`
  id, url, events, link_ids, tags, domains, description, format, status, disabled_reason, failing_since,
  case when old_until > clock_timestamp() then old_until end as old_until, created_at, updated_at`;

export const webhookRows = new OwnedRows<WebhookRow>("webhooks", columns);

/**
 * Inserts a webhook that gets the events after a position, or gives it another salt if an earlier
 * attempt of the same request has inserted it.
 */
export async function insertWebhook(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  { id, salt, position, ...webhook }: WebhookFields & { id: Uuid; salt: Buffer; position: number },
): Promise<WebhookRow> {
  const [row] = await transaction<[WebhookRow]>`
    insert into webhooks (id, account_id, mode, url, events, link_ids, tags, domains, description, format, salt, position)
    values (${id}, ${accountId}, ${mode}, ${webhook.url}, ${[...webhook.events]}::text[],
            ${webhook.link_ids}::uuid[], ${webhook.tags}::text[], ${webhook.domains}::text[], ${webhook.description},
            ${webhook.format}, ${salt}, ${position})
    on conflict (id) do update set salt = excluded.salt
    returning ${columns(transaction)}`;
  return row;
}

type WebhookChange = Partial<WebhookFields & { status: "active" | "paused" }>;

/**
 * Changes the fields of one of the owner's webhooks; undefined when there is none. One that becomes
 * active or gets a URL is as if it had never failed, and what waits is due: see
 * {@link lockDeliveries}. Whether its receiver is slow only attempts show.
 */
export async function updateWebhook(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
  { status, ...fields }: WebhookChange,
): Promise<WebhookRow | undefined> {
  const isRenewed = status === "active" || fields.url !== undefined;
  const [row] = await transaction<WebhookRow[]>`
    update webhooks set ${transaction({ ...fields, updated_at: new Date() })}
           ${status === undefined ? transaction`` : transaction`, status = ${status}`}
           ${status === "active" ? transaction`, disabled_reason = null` : transaction``}
           ${fields.url === undefined ? transaction`` : transaction`, is_wanted = false`}
           ${
             isRenewed
               ? transaction`, failing_since = null, wake_at = '-infinity', is_full = false`
               : transaction``
           }
     where id = ${id} and account_id = ${accountId} and mode = ${mode}
    returning ${columns(transaction)}`;
  if (row !== undefined && isRenewed) {
    await lockDeliveries(transaction, id, transaction`and status = 'pending'`);
    await transaction`
      update webhook_deliveries set next_attempt_at = now() where webhook_id = ${id} and status = 'pending'`;
  }
  return row;
}

/**
 * Locks deliveries of a webhook. Whoever changes several locks them in the order of their ids, and
 * their webhook before them, as workers do; otherwise two could wait for each other.
 */
const lockDeliveries = (
  transaction: Transaction,
  webhookId: Uuid,
  condition: PendingQuery<Row[]>,
) => transaction`
  select count(*) from (
    select from webhook_deliveries where webhook_id = ${webhookId} ${condition} order by id for update) locked`;

/** Gives a webhook another secret; the current one is valid for `oldSeconds` more. */
export async function replaceSalt(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
  { salt, oldSeconds }: { salt: Buffer; oldSeconds: number },
): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    update webhooks
       set old_salt = salt, old_until = clock_timestamp() + make_interval(secs => ${oldSeconds}),
           salt = ${salt}, updated_at = now()
     where id = ${id} and account_id = ${accountId} and mode = ${mode}
    returning ${columns(sql)}`;
  return row;
}

/** Deletes one of the owner's webhooks with its deliveries, and returns it; undefined without. */
export async function deleteWebhook(
  transaction: Transaction,
  owner: AccountScope,
  id: Uuid,
): Promise<WebhookRow | undefined> {
  if ((await webhookRows.find(transaction, owner, id, true)) === undefined) return undefined;
  await lockDeliveries(transaction, id, transaction``);
  return await webhookRows.delete(transaction, owner, id);
}

/** Sets a webhook of its owner to a position: the events after it are delivered again. */
export async function setPosition(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
  position: number,
): Promise<void> {
  await sql`
    update webhooks set position = ${position}
     where id = ${id} and account_id = ${accountId} and mode = ${mode}`;
}

/** Days for which deliveries are kept. */
const RETENTION_DAYS = 30;

const deliveryColumns = (sql: Sql | Transaction) => sql`
  id, event_id, event_type, status, attempts, next_attempt_at, last_attempt_at, latency_ms, response_status,
  response_body, error_code, error, created_at`;

export type DeliveryStatus = DeliveryRow["status"];

/** Lists the deliveries of a webhook, newest first, from an offset or after a position. */
export async function listDeliveries(
  sql: Sql,
  webhookId: Uuid,
  status: DeliveryStatus | undefined,
  limit: number,
  start: ListStart,
): Promise<DeliveryRow[]> {
  return await sql<DeliveryRow[]>`
    select ${deliveryColumns(sql)} from webhook_deliveries
     where webhook_id = ${webhookId}
           ${status === undefined ? sql`` : sql`and status = ${status}`} ${newestFirst(sql, limit, start)}`;
}

export async function countDeliveries(
  sql: Sql,
  webhookId: Uuid,
  status: DeliveryStatus | undefined,
): Promise<number> {
  const [{ total }] = await sql<[{ total: number }]>`
    select count(*)::integer as total from webhook_deliveries
     where webhook_id = ${webhookId} ${status === undefined ? sql`` : sql`and status = ${status}`}`;
  return total;
}

/**
 * Makes a delivery of a webhook due, whatever came of it; undefined when there is none. Locks the
 * webhook before the delivery, as all do.
 */
export async function retryDelivery(
  sql: Sql,
  webhookId: Uuid,
  id: Uuid,
): Promise<DeliveryRow | undefined> {
  return await sql.begin(async (transaction) => {
    await wake(transaction, webhookId);
    const [row] = await transaction<DeliveryRow[]>`
      update webhook_deliveries set status = 'pending', next_attempt_at = now()
       where id = ${id} and webhook_id = ${webhookId}
      returning ${deliveryColumns(transaction)}`;
    return row;
  });
}

/** Records an event that only this webhook gets, and makes its delivery due. */
export async function insertTest(
  sql: Sql,
  { accountId, mode, actor }: Author,
  { webhookId, data }: { webhookId: Uuid; data: JSONValue },
): Promise<DeliveryRow> {
  const eventId = newUuid();
  return await sql.begin(async (transaction) => {
    await transaction`
      insert into events (id, account_id, mode, type, object_id, data, actor, origin)
      values (${eventId}, ${accountId}, ${mode}, 'webhook.test', ${webhookId}, ${transaction.json(data)},
              ${transaction.json(actorJson(actor))},
              ${actor.origin === undefined ? null : transaction.json(actor.origin)})`;
    const [row] = await transaction<[DeliveryRow]>`
      insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
      values (${newUuid()}, ${webhookId}, ${eventId}, 'webhook.test', 0, now())
      returning ${deliveryColumns(transaction)}`;
    await wake(transaction, webhookId);
    return row;
  });
}

/** Wakes a webhook: what it waits for is due, whatever the clock says by then. */
const wake = (transaction: Transaction, webhookId: Uuid) =>
  transaction`update webhooks set wake_at = '-infinity' where id = ${webhookId}`;

/**
 * Deletes deliveries, apart from pending ones, that have been kept long enough, at most `max`;
 * returns how many.
 */
export async function deleteOldDeliveries(sql: Sql, max: number): Promise<number> {
  const { count } = await sql`
    delete from webhook_deliveries where id in (
      select id from webhook_deliveries
       where created_at < now() - make_interval(days => ${RETENTION_DAYS}) and status <> 'pending'
       order by created_at limit ${max})`;
  return count;
}

/**
 * For how many seconds the event has waited that waits longest for an active webhook: to get its
 * position, for its delivery to be made, or for an attempt that is due; 0 without any. Webhooks
 * that fail or are slow do not count, nor do events for which there is no room yet. It asks
 * PostgreSQL alone, so it is also right when no worker delivers.
 */
export async function selectLag(sql: Sql): Promise<number> {
  const [row] = await sql<[{ seconds: number }]>`
    select coalesce(extract(epoch from clock_timestamp() - min(least(unnumbered.since, next.since, due.since))), 0)::float8 as seconds
      from webhooks webhook
      left join lateral (
        select occurred_at as since from events
         where account_id = webhook.account_id and mode = webhook.mode and position is null
         order by sequence limit 1) unnumbered on true
      left join lateral (
        select occurred_at as since from events
         where account_id = webhook.account_id and mode = webhook.mode and position > webhook.position
           and not webhook.is_full
         order by position limit 1) next on true
      left join lateral (
        select next_attempt_at as since from webhook_deliveries
         where webhook_id = webhook.id and status = 'pending'
         order by position limit 1) due on true
     where status = 'active' and failing_since is null and not is_slow`;
  return Math.max(0, row.seconds);
}
