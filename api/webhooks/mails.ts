/**
 * Mails to the owners of accounts about webhooks that were disabled. Workers disable a webhook; the
 * processes that send mails find it.
 */
import type { PendingQuery, Row } from "postgres";

import type { Mode } from "../../shared/contracts/link-record.ts";
import type { WebhookFormat } from "../../shared/contracts/webhook-schemas.ts";
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { type Catalogue, inEachLanguage } from "../../shared/languages/catalogues.ts";
import { type Texts, textsOf } from "../../shared/languages/messages.ts";
import {
  accountLanguage,
  confirmedMembers,
  type MailContent,
  type MailKind,
  type Paragraph,
  type QueuedMail,
  writeParagraphs,
} from "../mail/queue.ts";
import type { MailOrigins } from "../mail/settings.ts";
import { type Sql, type Transaction, tryToLock } from "../postgres.ts";

/** Maximum characters of a host in a title, and of a receiver. */
const HOST_LENGTH_MAX = 60;
const RECEIVER_LENGTH_MAX = 120;

/** The body of the request that continues a webhook. */
const CONTINUE = JSON.stringify({ status: "active" });

export class WebhookMails implements MailKind {
  readonly #sql: Sql;
  readonly #origins: MailOrigins;

  constructor(sql: Sql, origins: MailOrigins) {
    this.#sql = sql;
    this.#origins = origins;
  }

  async enqueue(): Promise<void> {
    await this.#sql.begin(enqueueMails);
  }

  mayReceive(sql: Sql): PendingQuery<Row[]> {
    return hasWebhooks(sql);
  }

