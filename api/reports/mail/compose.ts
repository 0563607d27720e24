/** Writes a report as a mail. */
import MailComposer from "nodemailer/lib/mail-composer";

import type { Uuid } from "../../../shared/ids.ts";
import type { ReportContent } from "../../../shared/reports/content.ts";
import { describeReport, type ReportMessage } from "../../../shared/reports/message.ts";
import { escapeHtml } from "../../http/html.ts";

export type ReportMail = {
  /** The id of the mail: each attempt has the same `Message-ID`. */
  id: Uuid;
  from: string;
  to: string;
  content: ReportContent;
  made_at: Date;
  /** Where its recipient unsubscribes, also by one click of the mail program (RFC 8058). */
  unsubscribeUrl: string;
};

/** Returns the bytes of a mail. */
export async function composeMail(mail: ReportMail): Promise<Buffer> {
  const { id, from, to, content, made_at, unsubscribeUrl } = mail;
  const message = describeReport(content);
  const composer = new MailComposer({
    from,
    to,
    subject: message.title,
    messageId: `<${id}@${from.slice(from.lastIndexOf("@") + 1)}>`,
    date: made_at,
    headers: {
      "List-Unsubscribe": `<${unsubscribeUrl}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      "Auto-Submitted": "auto-generated",
      "Content-Language": content.language,
    },
    text: writeText(message, unsubscribeUrl),
    html: writeHtml(message, content.language, unsubscribeUrl),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return await composer.compile().build();
}

function writeText({ title, subject, totals, lists, note, mail }: ReportMessage, url: string) {
  const parts = [
    `${title}\n${subject}`,
    totals.map(({ label, text }) => `${label}: ${text}`).join("\n"),
    ...lists.map(({ title: heading, rows }) =>
      [
        heading,
        ...rows.map(({ name, url: target, number }) =>
          target === null || target === name
            ? `- ${name}: ${number}`
            : `- ${name}: ${number}\n  ${target}`,
        ),
      ].join("\n"),
    ),
    note,
    `${mail.reason}\n${mail.unsubscribe}: ${url}`,
  ];
  return `${parts.join("\n\n")}\n`;
}

const NAME = 'style="padding: 2px 16px 2px 0; text-align: start"';
const NUMBER = 'style="padding: 2px 0; text-align: end"';

const e = escapeHtml;

/** A row; `name` is HTML. */
const row = (name: string, number: string): string =>
  `<tr><th scope="row" ${NAME}>${name}</th><td ${NUMBER}>${e(number)}</td></tr>`;

const table = (rows: readonly string[]): string =>
  `<table style="border-collapse: collapse">${rows.join("")}</table>`;

const link = (name: string, url: string | null): string =>
  url === null ? e(name) : `<a href="${e(url)}">${e(name)}</a>`;

const list = ({ title, rows }: ReportMessage["lists"][number]): string =>
  `<h2 style="font-size: 1.1em">${e(title)}</h2>
${table(rows.map(({ name, url, number }) => row(link(name, url), number)))}`;

const writeHtml = (
  { title, subject, totals, lists, note, mail }: ReportMessage,
  language: string,
  unsubscribeUrl: string,
): string => `<!doctype html>
<html lang="${e(language)}">
<head><meta charset="utf-8"><title>${e(title)}</title></head>
<body style="font-family: sans-serif; line-height: 1.4">
<h1 style="font-size: 1.3em">${e(title)}</h1>
<p>${e(subject)}</p>
${table(totals.map(({ label, text }) => row(e(label), text)))}
${lists.map(list).join("\n")}
<p>${e(note)}</p>
<p style="font-size: 0.9em">${e(mail.reason)} ${link(mail.unsubscribe, unsubscribeUrl)}</p>
</body>
</html>
`;
