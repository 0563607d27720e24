/** Writes mails: text and HTML of the same content. */
import MailComposer from "nodemailer/lib/mail-composer";

import type { Uuid } from "../../shared/ids.ts";
import { escapeHtml } from "../http/html.ts";

/** What a mail says. */
export type MailContent = {
  /** The code of its language. */
  language: string;
  title: string;
  text: string;
  /** Below the title, as HTML. */
  html: string;
  headers?: Readonly<Record<string, string>>;
};

export type MailEnvelope = {
  /** The id of the mail: each attempt has the same `Message-ID`. */
  id: Uuid;
  from: string;
  to: string;
  date: Date;
};

/** Returns the bytes of a mail. */
export async function writeMail(
  { id, from, to, date }: MailEnvelope,
  { language, title, text, html, headers }: MailContent,
): Promise<Buffer> {
  const composer = new MailComposer({
    from,
    to,
    subject: title,
    messageId: `<${id}@${from.slice(from.lastIndexOf("@") + 1)}>`,
    date,
    headers: { ...headers, "Auto-Submitted": "auto-generated", "Content-Language": language },
    text: `${title}\n${text}\n`,
    html: writeDocument(language, title, html),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return await composer.compile().build();
}

/** A link as HTML; only its name without a URL. */
export const writeLink = (name: string, url: string | null): string =>
  url === null ? escapeHtml(name) : `<a href="${escapeHtml(url)}">${escapeHtml(name)}</a>`;

const writeDocument = (language: string, title: string, html: string): string => `<!doctype html>
<html lang="${escapeHtml(language)}">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>
<body style="font-family: sans-serif; line-height: 1.4">
<h1 style="font-size: 1.3em">${escapeHtml(title)}</h1>
${html}
</body>
</html>
`;
