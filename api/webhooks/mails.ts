/**
 * Mails that tell the owners of accounts which webhooks were disabled. Workers only write that they
 * were; the processes that send mails notice it.
 */
import type { PendingQuery, Row } from "postgres";

import { encodeId } from "../../shared/ids.ts";
import { type Catalogue, inEachLanguage } from "../../shared/languages/catalogues.ts";
import { type Texts, textsOf } from "../../shared/languages/messages.ts";
import { escapeHtml } from "../http/html.ts";
import { type MailContent, type MailKind, type QueuedMail, writeLink } from "../mail/message.ts";
import type { MailOrigins } from "../mail/settings.ts";
import type { Sql } from "../postgres.ts";
import {
  type DisabledWebhook,
  type DisabledWebhooks,
  enqueueMails,
  isConcerned,
  listDisabled,
} from "./mails-sql.ts";

/** Most characters of a host in a title, and of a receiver. */
const HOST_LENGTH_MAX = 60;
const RECEIVER_LENGTH_MAX = 120;

/** What the API is sent to continue a webhook. */
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
    return isConcerned(sql);
  }

  async write(mail: QueuedMail): Promise<MailContent | undefined> {
    return composeDisabled(await listDisabled(this.#sql, mail), this.#origins);
  }
}

/** What a mail about webhooks that were disabled says; undefined without any. */
export function composeDisabled(
  { described, count }: DisabledWebhooks,
  origins: MailOrigins,
): MailContent | undefined {
  const [newest] = described;
  if (newest === undefined) return undefined;
  const { language, texts } = textsIn(newest.language ?? "");
  const more = count - described.length;
  const paragraphs = [
    ...described.flatMap((webhook) => describe(webhook, origins, texts)),
    ...[...(more > 0 ? [texts.more({ count: more })] : []), texts.missed(), texts.reason()].map(
      (text) => ({ text, link: null }),
    ),
  ];
  const host = cut(new URL(newest.url).host, HOST_LENGTH_MAX);
  return {
    language,
    title: count === 1 ? texts.title({ host }) : texts.titleOfMany({ host, more: count - 1 }),
    text: paragraphs
      .map(({ text, link }) => (link === null ? text : `${text}\n${link}`))
      .join("\n\n"),
    html: paragraphs
      .map(({ text, link }) =>
        link === null ? escapeHtml(text) : `${escapeHtml(text)} ${writeLink(texts.open(), link)}`,
      )
      .map((paragraph) => `<p>${paragraph}</p>`)
      .join("\n"),
  };
}

/** A paragraph, with the page that it ends with. */
type Paragraph = { text: string; link: string | null };

/** Says which webhook was disabled, why, and how it is continued. */
function describe(
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
