/** Writes the mail that says that a webhook was disabled. */
import { encodeId } from "../../shared/ids.ts";
import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { createTexts } from "../../shared/languages/messages.ts";
import { escapeHtml } from "../http/html.ts";
import { type MailContent, writeLink } from "../mail/message.ts";
import type { MailSettings } from "../mail/settings.ts";
import type { DisabledWebhook } from "./mails-sql.ts";

/** Most characters of a host in a title, and of a receiver. */
const HOST_LENGTH_MAX = 60;
const RECEIVER_LENGTH_MAX = 120;

/** What the API is sent to continue a webhook. */
const CONTINUE = JSON.stringify({ status: "active" });

export type Origins = Pick<MailSettings, "apiUrl" | "dashboardUrl">;

/** What a mail about a webhook that was disabled says. */
export function composeDisabled(webhook: DisabledWebhook, origins: Origins): MailContent {
  const { account, mode, reason } = webhook;
  const { language, texts } = textsIn(webhook.language ?? "");
  const receiver = nameReceiver(webhook);
  const { hint, link } = explainContinuing(webhook, origins, texts);
  const before = [texts[mode]({ account, receiver }), texts[reason]()];
  const after = [texts.missed(), texts.reason()];
  return {
    language,
    title: texts.title({ host: cut(new URL(webhook.url).host, HOST_LENGTH_MAX) }),
    text: [...before, link === null ? hint : `${hint}\n${link}`, ...after].join("\n\n"),
    html: [
      ...before.map(escapeHtml),
      link === null ? escapeHtml(hint) : `${escapeHtml(hint)} ${writeLink(texts.open(), link)}`,
      ...after.map(escapeHtml),
    ]
      .map((paragraph) => `<p>${paragraph}</p>`)
      .join("\n"),
  };
}

const textsIn = inEachLanguage((language, { webhooks }) => ({
  language,
  texts: createTexts(language, webhooks),
}));

/** How a webhook is continued: in the dashboard, or by the API where there is none. */
function explainContinuing(
  { id, account_id, mode }: DisabledWebhook,
  { apiUrl, dashboardUrl }: Origins,
  texts: ReturnType<typeof textsIn>["texts"],
): { hint: string; link: string | null } {
  if (dashboardUrl === undefined) {
    const url = `${apiUrl}/v1/webhooks/${encodeId("wh", id)}`;
    return { hint: texts.api({ url, body: CONTINUE }), link: null };
  }
  const link = `${dashboardUrl}/${encodeId("acct", account_id)}/${mode}/webhooks`;
  return { hint: texts.dashboard(), link };
}

/**
 * Host and path of a webhook, without what may be a secret in them: the query, and the path of a
 * chat's webhook, with which anybody can post to the chat.
 */
function nameReceiver({ url, format }: Pick<DisabledWebhook, "url" | "format">): string {
  const { host, pathname } = new URL(url);
  return cut(format === "standard" ? `${host}${pathname}` : host, RECEIVER_LENGTH_MAX);
}

const cut = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
