/** SQL statements on the deliveries of webhooks. */
import type { JSONValue } from "postgres";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { actorJson } from "../events/record.ts";
import type { ListStart } from "../http/pagination.ts";
import type { Author } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DeliveryRow } from "./model.ts";

/** Days for which deliveries are kept. */
const RETENTION_DAYS = 30;

/** Deliveries deleted by one statement. */
const DELETED_MAX = 5_000;

const columns = (sql: Sql | Transaction) => sql`
  id, event_id, event_type, status, attempts, next_attempt_at, last_attempt_at, latency_ms, response_status,
  response_body, error, created_at`;

export type DeliveryStatus = DeliveryRow["status"];

/** Lists the deliveries of a webhook, newest first, from an offset or after a position. */
export async function listDeliveries(
  sql: Sql,
  webhookId: Uuid,
  status: DeliveryStatus | undefined,
  limit: number,
  start: ListStart,
): Promise<DeliveryRow[]> {
  const after = "after" in start ? start.after : null;
  return await sql<DeliveryRow[]>`
    select ${columns(sql)} from webhook_deliveries
     where webhook_id = ${webhookId}
           ${status === undefined ? sql`` : sql`and status = ${status}`}
           ${after === null ? sql`` : sql`and (created_at, id) < (${new Date(after.key)}::timestamptz, ${after.id}::uuid)`}
     order by created_at desc, id desc
     limit ${limit} offset ${"offset" in start ? start.offset : 0}`;
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
      returning ${columns(transaction)}`;
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
      insert into events (id, account_id, mode, type, object_id, data, actor)
      values (${eventId}, ${accountId}, ${mode}, 'webhook.test', ${webhookId}, ${transaction.json(data)},
              ${transaction.json(actorJson(actor))})`;
    const [row] = await transaction<[DeliveryRow]>`
      insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
      values (${newUuid()}, ${webhookId}, ${eventId}, 'webhook.test', 0, now())
      returning ${columns(transaction)}`;
    await wake(transaction, webhookId);
    return row;
  });
}

/** Wakes a webhook: what it waits for is due, whatever the clock says by then. */
const wake = (transaction: Transaction, webhookId: Uuid) =>
  transaction`update webhooks set wake_at = '-infinity' where id = ${webhookId}`;

/** Deletes deliveries that have been kept long enough, apart from pending ones. */
export async function deleteOldDeliveries(sql: Sql): Promise<void> {
  let deleted = DELETED_MAX;
  while (deleted === DELETED_MAX) {
    const result = await sql`
      delete from webhook_deliveries where id in (
        select id from webhook_deliveries
         where created_at < now() - make_interval(days => ${RETENTION_DAYS}) and status <> 'pending'
         order by created_at limit ${DELETED_MAX})`;
    deleted = result.count;
  }
}
