/** SQL statements on webhooks. */
import type { PendingQuery, Row } from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { ListStart } from "../http/pagination.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { WebhookFields, WebhookRow } from "./model.ts";

const columns = (sql: Sql | Transaction) => sql`
  id, url, events, link_ids, tags, domains, description, format, status, disabled_reason, failing_since,
  case when old_until > clock_timestamp() then old_until end as old_until, created_at, updated_at`;

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

/** Finds one of the owner's webhooks by its primary key. */
export async function findWebhook(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    select ${columns(sql)} from webhooks where id = ${id} and account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** Lists the owner's webhooks, newest first, from an offset or after a position. */
export async function listWebhooks(
  sql: Sql,
  { accountId, mode }: AccountScope,
  limit: number,
  start: ListStart,
): Promise<WebhookRow[]> {
  const after = "after" in start ? start.after : null;
  return await sql<WebhookRow[]>`
    select ${columns(sql)} from webhooks
     where account_id = ${accountId} and mode = ${mode}
           ${after === null ? sql`` : sql`and (created_at, id) < (${new Date(after.key)}::timestamptz, ${after.id}::uuid)`}
     order by created_at desc, id desc
     limit ${limit} offset ${"offset" in start ? start.offset : 0}`;
}

type WebhookChange = Partial<WebhookFields & { status: "active" | "paused" }>;

/**
 * Changes the fields of one of the owner's webhooks; undefined when there is none. One that becomes
 * active or gets a URL is as if it had never failed, and what waits is due: see
 * {@link lockDeliveries}. Whether its receiver is slow only attempts show.
 */
export async function updateWebhook(
  sql: Sql,
  { accountId, mode }: AccountScope,
  id: Uuid,
  { status, ...fields }: WebhookChange,
): Promise<WebhookRow | undefined> {
  const isRenewed = status === "active" || fields.url !== undefined;
  return await sql.begin(async (transaction) => {
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
  });
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
  sql: Sql,
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

/** Deletes one of the owner's webhooks with its deliveries; returns false when there is none. */
export async function deleteWebhook(
  sql: Sql,
  { accountId, mode }: AccountScope,
  id: Uuid,
): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    const [row] = await transaction`
      select from webhooks where id = ${id} and account_id = ${accountId} and mode = ${mode} for update`;
    if (row === undefined) return false;
    await lockDeliveries(transaction, id, transaction``);
    await transaction`delete from webhooks where id = ${id}`;
    return true;
  });
}

/** Sets a webhook of its owner to a position: the events after it are delivered again. */
export async function setPosition(
  sql: Sql,
  { accountId, mode }: AccountScope,
  id: Uuid,
  position: number,
): Promise<void> {
  await sql`
    update webhooks set position = ${position}
     where id = ${id} and account_id = ${accountId} and mode = ${mode}`;
}
