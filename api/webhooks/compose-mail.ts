/** Writes the mail that says which webhooks were disabled. */
import { encodeId } from "../../shared/ids.ts";
import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { textsOf } from "../../shared/languages/messages.ts";
import { escapeHtml } from "../http/html.ts";
import { type MailContent, writeLink } from "../mail/message.ts";
import type { MailSettings } from "../mail/settings.ts";
import type { DisabledWebhook, DisabledWebhooks } from "./mails-sql.ts";

/** Most characters of a host in a title, and of a receiver. */
const HOST_LENGTH_MAX = 60;
const RECEIVER_LENGTH_MAX = 120;

/** What the API is sent to continue a webhook. */
const CONTINUE = JSON.stringify({ status: "active" });

export type Origins = Pick<MailSettings, "apiUrl" | "dashboardUrl">;

/** What a mail about webhooks that were disabled says; undefined without any. */
export function composeDisabled(
  { described, count }: DisabledWebhooks,
  origins: Origins,
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
  origins: Origins,
  texts: ReturnType<typeof textsIn>["texts"],
): Paragraph[] {
  const { account, mode, reason } = webhook;
  return [
    { text: texts[mode]({ account, receiver: nameReceiver(webhook) }), link: null },
    { text: texts[reason](), link: null },
    explainContinuing(webhook, origins, texts),
  ];
}

const textsIn = inEachLanguage((language, { webhooks }) => ({
  language,
  texts: textsOf(language, webhooks),
}));

/** How a webhook is continued: in the dashboard, or by the API where there is none. */
function explainContinuing(
  { id, account_id, mode }: DisabledWebhook,
  { apiUrl, dashboardUrl }: Origins,
  texts: ReturnType<typeof textsIn>["texts"],
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
function nameReceiver({ url, format }: Pick<DisabledWebhook, "url" | "format">): string {
  const { host, pathname } = new URL(url);
  return cut(format === "standard" ? `${host}${pathname}` : host, RECEIVER_LENGTH_MAX);
}

const cut = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
