/** SQL statements on webhooks and their deliveries. */
import type { PendingQuery, Row } from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { WebhookFields, WebhookRow } from "./model.ts";

export const webhookColumns = (sql: Sql | Transaction) => sql`
  id, url, events, link_ids, tags, domains, description, format, status, disabled_reason, failing_since,
  case when old_until > clock_timestamp() then old_until end as old_until, created_at, updated_at`;

export const webhookRows = new OwnedRows<WebhookRow>("webhooks", webhookColumns);

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
    returning ${webhookColumns(transaction)}`;
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
export const lockDeliveries = (
  transaction: Transaction,
  webhookId: Uuid,
  condition: PendingQuery<Row[]>,
) => transaction`
  select count(*) from (
    select from webhook_deliveries where webhook_id = ${webhookId} ${condition} order by id for update) locked`;

const RETENTION_DAYS = 30;

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
