/**
 * Sends the mails that wait in PostgreSQL. API processes share them by leases. A mail is recorded
 * as being sent before the first byte of it is: after that, only a refusal of the server makes it
 * wait again, so none is sent twice.
 */
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import { newUuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import type { Sql } from "../postgres.ts";
import { type MailKinds, writeMail } from "./message.ts";
import { type MailResult, sendMail } from "./send.ts";
import type { MailSender } from "./settings.ts";
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

/** Time between two rounds. */
const ROUND_MS = 5_000;

/** Longest time that a stop waits for mails that are being sent. */
const STOP_MS = 3_000;

/** Most mails that a round sends, each on a connection of its own. */
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
  #sending: Promise<number> = Promise.resolve(0);

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
    this.#rounds = repeat(async () => {
      this.#sending = this.sendWaiting().catch((error: unknown) => {
        this.#log.warn({ error }, "mails_not_sent");
        return 0;
      });
      return (await this.#sending) === SENDING_MAX ? 0 : ROUND_MS;
    });
  }

  /** Waits a little for mails that are being sent, so that it is known what became of them. */
  async stop(): Promise<void> {
    void this.#rounds?.stop();
    await Promise.race([this.#sending, Bun.sleep(STOP_MS)]);
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
    // What was withdrawn was not begun: its lease ends by itself, and the next round deletes it.
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
export const readDelay = (sql: Sql): Promise<number> => readMailDelay(sql);
