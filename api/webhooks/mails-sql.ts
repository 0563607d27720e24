/** SQL statements on mails about webhooks that were disabled. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { WebhookFormat } from "../../shared/contracts/webhook-schemas.ts";
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** After so long a webhook is not told any more: whoever sets up mails later is not flooded. */
const TOLD_SECONDS = DAY_SECONDS;

/** Time between two mails about one webhook to one user, however often it is disabled. */
const REPEATED_SECONDS = HOUR_SECONDS;

/** Mails that one look adds. */
const ADDED_MAX = 100;

/** Days for which mails are kept, and most that one statement deletes. */
const RETENTION_DAYS = 30;
const DELETED_MAX = 5_000;

/**
 * Puts a mail to each owner with a confirmed address into the queue for each webhook that was
 * disabled recently, unless there is one. What tells is the mail, so none is lost, or made twice.
 */
export async function enqueueMails(sql: Sql | Transaction): Promise<void> {
  await sql`
    insert into report_mails (id, webhook_id, webhook_disabled_at, user_id)
    select gen_random_uuid(), webhook.id, webhook.disabled_at, users.id
      from webhooks webhook
      join members member on member.account_id = webhook.account_id and member.role = 'owner'
      join users on users.id = member.user_id and users.email_verified
     where webhook.disabled_at > clock_timestamp() - make_interval(secs => ${TOLD_SECONDS})
       and not exists (
         select from report_mails mail
          where mail.webhook_id = webhook.id and mail.user_id = users.id
            and (mail.webhook_disabled_at = webhook.disabled_at
                 or mail.created_at > clock_timestamp() - make_interval(secs => ${REPEATED_SECONDS})))
     order by webhook.disabled_at limit ${ADDED_MAX}
    on conflict (webhook_id, user_id, webhook_disabled_at) where webhook_id is not null do nothing`;
}

/**
 * Whether the user of a mail may have it: an owner still, with an address that is confirmed, of a
 * webhook that has not been continued.
 */
export const isConcerned = (sql: Sql) => sql`
  exists (select from webhooks webhook
            join members member on member.account_id = webhook.account_id and member.role = 'owner'
            join users on users.id = member.user_id and users.email_verified
           where webhook.id = mail.webhook_id and webhook.disabled_at = mail.webhook_disabled_at
             and users.id = mail.user_id)`;

/** A webhook that was disabled, as mails describe it. */
export type DisabledWebhook = {
  id: Uuid;
  account_id: Uuid;
  account: string;
  mode: Mode;
  url: string;
  format: WebhookFormat;
  reason: "gone" | "failing";
  /** That of the account's newest report; null without one. */
  language: string | null;
};

/** Finds a webhook; undefined unless it is disabled. */
export async function findDisabled(sql: Sql, id: Uuid): Promise<DisabledWebhook | undefined> {
  const [row] = await sql<DisabledWebhook[]>`
    select webhook.id, account.id as account_id, account.name as account, webhook.mode, webhook.url,
           webhook.format, webhook.disabled_reason as reason,
           (select language from reports where reports.account_id = account.id
             order by reports.created_at desc limit 1) as language
      from webhooks webhook join accounts account on account.id = webhook.account_id
     where webhook.id = ${id} and webhook.status = 'disabled'`;
  return row;
}

/** Deletes mails that have been kept long enough. */
export async function deleteOldMails(sql: Sql): Promise<void> {
  let deleted = DELETED_MAX;
  while (deleted === DELETED_MAX) {
    const result = await sql`
      delete from report_mails where id in (
        select id from report_mails
         where webhook_id is not null and created_at < now() - make_interval(days => ${RETENTION_DAYS})
         limit ${DELETED_MAX})`;
    deleted = result.count;
  }
}
