/** Mails: their kinds, and how they are written, as text and HTML of the same content. */
import MailComposer from "nodemailer/lib/mail-composer";
import type { PendingQuery, Row } from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import { escapeHtml } from "../http/html.ts";
import type { Sql } from "../postgres.ts";

/** A mail in the queue: what it is about, and to whom. */
export type QueuedMail = {
  /** The run of a report; null for another mail. */
  run_id: Uuid | null;
  /** That of a mail which its user has asked for; null for another mail. */
  language: string | null;
  user_id: Uuid;
  created_at: Date;
};

/** A kind of mails: who may have one, and what it says. */
export interface MailKind {
  /** Puts mails that nobody has requested into the queue, in each round. */
  enqueue?(): Promise<void>;
  /** A condition: whether its user may have the row `mail` of the queue, now. */
  mayReceive(sql: Sql): PendingQuery<Row[]>;
  /** Writes a mail; undefined when its subject is gone. */
  write(mail: QueuedMail): Promise<MailContent | undefined>;
}

export type MailKinds = { report: MailKind; webhook: MailKind; password_reset: MailKind };

/** The content of a mail. */
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
