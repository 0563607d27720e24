/**
 * Goal: a recipient gets a report once at most, and gets it unless the server refuses for good,
 * whatever stops; who has left or unsubscribed gets nothing. Method: a real PostgreSQL and a real
 * SMTP server on loopback.
 */
import { beforeEach, expect, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import {
  MAIL_FROM,
  mailKinds,
  mailQueue,
  unsubscribeTokens as tokens,
} from "../../test/harness/mail-queue.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { REPORT_CONTENT } from "../../test/harness/report-content.ts";
import { headerOf, partOf, refusal, SmtpServer } from "../../test/harness/smtp.ts";
import { Unsubscriber } from "../reports/mails.ts";
import { enqueueMails } from "../reports/maker.ts";
import { type MailKinds, readDelay } from "./queue.ts";

const postgres = await forFile(startPostgres());

let outcomes: string[];
beforeEach(async () => {
  outcomes = [];
  await postgres.sql`delete from report_mails`;
});

/** Sends by the server at a URL what is due, as a process of its own. */
const sendTo = (url: string, kinds?: MailKinds): Promise<number> =>
  mailQueue(postgres.sql, url, outcomes, kinds).sendWaiting();

/** Adds a report with a run, and as many recipients with a mail each. */
async function addRecipients(recipients: number) {
  const { sql } = postgres;
  const accountId = await postgres.addAccount();
  const [reportId, runId] = [newUuid(), newUuid()];
  await sql`
    insert into reports (id, account_id, mode, name, period, hour, timezone, language, due_at)
    values (${reportId}, ${accountId}, 'live', 'n', 'weekly', 8, 'UTC', 'en', now())`;
  await sql`
    insert into report_runs (id, report_id, first_day, last_day, requested, content)
    values (${runId}, ${reportId}, '2026-02-23', '2026-03-01', false, ${sql.json(REPORT_CONTENT)})`;
  const users: { id: Uuid; email: string }[] = [];
  for (let i = 0; i < recipients; i++) {
    const user = await postgres.addMember(accountId, "viewer");
    await sql`insert into report_recipients (report_id, account_id, user_id) values (${reportId}, ${accountId}, ${user.id})`;
    users.push(user);
  }
  await sql.begin((transaction) => enqueueMails(transaction, { runId, reportId }));
  return { accountId, reportId, users };
}

const statuses = async () =>
  (
    await postgres.sql<{ status: string }[]>`
      select status from report_mails order by status`
  ).map(({ status }) => status);

const makeDue = () =>
  postgres.sql`update report_mails set next_attempt_at = now() where status = 'waiting'`;

const expireLeases = () =>
  postgres.sql`update report_mails set leased_until = now() - interval '1 second'`;

test("each recipient gets a mail with the report, and can unsubscribe by one click", async () => {
  await using smtp = await SmtpServer.start();
  const { reportId, users } = await addRecipients(2);
  await sendTo(smtp.url);
  expect(smtp.received.map(({ to }) => to.join()).toSorted()).toEqual(
    users.map(({ email }) => email).toSorted(),
  );
  expect(await statuses()).toEqual(["sent", "sent"]);
  const [mail] = smtp.received;
  if (mail === undefined) throw new Error("No mail.");
  const header = (name: string) => headerOf(mail, name);
  expect(mail.from).toBe(MAIL_FROM);
  expect(header("message-id")).toMatch(/^<[0-9a-f-]{36}@shorthop\.example>$/);
  expect(header("list-unsubscribe-post")).toBe("List-Unsubscribe=One-Click");
  expect(header("auto-submitted")).toBe("auto-generated");
  const url = /^<https:\/\/api\.example\.com\/unsubscribe\/(?<token>[\w-]{64})>$/.exec(
    header("list-unsubscribe") ?? "",
  );
  const token = url?.groups?.["token"] ?? "";
  expect(tokens.read(token)).toEqual({
    reportId,
    userId: users.find(({ email }) => mail.to.includes(email))?.id ?? "",
  });
  for (const type of ["text/plain", "text/html"]) {
    const text = partOf(mail, type);
    for (const expected of ["Monday numbers", "1,312 (+4.1 %, 1,260 before)", "Spring sale", token])
      expect([type, text]).toEqual([type, expect.stringContaining(expected)]);
  }
});

test("the server is greeted with a full name, as relays refuse others", async () => {
  const names: unknown[] = [];
  await using smtp = await SmtpServer.start({
    onMessage: (_, { hostNameAppearsAs }) => void names.push(hostNameAppearsAs),
  });
  await addRecipients(1);
  await sendTo(smtp.url);
  expect(names).toEqual([expect.stringMatching(/^[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]+$/i)]);
});

test("many processes send each mail once", async () => {
  await using smtp = await SmtpServer.start();
  const { users } = await addRecipients(12);
  const send = () => sendTo(smtp.url);
  const sendAll = () => Promise.all(Array.from({ length: 4 }, () => send()));
  // Some may have to wait, on a machine that is too busy to connect in time.
  while ((await statuses()).includes("waiting")) {
    await makeDue();
    await sendAll();
  }
  await sendAll();
  expect(smtp.received.flatMap(({ to }) => to).toSorted()).toEqual(
    users.map(({ email }) => email).toSorted(),
  );
});

test("a mail that is refused for now is sent later, with the same id", async () => {
  let refusals = 0;
  await using smtp = await SmtpServer.start({
    onRecipient() {
      if (refusals++ === 0) throw refusal(450);
    },
    onMessage() {
      if (refusals++ === 2) throw refusal(451);
    },
  });
  await addRecipients(1);
  const send = () => sendTo(smtp.url);
  await send();
  expect([await statuses(), smtp.received.length]).toEqual([["waiting"], 0]);
  // Not before its time.
  expect(await send()).toBe(0);
  for (let i = 0; i < 2; i++) {
    await makeDue();
    await send();
  }
  expect([await statuses(), outcomes]).toEqual([["sent"], ["later", "later", "sent"]]);
  const ids = smtp.received.map((mail) => headerOf(mail, "message-id"));
  expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
});

test("a mail is sent later where its refusal is not about it: of the sender, or of too many mails a day", async () => {
  let refusals = 0;
  await using smtp = await SmtpServer.start({
    onSender() {
      if (refusals++ === 0) throw refusal(530, "5.7.0 Authentication Required");
    },
    onMessage() {
      if (refusals++ === 2) throw refusal(550, "5.4.5 Daily user sending limit exceeded.");
    },
  });
  await addRecipients(1);
  for (let i = 0; i < 3; i++) {
    await makeDue();
    await sendTo(smtp.url);
  }
  expect([await statuses(), outcomes]).toEqual([["sent"], ["later", "later", "sent"]]);
});

test("a mail that is refused for good is not sent again, nor one that waits for longer than a day", async () => {
  await using smtp = await SmtpServer.start({
    onRecipient() {
      throw refusal(550);
    },
  });
  await addRecipients(1);
  await sendTo(smtp.url);
  expect([await statuses(), outcomes]).toEqual([["failed"], ["refused"]]);
  await addRecipients(1);
  // Nothing listens there.
  const send = () => sendTo("smtp://127.0.0.1:1");
  await send();
  expect(await statuses()).toEqual(["failed", "waiting"]);
  expect(await readDelay(postgres.sql)).toBeGreaterThan(0);
  await postgres.sql`update report_mails set created_at = now() - interval '24 hours'`;
  await makeDue();
  await send();
  expect(await statuses()).toEqual(["failed", "failed"]);
});

test("a mail whose response does not come is not sent again", async () => {
  await using smtp = await SmtpServer.start({
    onMessage: () => {
      smtp.disconnect();
      return new Promise(() => undefined);
    },
  });
  await addRecipients(1);
  const send = () => sendTo(smtp.url);
  await send();
  expect([await statuses(), outcomes]).toEqual([["unknown"], ["unknown"]]);
  await expireLeases();
  expect(await send()).toBe(0);
  expect(smtp.received.length).toBe(1);
});

test("a mail whose sender ends is sent by another one, unless it had begun", async () => {
  await using smtp = await SmtpServer.start({ onMessage: () => new Promise(() => undefined) });
  await addRecipients(1);
  const send = () => sendTo(smtp.url);
  const stuck = send();
  await eventually(async () => expect(smtp.received.length).toBe(1));
  expect(await statuses()).toEqual(["sending"]);
  // As it is when that process is gone.
  await expireLeases();
  expect(await send()).toBe(0);
  expect([await statuses(), smtp.received.length]).toEqual([["unknown"], 1]);
  smtp.disconnect();
  await stuck;

  await using other = await SmtpServer.start();
  await addRecipients(1);
  await postgres.sql`
    update report_mails set leased_by = ${newUuid()}, leased_until = now() - interval '1 second'
     where status = 'waiting'`;
  await sendTo(other.url);
  expect([await statuses(), other.received.length]).toEqual([["sent", "unknown"], 1]);
});

test("a clock that was an hour ahead, and is set right, delays no mail", async () => {
  const { sql } = postgres;
  const setBack = () => sql`
    update report_mails
       set leased_until = leased_until + interval '1 hour', next_attempt_at = next_attempt_at + interval '1 hour'`;
  // One was refused for now, one is leased by a process that is gone, and one was never tried.
  await using closed = await SmtpServer.start({
    onRecipient() {
      throw refusal(450);
    },
  });
  await addRecipients(2);
  await sendTo(closed.url);
  await sql`
    update report_mails set leased_by = ${newUuid()}, leased_until = now() + interval '1 minute'
     where id = (select max(id::text)::uuid from report_mails)`;
  await addRecipients(1);
  await setBack();
  await using smtp = await SmtpServer.start();
  await sendTo(smtp.url);
  expect([await statuses(), smtp.received.length]).toEqual([["sent", "sent", "sent"], 3]);
});

test("nobody gets a mail who has unsubscribed, left the account, or whose address is not confirmed", async () => {
  await using smtp = await SmtpServer.start();
  const { accountId, reportId, users } = await addRecipients(4);
  const [unsubscribed, left, unconfirmed, stays] = users;
  if (!unsubscribed || !left || !unconfirmed || !stays) throw new Error("Users are missing.");
  const unsubscriber = new Unsubscriber(postgres.sql, tokens);
  const ORIGIN = { network: "192.0.2.0/24", request_id: "test" };
  const token = tokens.write({ reportId, userId: unsubscribed.id });
  expect([
    await unsubscriber.unsubscribe(token, ORIGIN),
    await unsubscriber.unsubscribe(token, ORIGIN),
  ]).toEqual([true, true]);
  await postgres.sql`delete from members where account_id = ${accountId} and user_id = ${left.id}`;
  await postgres.sql`update users set email_verified = false where id = ${unconfirmed.id}`;
  await sendTo(smtp.url);
  expect(smtp.received.map(({ to }) => to)).toEqual([[stays.email]]);
  expect(await statuses()).toEqual(["sent"]);
});

test("who unsubscribes while the mail is on its way to the server gets nothing of it", async () => {
  await using smtp = await SmtpServer.start({
    async onRecipient() {
      await postgres.sql`delete from report_recipients`;
    },
  });
  await addRecipients(1);
  const send = () => sendTo(smtp.url);
  await send();
  expect([smtp.received.length, outcomes]).toEqual([0, ["withdrawn"]]);
  await expireLeases();
  await send();
  expect(await statuses()).toEqual([]);
});

test("a mail whose subject is gone when it is written is not sent, and ends no look", async () => {
  await using smtp = await SmtpServer.start();
  const { users } = await addRecipients(2);
  const kinds = mailKinds(postgres.sql);
  const { report } = kinds;
  const write: MailKinds["report"]["write"] = async (mail) =>
    mail.user_id === users[0]?.id ? undefined : await report.write(mail);
  kinds.report = { mayReceive: (sql) => report.mayReceive(sql), write };
  expect(await sendTo(smtp.url, kinds)).toBe(2);
  expect(outcomes.toSorted()).toEqual(["sent", "withdrawn"]);
  expect(smtp.received.map(({ to }) => to)).toEqual([[users[1]?.email ?? ""]]);
});
