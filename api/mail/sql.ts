/**
 * SQL statements on the queue of mails. The table is called `report_mails`, because mails with
 * reports were the first.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { MailKinds, QueuedMail } from "./message.ts";

/** How long a sender has a mail to itself: longer than an attempt takes. */
const LEASE_SECONDS = 120;

/** A mail that a sender has leased. */
export type LeasedMail = QueuedMail & {
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
export async function withdrawMails(sql: Sql, kinds: MailKinds): Promise<void> {
  await sql`
    delete from report_mails mail
     where status = 'waiting' and ${isFree(sql)} and not ${mayReceive(sql, kinds)}`;
}

/**
 * Mails whose sender ended after it had begun to send: nobody knows whether they arrived, so they
 * are not sent again. Returns how many.
 */
export async function abandonMails(sql: Sql): Promise<number> {
  const { count } = await sql`
    update report_mails mail set status = 'unknown', error = 'The process ended while it was sending.'
     where status = 'sending' and ${isFree(sql)}`;
  return count;
}

/** Leases mails that are due, those first that have waited longest. */
export const leaseMails = (sql: Sql, senderId: Uuid, limit: number): Promise<LeasedMail[]> =>
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
    returning mail.id, mail.kind, mail.run_id, mail.language, mail.user_id,
              users.email as address, mail.created_at, mail.attempts,
              extract(epoch from clock_timestamp() - mail.created_at)::float8 as age_seconds`;

/**
 * Records that a mail is being sent, from which on it is never sent again unless the server refuses
 * it. Returns false when the lease is over, or its user may no longer have it.
 */
export async function beginMail(
  sql: Sql,
  kinds: MailKinds,
  senderId: Uuid,
  id: Uuid,
): Promise<boolean> {
  const rows = await sql`
    update report_mails mail set status = 'sending'
     where id = ${id} and leased_by = ${senderId} and status = 'waiting' and leased_until > clock_timestamp()
       and ${mayReceive(sql, kinds)}
    returning id`;
  return rows.length === 1;
}

export type MailState =
  | { status: "sent" }
  | { status: "failed" | "unknown"; error: string }
  | { status: "waiting"; error: string; delaySeconds: number };

/** Writes what came of an attempt, and gives the mail back. */
export async function finishMail(
  sql: Sql,
  senderId: Uuid,
  id: Uuid,
  state: MailState,
): Promise<void> {
  const delaySeconds = "delaySeconds" in state ? state.delaySeconds : 0;
  await sql`
    update report_mails
       set status = ${state.status}, error = ${"error" in state ? state.error : null},
           next_attempt_at = clock_timestamp() + make_interval(secs => ${delaySeconds}),
           leased_by = null, leased_until = clock_timestamp()
     where id = ${id} and leased_by = ${senderId}`;
}

/** How many seconds the oldest mail that is not sent has waited; 0 without any. */
export async function readMailDelay(sql: Sql): Promise<number> {
  const [row] = await sql<[{ seconds: number }]>`
    select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as seconds
      from report_mails where status in ('waiting', 'sending')`;
  return row.seconds;
}
