/** Sends one mail by SMTP, and says what is certain of it afterwards. */
import { hostname } from "node:os";
import { Readable } from "node:stream";

import SMTPConnection from "nodemailer/lib/smtp-connection";

import type { MailServer } from "./settings.ts";

/** Longest time of each wait for the server, and of the whole attempt. */
const WAIT_MS = 20_000;
const ATTEMPT_MS = 60_000;

/** Largest response of the server, in bytes. */
const RESPONSE_BYTES_MAX = 16 * 1024;

/** Maximum characters of an error. */
const ERROR_LENGTH_MAX = 255;

export type Mail = { from: string; to: string; message: Buffer };

/**
 * `sent`: the server has it. `refused`: it does not, and another attempt is no use; `later`: it
 * does not yet. `unknown`: the message was sent, and no response came. `withdrawn`: it was not
 * begun.
 */
export type MailResult =
  { outcome: "sent" | "withdrawn" } | { outcome: "refused" | "later" | "unknown"; error: string };

/** Thrown into the message, so that the connection ends before it. */
const WITHDRAWN = new Error("The mail was withdrawn.");

/**
 * Sends a mail; never throws. `begin` is called when the server waits for the message, just before
 * its first byte: only if it returns true is anything of it sent.
 */
export async function sendMail(
  server: MailServer,
  mail: Mail,
  begin: () => Promise<boolean>,
): Promise<MailResult> {
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    name: greetingName(mail.from),
    secure: server.secure,
    requireTLS: server.requireTLS,
    connectionTimeout: WAIT_MS,
    greetingTimeout: WAIT_MS,
    socketTimeout: WAIT_MS,
    dnsTimeout: WAIT_MS,
    maxResponseSize: RESPONSE_BYTES_MAX,
  });
  let begun = false;
  async function* writeMessage() {
    if (!(await begin())) throw WITHDRAWN;
    begun = true;
    yield mail.message;
  }
  const done = Promise.withResolvers<void>();
  connection.on("error", done.reject);
  const timer = setTimeout(() => done.reject(new Error("It took too long.")), ATTEMPT_MS);
  try {
    const delivered = deliver(connection, server, mail, () =>
      Readable.from(writeMessage()).on("error", done.reject),
    );
    await Promise.race([delivered, done.promise]);
    connection.quit();
    return { outcome: "sent" };
  } catch (error) {
    connection.close();
    return error === WITHDRAWN ? { outcome: "withdrawn" } : judge(error, begun);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The name by which the server is greeted (RFC 5321 §4.1.1.1): this machine's if it is a full one,
 * else the sender's domain. The library would say `[127.0.0.1]`, which Google's relay refuses.
 */
function greetingName(from: string): string {
  const machine = hostname();
  return /\.[a-z]/i.test(machine) ? machine : from.slice(from.lastIndexOf("@") + 1);
}

/** Goes through the steps of SMTP; rejects with the error of the first that fails. */
async function deliver(
  connection: SMTPConnection,
  { auth }: MailServer,
  { from, to }: Mail,
  openMessage: () => Readable,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve()));
  });
  if (auth !== undefined)
    await new Promise<void>((resolve, reject) => {
      connection.login(auth, (error) => (error ? reject(error) : resolve()));
    });
  await new Promise<void>((resolve, reject) => {
    connection.send({ from, to: [to] }, openMessage(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

/**
 * The commands whose refusal is about this mail, and not about the server or its configuration: the
 * sender is that of all mails.
 */
const ABOUT_MAIL = new Set(["RCPT TO", "DATA"]);

/** Too many mails today, for which Google's servers have a code that is for good (RFC 3463). */
const TOO_MANY = /\b5\.4\.5\b/;

function judge(cause: unknown, begun: boolean): MailResult {
  const { responseCode, command } = Object(cause);
  const error = describe(cause);
  if (typeof responseCode !== "number") return { outcome: begun ? "unknown" : "later", error };
  const isFinal = responseCode >= 500 && ABOUT_MAIL.has(command) && !TOO_MANY.test(error);
  return { outcome: isFinal ? "refused" : "later", error };
}

function describe(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message
    .replaceAll(/\p{Cc}/gu, " ")
    .slice(0, ERROR_LENGTH_MAX)
    .toWellFormed();
}
