/**
 * Sends the mails that wait in PostgreSQL. API processes share them by leases. A mail is recorded
 * as being sent before the first byte of it is: after that, only a refusal of the server makes it
 * wait again, so none is sent twice. Their table is called `report_mails`, as mails with reports
 * were the first.
 */
import MailComposer from "nodemailer/lib/mail-composer";
import type { PendingQuery, Row } from "postgres";

import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeatEvery, type Repetition } from "../../shared/repeat.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type MailResult, sendMail } from "./send.ts";
import type { MailSender } from "./settings.ts";

/** Time between two rounds. */
const ROUND_MS = 5_000;

/** Longest time that a stop waits for mails that are being sent. */
const STOP_MS = 3_000;

/** Maximum mails that a round sends, each on a connection of its own. */
const SENDING_MAX = 5;

/** Seconds after an attempt until the next one; the last repeats until the mail is a day old. */
const DELAYS = [60, 300, 900, HOUR_SECONDS, 2 * HOUR_SECONDS];

export class MailQueue {
  readonly #sql: Sql;
  readonly #sender: MailSender;
  readonly #kinds: MailKinds;
  readonly #log: Log;
  readonly #onOutcome: (outcome: MailResult["outcome"]) => void;
  /** Who leases mails. */
  readonly #id = newUuid();
  #rounds: Repetition | undefined;

  /** `onOutcome` is called with what came of each mail, for metrics. */
  constructor(
    sql: Sql,
    sender: MailSender,
    kinds: MailKinds,
    log: Log,
    onOutcome: (outcome: MailResult["outcome"]) => void,
  ) {
    this.#sql = sql;
    this.#sender = sender;
    this.#kinds = kinds;
    this.#log = log;
    this.#onOutcome = onOutcome;
  }

  /** Sends mails in the background, until it is stopped. */
  start(): void {
    const send = async (): Promise<void> => {
      if ((await this.sendWaiting()) === SENDING_MAX) this.#rounds?.wake();
    };
    this.#rounds = repeatEvery(ROUND_MS, send, { log: this.#log, failure: "mails_not_sent" });
  }

