/** Mails with reports, which wait in the queue from when their report is made. */
import type { PendingQuery, Row } from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import {
  describeReport,
  type ReportContent,
  type ReportMessage,
} from "../../shared/reports/content.ts";
import { escapeHtml } from "../http/html.ts";
import { type MailContent, type MailKind, type QueuedMail, writeLink } from "../mail/message.ts";
import type { Sql } from "../postgres.ts";
import type { UnsubscribeTokens } from "./unsubscriber.ts";

export class ReportMails implements MailKind {
  readonly #sql: Sql;
  readonly #apiUrl: string;
  readonly #tokens: UnsubscribeTokens;

  /** `apiUrl` is the origin of the addresses at which recipients unsubscribe. */
  constructor(sql: Sql, apiUrl: string, tokens: UnsubscribeTokens) {
    this.#sql = sql;
    this.#apiUrl = apiUrl;
    this.#tokens = tokens;
  }

  mayReceive(sql: Sql): PendingQuery<Row[]> {
    return sql`
      exists (select from report_recipients recipient join users on users.id = recipient.user_id
               where recipient.report_id = mail.report_id and recipient.user_id = mail.user_id
                 and users.email_verified)`;
  }

  async write({ run_id: runId, user_id: userId }: QueuedMail): Promise<MailContent | undefined> {
    const sql = this.#sql;
    const [run] = await sql<{ report_id: Uuid; content: ReportContent }[]>`
      select report_id, content from report_runs where id = ${runId}`;
    if (run === undefined) return undefined;
    const token = this.#tokens.write({ reportId: run.report_id, userId });
    return composeReport(run.content, `${this.#apiUrl}/unsubscribe/${token}`);
  }
}

/**
 * Writes a mail with a report. At `unsubscribeUrl` its recipient unsubscribes, also by one click
 * of the mail program (RFC 8058).
 */
export function composeReport(content: ReportContent, unsubscribeUrl: string): MailContent {
  const message = describeReport(content);
  return {
    language: content.language,
    title: message.title,
    text: writeText(message, unsubscribeUrl),
    html: writeHtml(message, unsubscribeUrl),
    headers: {
      "List-Unsubscribe": `<${unsubscribeUrl}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
  };
}

function writeText({ subject, totals, lists, note, mail }: ReportMessage, url: string): string {
  return [
    subject,
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
  ].join("\n\n");
}

const NAME = 'style="padding: 2px 16px 2px 0; text-align: start"';
const NUMBER = 'style="padding: 2px 0; text-align: end"';

const e = escapeHtml;

/** A row; `name` is HTML. */
const row = (name: string, number: string): string =>
  `<tr><th scope="row" ${NAME}>${name}</th><td ${NUMBER}>${e(number)}</td></tr>`;

const table = (rows: readonly string[]): string =>
  `<table style="border-collapse: collapse">${rows.join("")}</table>`;

const list = ({ title, rows }: ReportMessage["lists"][number]): string =>
  `<h2 style="font-size: 1.1em">${e(title)}</h2>
${table(rows.map(({ name, url, number }) => row(writeLink(name, url), number)))}`;

const writeHtml = (
  { subject, totals, lists, note, mail }: ReportMessage,
  unsubscribeUrl: string,
): string => `<p>${e(subject)}</p>
${table(totals.map(({ label, text }) => row(e(label), text)))}
${lists.map(list).join("\n")}
<p>${e(note)}</p>
<p style="font-size: 0.9em">${e(mail.reason)} ${writeLink(mail.unsubscribe, unsubscribeUrl)}</p>`;
