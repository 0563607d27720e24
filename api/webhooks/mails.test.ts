/**
 * Goal: when webhooks are disabled, each owner of their accounts gets one mail, an hour at most,
 * whatever stops and however many processes look; nobody else gets one, and nothing old is told.
 * Method: a real PostgreSQL, a real SMTP server on loopback, and the statement by which workers
 * disable.
 */
import { beforeEach, expect, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { mailQueue } from "../../test/harness/mail-queue.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { headerOf, partOf, refusal, SmtpServer } from "../../test/harness/smtp.ts";
import { disable } from "../../worker/webhooks/results.ts";
import { deleteExpiredRows } from "../expired-rows.ts";
import { readMailSettings } from "../mail/settings.ts";
import { updateWebhook } from "./service.ts";

const postgres = await forFile(startPostgres());

let outcomes: string[];
beforeEach(async () => {
  outcomes = [];
  await postgres.sql`delete from webhooks`;
  await postgres.sql`delete from report_mails`;
});

/** Lets time pass, for all that has happened. */
async function pass(minutes: number): Promise<void> {
  await postgres.sql`update webhooks set disabled_at = disabled_at - make_interval(mins => ${minutes})`;
  await postgres.sql`update report_mails set created_at = created_at - make_interval(mins => ${minutes})`;
}

/** Sends by the server at a URL what is due, as a process of its own. */
const sendTo = (url: string): Promise<number> =>
  mailQueue(postgres.sql, url, outcomes).sendWaiting();

const WORKER = newUuid();

async function insertWebhook(accountId: Uuid): Promise<Uuid> {
  const id = newUuid();
  await postgres.sql`
    insert into webhooks (id, account_id, mode, url, events, salt, position, leased_by)
    values (${id}, ${accountId}, 'live', 'https://hooks.example.com/shorthop?key=secret', '{*}',
            ${Buffer.alloc(16)}, 0, ${WORKER})`;
  return id;
}

/** Adds an account with owners and a webhook. */
async function addWebhook(owners = 1) {
  const accountId = await postgres.addAccount();
  const emails: string[] = [];
  for (let i = 0; i < owners; i++)
    emails.push((await postgres.addMember(accountId, "owner")).email);
  return { accountId, id: await insertWebhook(accountId), emails };
}

/** Disables a webhook as a worker does; then enough time passes that it is told. */
async function disableAsWorker(id: Uuid): Promise<void> {
  expect(await disable(postgres.sql, WORKER, { id, reason: "gone" })).toBe(true);
  await pass(2);
}

/** Continues a webhook as its owner does. */
const resume = ({ accountId, id }: { accountId: Uuid; id: Uuid }) =>
  postgres.sql.begin((sql) =>
    updateWebhook(sql, { accountId, mode: "live" }, id, { status: "active" }),
  );

async function addDisabled(owners = 1) {
  const webhook = await addWebhook(owners);
  await disableAsWorker(webhook.id);
  return webhook;
}

const statuses = async () =>
  (
    await postgres.sql<{ status: string }[]>`
      select status from report_mails where run_id is null order by status`
  ).map(({ status }) => status);

const makeDue = () =>
  postgres.sql`update report_mails set next_attempt_at = now() where status = 'waiting'`;

const expireLeases = () => postgres.sql`
  update report_mails set leased_until = now() - interval '1 second' where status = 'waiting'`;

const recipientsOf = ({ received }: { received: readonly { to: string[] }[] }) =>
  received.flatMap(({ to }) => to).toSorted();

test("each owner with a confirmed address gets a mail, and nobody else", async () => {
  await using smtp = await SmtpServer.start();
  const { accountId, id, emails } = await addWebhook(2);
  await postgres.addMember(accountId, "member");
  await postgres.addMember(accountId, "viewer");
  await postgres.addMember(accountId, "owner", false);
  const send = () => sendTo(smtp.url);
  expect(await send()).toBe(0);
  await disableAsWorker(id);
  await send();
  await send();
  expect(recipientsOf(smtp)).toEqual(emails.toSorted());
  expect([await statuses(), outcomes]).toEqual([
    ["sent", "sent"],
    ["sent", "sent"],
  ]);
  const [mail] = smtp.received;
  if (mail === undefined) throw new Error("No mail.");
  expect(partOf(mail, "text/plain")).toContain("to hooks.example.com/shorthop.");
  expect(mail.raw).not.toContain("secret");
});

test("a mail is in the language of the account's newest report", async () => {
  await using smtp = await SmtpServer.start();
  const { accountId } = await addDisabled();
  for (const [language, day] of [
    ["en", 1],
    ["de", 2],
  ] as const)
    await postgres.sql`
      insert into reports (id, account_id, mode, name, period, hour, timezone, language, due_at, created_at)
      values (${newUuid()}, ${accountId}, 'test', 'n', 'weekly', 8, 'UTC', ${language}, now(), make_date(2026, 1, ${day}))`;
  await sendTo(smtp.url);
  expect(smtp.received.map((mail) => headerOf(mail, "content-language"))).toEqual(["de"]);
});

test("many webhooks of a user's accounts are one mail an hour, by many processes", async () => {
  await using smtp = await SmtpServer.start();
  const send = () => sendTo(smtp.url);
  const { accountId, id, emails } = await addWebhook(2);
  const second = await addWebhook(0);
  await postgres.sql`
    insert into members (account_id, user_id, role)
    select ${second.accountId}, user_id, 'owner' from members where account_id = ${accountId}`;
  const others: Uuid[] = [];
  for (let i = 0; i < 28; i++) others.push(await insertWebhook(accountId));
  await disableAsWorker(id);
  const sendAll = async () => {
    do {
      await makeDue();
      await expireLeases();
      await Promise.allSettled(Array.from({ length: 4 }, () => send()));
      // Some may have to wait, on a machine that is too busy to connect in time.
    } while ((await statuses()).includes("waiting"));
  };
  await sendAll();
  expect(recipientsOf(smtp)).toEqual(emails.toSorted());
  // Whatever else is disabled within the hour, also in the place of one that was told.
  await postgres.sql`delete from webhooks where id = ${id}`;
  for (const webhook of [...others, second.id]) {
    await disable(postgres.sql, WORKER, { id: webhook, reason: "gone" });
    if (webhook === others[9]) await pass(2);
  }
  await pass(2);
  await sendAll();
  expect(smtp.received).toHaveLength(2);
  await pass(60);
  await sendAll();
  await sendAll();
  expect(recipientsOf(smtp)).toEqual([...emails, ...emails].toSorted());
  const last = smtp.received.at(-1);
  if (last === undefined) throw new Error("No mail.");
  expect(headerOf(last, "subject")).toBe("Webhooks disabled: hooks.example.com and 28 others");
  expect(partOf(last, "text/plain")).toContain("9 more webhooks were disabled.");
});

test("what is disabled while a mail waits is in the next one", async () => {
  let refuses = true;
  await using smtp = await SmtpServer.start({
    onRecipient() {
      if (refuses) throw refusal(450);
    },
  });
  const send = () => sendTo(smtp.url);
  const { accountId, emails } = await addDisabled();
  await send();
  await disableAsWorker(await insertWebhook(accountId));
  refuses = false;
  await makeDue();
  await send();
  await pass(60);
  await send();
  expect(recipientsOf(smtp)).toEqual([...emails, ...emails]);
  expect(smtp.received.map((mail) => headerOf(mail, "subject"))).toEqual([
    "Webhook disabled: hooks.example.com",
    "Webhook disabled: hooks.example.com",
  ]);
});

test("a webhook that is continued and disabled again is told again, once an hour at most", async () => {
  await using smtp = await SmtpServer.start();
  const webhook = await addDisabled();
  const send = () => sendTo(smtp.url);
  await send();
  await resume(webhook);
  await disableAsWorker(webhook.id);
  await send();
  expect(smtp.received.length).toBe(1);
  await pass(60);
  await send();
  await send();
  expect(recipientsOf(smtp)).toEqual([...webhook.emails, ...webhook.emails]);
});

test("a change of a webhook that stays disabled tells nothing again", async () => {
  await using smtp = await SmtpServer.start();
  const { accountId, id } = await addDisabled();
  const send = () => sendTo(smtp.url);
  await send();
  await pass(120);
  const owner = { accountId, mode: "live" } as const;
  await postgres.sql.begin((sql) => updateWebhook(sql, owner, id, { description: "changed" }));
  await postgres.sql`update webhooks set status = 'disabled' where id = ${id}`;
  await send();
  expect(smtp.received.length).toBe(1);
});

test("a mail is withdrawn when its user no longer owns the account, or the webhook continues", async () => {
  let refuses = true;
  await using smtp = await SmtpServer.start({
    onRecipient() {
      if (refuses) throw refusal(450);
    },
  });
  const send = () => sendTo(smtp.url);
  const [left, demoted, unconfirmed, continued] = [
    await addDisabled(),
    await addDisabled(),
    await addDisabled(),
    await addDisabled(),
  ];
  const { emails } = await addDisabled();
  await send();
  expect(await statuses()).toEqual(Array.from({ length: 5 }, () => "waiting"));
  refuses = false;
  await postgres.sql`delete from members where account_id = ${left.accountId}`;
  await postgres.sql`update members set role = 'member' where account_id = ${demoted.accountId}`;
  await postgres.sql`update users set email_verified = false where email = ${unconfirmed.emails[0] ?? ""}`;
  await resume(continued);
  await makeDue();
  await send();
  expect([recipientsOf(smtp), await statuses()]).toEqual([emails, ["sent"]]);
});

const setDisabledAt = (id: Uuid, hours: number | null) => postgres.sql`
  update webhooks set disabled_at = clock_timestamp() - make_interval(hours => ${hours}) where id = ${id}`;

test("a webhook that was disabled long before mails were set up is not told", async () => {
  await using smtp = await SmtpServer.start();
  const [old, older, recent] = [await addDisabled(), await addDisabled(), await addDisabled()];
  await setDisabledAt(old.id, 25);
  // Before the column was there.
  await setDisabledAt(older.id, null);
  await setDisabledAt(recent.id, 23);
  await sendTo(smtp.url);
  expect([recipientsOf(smtp), await statuses()]).toEqual([recent.emails, ["sent"]]);
});

test("without a mail server nothing is started that writes mails", () => {
  const config = { API_URL: "https://api.example.com", DASHBOARD_SECRET: "s".repeat(32) };
  expect(readMailSettings(config)).toBeUndefined();
});

test("mails about webhooks are deleted after 30 days", async () => {
  await using smtp = await SmtpServer.start();
  await addDisabled();
  const send = () => sendTo(smtp.url);
  await send();
  await postgres.sql`
    update report_mails set created_at = now() - interval '29 days' where run_id is null`;
  await deleteExpiredRows(postgres.sql);
  expect(await statuses()).toEqual(["sent"]);
  await postgres.sql`
    update report_mails set created_at = now() - interval '31 days' where run_id is null`;
  await deleteExpiredRows(postgres.sql);
  expect(await statuses()).toEqual([]);
});
