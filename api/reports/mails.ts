/** Mails with reports, which wait in the queue from when their report is made. */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

import type { PendingQuery, Row } from "postgres";

import { encodeId, ID_BYTES, readUuid, type Uuid, writeUuid } from "../../shared/ids.ts";
import {
  describeReport,
  type ReportContent,
  type ReportMessage,
} from "../../shared/reports/content.ts";
import { recordEvents } from "../events/record.ts";
import type { AccountScope, Origin } from "../http/principal.ts";
import { type MailContent, type MailKind, type QueuedMail, writeLink } from "../mail/queue.ts";
import type { Sql } from "../postgres.ts";
import type { Recipient } from "./model.ts";

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

const e = Bun.escapeHTML;

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

// Unsubscribes recipients of reports, who need not sign in: tokens in their mails name the report
// and the recipient, signed with a key that the database does not have.

export class Unsubscriber {
  readonly #sql: Sql;
  readonly #tokens: UnsubscribeTokens | undefined;

  /** Without tokens, where no mails are sent, every token is invalid. */
  constructor(sql: Sql, tokens: UnsubscribeTokens | undefined) {
    this.#sql = sql;
    this.#tokens = tokens;
  }

  isValid(token: string): boolean {
    return this.#tokens?.read(token) !== undefined;
  }

  /** Unsubscribes whom a token names, as often as asked; returns false when it is invalid. */
  async unsubscribe(token: string, origin: Origin): Promise<boolean> {
    const recipient = this.#tokens?.read(token);
    if (recipient === undefined) return false;
    const { reportId, userId } = recipient;
    await this.#sql.begin(async (sql) => {
      const [report] = await sql<(AccountScope & { name: string })[]>`
        with gone as (
          delete from report_recipients where report_id = ${reportId} and user_id = ${userId}
          returning report_id
        )
        select account_id as "accountId", mode, name from gone join reports on reports.id = report_id`;
      if (report === undefined) return;
      const { name, ...owner } = report;
      const author = { ...owner, actor: { type: "user", id: userId, origin } } as const;
      const data = { report: { id: encodeId("rpt", reportId), name } };
      await recordEvents(sql, author, [{ type: "report.unsubscribed", objectId: reportId, data }]);
    });
    return true;
  }
}

const SUBJECT_BYTES = 2 * ID_BYTES;
const SIGNATURE_BYTES = 16;
const KEY_BYTES = 32;

/** Characters of every token: 48 bytes in Base64. */
const TOKEN = /^[\w-]{64}$/;

export class UnsubscribeTokens {
  readonly #key: Buffer;

  /** `ownSecret` is one that the installation keeps; another one makes all tokens invalid. */
  constructor(ownSecret: string) {
    const info = "shorthop unsubscribe";
    this.#key = Buffer.from(hkdfSync("sha256", ownSecret, "", info, KEY_BYTES));
  }

  write({ reportId, userId }: Recipient): string {
    const subject = Buffer.alloc(SUBJECT_BYTES);
    writeUuid(subject, 0, reportId);
    writeUuid(subject, ID_BYTES, userId);
    return Buffer.concat([subject, this.#sign(subject)]).toString("base64url");
  }

  /** Whom a token names; undefined unless it was written with the same secret. */
  read(token: string): Recipient | undefined {
    if (!TOKEN.test(token)) return undefined;
    const bytes = Buffer.from(token, "base64url");
    const subject = bytes.subarray(0, SUBJECT_BYTES);
    if (!timingSafeEqual(bytes.subarray(SUBJECT_BYTES), this.#sign(subject))) return undefined;
    return { reportId: readUuid(subject, 0), userId: readUuid(subject, ID_BYTES) };
  }

  #sign(subject: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(subject).digest().subarray(0, SIGNATURE_BYTES);
  }
}
