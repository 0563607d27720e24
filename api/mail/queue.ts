/**
 * Sends the mails that wait in PostgreSQL. API processes share them by leases. A mail is recorded
 * as being sent before the first byte of it is: after that, only a refusal of the server makes it
 * wait again, so none is sent twice.
 */
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat } from "../../shared/repeat.ts";
import type { Sql } from "../postgres.ts";
import type { MailKinds } from "./kind.ts";
import { writeMail } from "./message.ts";
import { type MailResult, sendMail } from "./send.ts";
import type { MailSettings } from "./settings.ts";
import {
  abandonMails,
  beginMail,
  finishMail,
  type LeasedMail,
  leaseMails,
  type MailState,
  readMailDelay,
  withdrawMails,
} from "./sql.ts";

/** Time between two looks for mails. */
const LOOK_MS = 5_000;

/** Longest time that a stop waits for mails that are being sent. */
const STOP_MS = 3_000;

/** Mails that one look sends, each on a connection of its own. */
const SENDING_MAX = 5;

/** Seconds after an attempt until the next one; the last repeats until the mail is a day old. */
const DELAYS = [60, 300, 900, HOUR_SECONDS, 2 * HOUR_SECONDS];

export type MailQueueDeps = {
  sql: Sql;
  settings: Pick<MailSettings, "server" | "from">;
  kinds: MailKinds;
  log: Log;
  /** Called with what came of each mail, for metrics. */
  onOutcome: (outcome: MailResult["outcome"]) => void;
};

/**
 * Sends mails in the background; the returned function stops it, and waits a little for those that
 * are being sent, so that it is known what became of them.
 */
export function startMailQueue(deps: MailQueueDeps): () => Promise<void> {
  const senderId = newUuid();
  let sending: Promise<number> = Promise.resolve(0);
  const queue = repeat(async () => {
    sending = sendWaiting(deps, senderId).catch((error: unknown) => {
      deps.log.warn({ error }, "mails_not_sent");
      return 0;
    });
    return (await sending) === SENDING_MAX ? 0 : LOOK_MS;
  });
  return async () => {
    void queue.stop();
    await Promise.race([sending, Bun.sleep(STOP_MS)]);
  };
}

/** How many seconds the oldest mail that is not sent has waited; 0 without any. */
export const readDelay = (sql: Sql): Promise<number> => readMailDelay(sql);

/** Sends mails that are due, some at most; returns how many were attempted. */
export async function sendWaiting(deps: MailQueueDeps, senderId: Uuid): Promise<number> {
  const { sql, kinds } = deps;
  const abandoned = await abandonMails(sql);
  for (let i = 0; i < abandoned; i++) deps.onOutcome("unknown");
  await withdrawMails(sql, kinds);
  for (const { enqueue } of Object.values(kinds)) await enqueue?.();
  const leased = await leaseMails(sql, senderId, SENDING_MAX);
  await Promise.all(leased.map((mail) => attempt(deps, senderId, mail)));
  return leased.length;
}

async function attempt(deps: MailQueueDeps, senderId: Uuid, mail: LeasedMail): Promise<void> {
  const { sql, log, onOutcome } = deps;
  const result = await send(deps, senderId, mail);
  onOutcome(result.outcome);
  if (result.outcome === "sent")
    return await finishMail(sql, senderId, mail.id, { status: "sent" });
  // The server's words can contain the address, which no log has.
  log.warn({ mail_id: mail.id, outcome: result.outcome }, "mail_not_sent");
  // What was withdrawn was not begun: its lease ends by itself, and the next look deletes it.
  if (!("error" in result)) return;
  await finishMail(sql, senderId, mail.id, stateAfter(mail, result));
}

async function send(
  { sql, settings: { server, from }, kinds }: MailQueueDeps,
  senderId: Uuid,
  mail: LeasedMail,
): Promise<MailResult> {
  const { id, kind, address: to, created_at: date } = mail;
  const content = await kinds[kind].write(mail);
  if (content === undefined) return { outcome: "withdrawn" };
  const message = await writeMail({ id, from, to, date }, content);
  return await sendMail(server, { from, to, message }, () => beginMail(sql, kinds, senderId, id));
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