  async write(mail: QueuedMail): Promise<MailContent | undefined> {
    return composeDisabled(await listDisabled(this.#sql, mail), this.#origins);
  }
}

/** Writes a mail about webhooks that were disabled; undefined if there are none. */
export function composeDisabled(
  { described, count }: DisabledWebhooks,
  origins: MailOrigins,
): MailContent | undefined {
  const [newest] = described;
  if (newest === undefined) return undefined;
  const { language, texts } = textsIn(newest.language ?? "");
  const more = count - described.length;
  const paragraphs = [
    ...described.flatMap((webhook) => describeWebhook(webhook, origins, texts)),
    ...[...(more > 0 ? [texts.more({ count: more })] : []), texts.missed(), texts.reason()].map(
      (text) => ({ text, link: null }),
    ),
  ];
  const host = cut(new URL(newest.url).host, HOST_LENGTH_MAX);
  return {
    language,
    title: count === 1 ? texts.title({ host }) : texts.titleOfMany({ host, more: count - 1 }),
    ...writeParagraphs(paragraphs, texts.open()),
  };
}

/** Says which webhook was disabled, why, and how it is continued. */
function describeWebhook(
  webhook: DisabledWebhook,
  origins: MailOrigins,
  texts: WebhookTexts,
): Paragraph[] {
  const { account, mode, reason } = webhook;
  return [
    { text: texts[mode]({ account, receiver: nameReceiver(webhook) }), link: null },
    { text: texts[reason](), link: null },
    explainContinuing(webhook, origins, texts),
  ];
}

type WebhookTexts = Texts<Catalogue["webhooks"]>;

const textsIn = inEachLanguage((language, { webhooks }) => ({
  language,
  texts: textsOf(language, webhooks),
}));

/** How a webhook is continued: in the dashboard, or by the API where there is none. */
function explainContinuing(
  { id, account_id, mode }: DisabledWebhook,
  { apiUrl, dashboardUrl }: MailOrigins,
  texts: WebhookTexts,
): Paragraph {
  if (dashboardUrl === undefined) {
    const url = `${apiUrl}/v1/webhooks/${encodeId("wh", id)}`;
    return { text: texts.api({ url, body: CONTINUE }), link: null };
  }
  const link = `${dashboardUrl}/${encodeId("acct", account_id)}/${mode}/webhooks`;
  return { text: texts.dashboard(), link };
}

/**
 * Host and path of a webhook, without what may be a secret in them: the query, and the path of a
 * chat's webhook, with which anybody can post to the chat.
 */
function nameReceiver({ url, format }: DisabledWebhook): string {
  const { host, pathname } = new URL(url);
  return cut(format === "standard" ? `${host}${pathname}` : host, RECEIVER_LENGTH_MAX);
}

const cut = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;

/** No mail is about what was disabled longer ago: mails that are set up later begin with few. */
const RECENT_SECONDS = DAY_SECONDS;

/** Minimum time between two mails to a user. */
const INTERVAL_SECONDS = HOUR_SECONDS;

/**
 * How long a webhook has been disabled before a mail is about it: what happens at once is in one
 * mail, and the transactions that disabled webhooks until then have ended.
 */
const SETTLING_SECONDS = 60;

/** Maximum webhooks that a mail describes; it counts the others. */
const DESCRIBED_MAX = 20;

/** Maximum mails that are added at once. */
const ADDED_MAX = 100;

/** Whether the webhook was disabled recently, and long enough ago for a mail of a time. */
const isRecent = (sql: Sql | Transaction, at: PendingQuery<Row[]>) => sql`
  (webhook.disabled_at > ${at} - make_interval(secs => ${RECENT_SECONDS})
   and webhook.disabled_at <= ${at} - make_interval(secs => ${SETTLING_SECONDS}))`;

/** Whether a mail to the user before a time was about the webhook. */
const isMailed = (sql: Sql | Transaction, before: PendingQuery<Row[]>) => sql`
  exists (select from report_mails earlier
           where earlier.kind = 'webhook' and earlier.run_id is null and earlier.user_id = users.id and earlier.created_at < ${before}
             and earlier.created_at >= webhook.disabled_at + make_interval(secs => ${SETTLING_SECONDS}))`;

/**
 * Adds a mail to the queue for each owner with a confirmed address whom no mail has told of a
 * webhook that was disabled recently. The mails are the only record of who knows what, so none is
 * lost or written twice. One process at a time adds mails, so that the next one sees them.
 */
async function enqueueMails(sql: Transaction): Promise<void> {
  if (!(await tryToLock(sql, "mails_about_webhooks"))) return;
  const now = sql`clock_timestamp()`;
  await sql`
    insert into report_mails (id, kind, user_id, created_at)
    select gen_random_uuid(), 'webhook', recipient.user_id, ${now}
      from (select distinct users.id as user_id
              from webhooks webhook
              join (${confirmedMembers(sql)}) on member.account_id = webhook.account_id and member.role = 'owner'
             where ${isRecent(sql, now)} and not ${isMailed(sql, now)}) recipient
     where not exists (
       select from report_mails mail
        where mail.kind = 'webhook' and mail.run_id is null and mail.user_id = recipient.user_id
          and mail.created_at > ${now} - make_interval(secs => ${INTERVAL_SECONDS}))
     limit ${ADDED_MAX}`;
}

/** The webhooks that a mail is about: still disabled, and of accounts that its user still owns. */
const webhooksOf = (sql: Sql, mail: { user: PendingQuery<Row[]>; at: PendingQuery<Row[]> }) => sql`
  webhooks webhook
  join (${confirmedMembers(sql)})
    on member.account_id = webhook.account_id and member.role = 'owner' and users.id = ${mail.user}
       and ${isRecent(sql, mail.at)} and not ${isMailed(sql, mail.at)}`;

/** Whether the row `mail` still has a webhook to be about. */
const hasWebhooks = (sql: Sql) => sql`
  exists (select from ${webhooksOf(sql, { user: sql`mail.user_id`, at: sql`mail.created_at` })})`;

/** A webhook that was disabled, as mails describe it. */
export type DisabledWebhook = {
  id: Uuid;
  account_id: Uuid;
  account: string;
  mode: Mode;
  url: string;
  format: WebhookFormat;
  reason: "gone" | "failing";
  /** The language of the account's newest report; null if it has none. */
  language: string | null;
};

/** Some webhooks that were disabled, the newest first, and how many there are. */
type DisabledWebhooks = { described: DisabledWebhook[]; count: number };

/** Lists the webhooks that a mail is about. */
async function listDisabled(
  sql: Sql,
  { user_id, created_at }: QueuedMail,
): Promise<DisabledWebhooks> {
  const mail = { user: sql`${user_id}::uuid`, at: sql`${created_at}::timestamptz` };
  const rows = await sql<(DisabledWebhook & { count: number })[]>`
    select webhook.id, account.id as account_id, account.name as account, webhook.mode, webhook.url,
           webhook.format, webhook.disabled_reason as reason,
           ${accountLanguage(sql)} as language,
           (count(*) over ())::integer as count
      from ${webhooksOf(sql, mail)}
      join accounts account on account.id = webhook.account_id
     order by webhook.disabled_at desc, webhook.id limit ${DESCRIBED_MAX}`;
  return { described: rows, count: rows[0]?.count ?? 0 };
}