  /** Waits a little for mails that are being sent, so that it is known what became of them. */
  async stop(): Promise<void> {
    await Promise.race([this.#rounds?.stop(), Bun.sleep(STOP_MS)]);
  }

  /** Sends mails that are due, some at most; returns how many were attempted. */
  async sendWaiting(): Promise<number> {
    const abandoned = await abandonMails(this.#sql);
    for (let i = 0; i < abandoned; i++) this.#onOutcome("unknown");
    await withdrawMails(this.#sql, this.#kinds);
    for (const kind of Object.values(this.#kinds)) await kind.enqueue?.();
    const leased = await leaseMails(this.#sql, this.#id, SENDING_MAX);
    await Promise.all(leased.map((mail) => this.#attempt(mail)));
    return leased.length;
  }

  async #attempt(mail: LeasedMail): Promise<void> {
    const result = await this.#send(mail);
    this.#onOutcome(result.outcome);
    if (result.outcome === "sent")
      return await finishMail(this.#sql, this.#id, mail.id, { status: "sent" });
    // The server's words can contain the address, which no log has.
    this.#log.warn({ mail_id: mail.id, outcome: result.outcome }, "mail_not_sent");
    // A withdrawn mail was not begun: its lease ends by itself, and the next round deletes it.
    if (!("error" in result)) return;
    await finishMail(this.#sql, this.#id, mail.id, stateAfter(mail, result));
  }

  async #send(mail: LeasedMail): Promise<MailResult> {
    const { server, from } = this.#sender;
    const { id, kind, address: to, created_at: date } = mail;
    const content = await this.#kinds[kind].write(mail);
    if (content === undefined) return { outcome: "withdrawn" };
    const message = await writeMail({ id, from, to, date }, content);
    return await sendMail(server, { from, to, message }, () =>
      beginMail(this.#sql, this.#kinds, this.#id, id),
    );
  }
}

function stateAfter(
  { attempts, age_seconds }: LeasedMail,
  result: Extract<MailResult, { error: string }>,
): MailState {
  const { outcome, error } = result;
  if (outcome === "unknown") return { status: "unknown", error };
  const delaySeconds = DELAYS[Math.min(attempts, DELAYS.length) - 1] ?? DAY_SECONDS;
  const isOver = outcome === "refused" || age_seconds + delaySeconds > DAY_SECONDS;
  return isOver ? { status: "failed", error } : { status: "waiting", error, delaySeconds };
}

/** How many seconds the oldest mail that is not sent has waited; 0 without any. */
export async function readDelay(sql: Sql): Promise<number> {
  const [row] = await sql<[{ seconds: number }]>`
    select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as seconds
      from report_mails where status in ('waiting', 'sending')`;
  return row.seconds;
}

/** How long a sender has a mail to itself: longer than an attempt takes. */
const LEASE_SECONDS = 120;

type LeasedMail = QueuedMail & {
  id: Uuid;
  kind: keyof MailKinds;
  address: string;
  attempts: number;
  /** How long it has waited since it was made. */
  age_seconds: number;
};

const mayReceive = (sql: Sql, kinds: MailKinds) => sql`
  case mail.kind when 'report' then ${kinds.report.mayReceive(sql)}
                 when 'webhook' then ${kinds.webhook.mayReceive(sql)}
                 when 'key' then ${kinds.key.mayReceive(sql)}
                 else ${kinds.password_reset.mayReceive(sql)} end`;

/**
 * Whether no lease is valid. One that ends much later than any can is of a clock that was ahead;
 * a smaller step of the clock takes nobody's lease away.
 */
const isFree = (sql: Sql) => sql`
  (mail.leased_until < clock_timestamp()
   or mail.leased_until > clock_timestamp() + make_interval(secs => ${2 * LEASE_SECONDS}))`;

/**
 * Whether a mail is to be sent now. One that was given back at a time that is yet to come waits for
 * one that is further away, as the clock was ahead.
 */
const isDue = (sql: Sql) => sql`
  (mail.next_attempt_at <= clock_timestamp() or mail.attempts = 0 or mail.leased_until > clock_timestamp())`;

/** Deletes mails that wait for somebody who may no longer have them. */
async function withdrawMails(sql: Sql, kinds: MailKinds): Promise<void> {
  await sql`
    delete from report_mails mail
     where status = 'waiting' and ${isFree(sql)} and not ${mayReceive(sql, kinds)}`;
}

/**
 * Mails whose sender ended after it had begun to send: nobody knows whether they arrived, so they
 * are not sent again. Returns how many.
 */
async function abandonMails(sql: Sql): Promise<number> {
  const { count } = await sql`
    update report_mails mail set status = 'unknown', error = 'The process ended while it was sending.'
     where status = 'sending' and ${isFree(sql)}`;
  return count;
}

/** Leases mails that are due, those first that have waited longest. */
const leaseMails = (sql: Sql, senderId: Uuid, limit: number): Promise<LeasedMail[]> =>
  sql<LeasedMail[]>`
    with free as (
      select id from report_mails mail
       where status = 'waiting' and ${isDue(sql)} and ${isFree(sql)}
       order by next_attempt_at limit ${limit}
       for update skip locked)
    update report_mails mail
       set leased_by = ${senderId}, leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}),
           attempts = mail.attempts + 1
      from free, users
     where mail.id = free.id and users.id = mail.user_id
    returning mail.id, mail.kind, mail.run_id, mail.key_id, mail.language, mail.user_id,
              users.email as address, mail.created_at, mail.attempts,
              extract(epoch from clock_timestamp() - mail.created_at)::float8 as age_seconds`;

/**
 * Records that a mail is being sent, from which on it is never sent again unless the server refuses
 * it. Returns false when the lease is over, or its user may no longer have it.
 */
async function beginMail(sql: Sql, kinds: MailKinds, senderId: Uuid, id: Uuid): Promise<boolean> {
  const rows = await sql`
    update report_mails mail set status = 'sending'
     where id = ${id} and leased_by = ${senderId} and status = 'waiting' and leased_until > clock_timestamp()
       and ${mayReceive(sql, kinds)}
    returning id`;
  return rows.length === 1;
}

type MailState =
  | { status: "sent" }
  | { status: "failed" | "unknown"; error: string }
  | { status: "waiting"; error: string; delaySeconds: number };

/** Writes what came of an attempt, and gives the mail back. */
async function finishMail(sql: Sql, senderId: Uuid, id: Uuid, state: MailState): Promise<void> {
  const delaySeconds = "delaySeconds" in state ? state.delaySeconds : 0;
  await sql`
    update report_mails
       set status = ${state.status}, error = ${"error" in state ? state.error : null},
           next_attempt_at = clock_timestamp() + make_interval(secs => ${delaySeconds}),
           leased_by = null, leased_until = clock_timestamp()
     where id = ${id} and leased_by = ${senderId}`;
}

/** Members with their users, of those who have confirmed their address. */
export const confirmedMembers = (sql: Sql | Transaction) => sql`
  members member join users on users.id = member.user_id and users.email_verified`;

/** The language of the newest report of the row `account`; null without one. */
export const accountLanguage = (sql: Sql) => sql`
  (select language from reports where reports.account_id = account.id
    order by reports.created_at desc limit 1)`;

// Mails: their kinds, and how they are written, as text and HTML of the same content.

/** A mail in the queue: what it is about, and to whom. */
export type QueuedMail = {
  /** The run of a report; null for another mail. */
  run_id: Uuid | null;
  /** The key that was reported; null for another mail. */
  key_id: Uuid | null;
  /** The language of a mail that its user has asked for; null for another mail. */
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

export type MailKinds = {
  report: MailKind;
  webhook: MailKind;
  key: MailKind;
  password_reset: MailKind;
};

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

/** A paragraph of a mail, with the page that it ends with, if any. */
export type Paragraph = { text: string; link: string | null };

/** Writes paragraphs as text and as HTML, which calls the links `open`. */
export const writeParagraphs = (
  paragraphs: readonly Paragraph[],
  open: string,
): { text: string; html: string } => ({
  text: paragraphs
    .map(({ text, link }) => (link === null ? text : `${text}\n${link}`))
    .join("\n\n"),
  html: paragraphs
    .map(({ text, link }) =>
      link === null ? Bun.escapeHTML(text) : `${Bun.escapeHTML(text)} ${writeLink(open, link)}`,
    )
    .map((paragraph) => `<p>${paragraph}</p>`)
    .join("\n"),
});

/** A link as HTML; only its name without a URL. */
export const writeLink = (name: string, url: string | null): string =>
  url === null
    ? Bun.escapeHTML(name)
    : `<a href="${Bun.escapeHTML(url)}">${Bun.escapeHTML(name)}</a>`;

const writeDocument = (language: string, title: string, html: string): string => `<!doctype html>
<html lang="${Bun.escapeHTML(language)}">
<head><meta charset="utf-8"><title>${Bun.escapeHTML(title)}</title></head>
<body style="font-family: sans-serif; line-height: 1.4">
<h1 style="font-size: 1.3em">${Bun.escapeHTML(title)}</h1>
${html}
</body>
</html>
`;
