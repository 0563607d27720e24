/**
 * Goal: a key that somebody found and reported works nowhere from then on, and the owners of its
 * account learn it; nobody learns from a report which keys exist. Method: a real PostgreSQL, and a
 * real SMTP server on loopback.
 */
import { beforeEach, expect, test } from "bun:test";

import type { Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { mailQueue } from "../../test/harness/mail-queue.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { headerOf, partOf, SmtpServer } from "../../test/harness/smtp.ts";
import { generateKey } from "../auth/api-key.ts";
import { KeyReports, MAILS_PER_HOUR } from "./reports.ts";
import { KeyService } from "./service.ts";

const postgres = await forFile(startPostgres());
const { sql } = postgres;
const keys = new KeyService(sql);
const reports = new KeyReports(sql, true);
const ORIGIN = { network: "198.51.100.0/24", request_id: "req_1" };

beforeEach(async () => {
  await sql`delete from report_mails`;
});

async function addKey(accountId: Uuid, expiresAt: Date | null = null) {
  const name = "Deploy <b>";
  return await keys.createAny({ accountId, name, mode: "live", scopes: ["links:read"], expiresAt });
}

const isRevoked = async (id: Uuid): Promise<boolean> =>
  (await sql`select from api_keys where id = ${id} and revoked_at <= clock_timestamp()`).length ===
  1;

const waitingMails = async (): Promise<number> => (await sql`select from report_mails`).length;

test("a reported key is revoked, its ledger says so once, and only confirmed owners get a mail", async () => {
  const accountId = await postgres.addAccount();
  const { email: owner } = await postgres.addMember(accountId, "owner");
  await postgres.addMember(accountId, "owner", false);
  await postgres.addMember(accountId, "member");
  const { row, key } = await addKey(accountId);
  const other = await addKey(accountId);
  await reports.report([key, key, "no key"], ORIGIN);
  await reports.report([key], ORIGIN);
  expect([await isRevoked(row.id), await isRevoked(other.row.id)]).toEqual([true, false]);
  const events = await sql`
    select data, actor from events where account_id = ${accountId} and type = 'key.revoked'`;
  expect(events).toHaveLength(1);
  expect(events[0]?.["data"]).toMatchObject({ reported: true });
  expect(JSON.stringify(events[0])).not.toContain(key);
  expect(await waitingMails()).toBe(1);
  await using server = await SmtpServer.start();
  await mailQueue(sql, server.url, []).sendWaiting();
  expect(server.received).toHaveLength(1);
  const [mail] = server.received;
  if (mail === undefined) throw new Error("There is no mail.");
  expect(mail.to).toEqual([owner]);
  expect(headerOf(mail, "subject")).toBe("An API key was reported and is revoked");
  const text = partOf(mail, "text/plain");
  expect(text).toContain(`The API key “Deploy <b>” (${row.prefix}…)`);
  expect(text).toMatch(/https:\/\/app\.example\.com\/acct_\w+\/live\/settings\/keys/);
  expect(text).not.toContain(key);
  expect(partOf(mail, "text/html")).toContain("Deploy &lt;b&gt;");
});

test("an owner who has left by then gets no mail", async () => {
  const accountId = await postgres.addAccount();
  await postgres.addMember(accountId, "owner");
  await reports.report([(await addKey(accountId)).key], ORIGIN);
  await sql`delete from members where account_id = ${accountId}`;
  await using server = await SmtpServer.start();
  await mailQueue(sql, server.url, []).sendWaiting();
  expect(server.received).toHaveLength(0);
});

test("who makes keys and reports them does not flood the owners", async () => {
  const accountId = await postgres.addAccount();
  await postgres.addMember(accountId, "owner");
  const made = await Promise.all(Array.from({ length: 30 }, () => addKey(accountId)));
  await reports.report(
    made.map(({ key }) => key),
    ORIGIN,
  );
  expect(await waitingMails()).toBe(MAILS_PER_HOUR);
  expect(await isRevoked(made.at(-1)?.row.id ?? "")).toBe(true);
});

test("no mail waits where none is sent", async () => {
  const accountId = await postgres.addAccount();
  await postgres.addMember(accountId, "owner");
  const { row, key } = await addKey(accountId);
  await new KeyReports(sql, false).report([key], ORIGIN);
  expect([await isRevoked(row.id), await waitingMails()]).toEqual([true, 0]);
});

test("who knows only the public part of a key revokes nothing", async () => {
  const { row, key } = await addKey(await postgres.addAccount());
  await sql`update api_keys set secret_hash = ${Buffer.alloc(32)} where id = ${row.id}`;
  await reports.report([key], ORIGIN);
  expect(await isRevoked(row.id)).toBe(false);
});

test.each<[string, (key: string) => string]>([
  ["its beginning", (key) => key.slice(0, 20)],
  ["the key with a typing error", (key) => key.slice(0, -1) + (key.endsWith("a") ? "b" : "a")],
  ["a key of nobody", () => generateKey("live").key],
])("%s revokes nothing", async (_, change) => {
  const accountId = await postgres.addAccount();
  const { row, key } = await addKey(accountId);
  await reports.report([change(key)], ORIGIN);
  expect(await isRevoked(row.id)).toBe(false);
});

test("a key that has expired is not revoked once more", async () => {
  const accountId = await postgres.addAccount();
  await postgres.addMember(accountId, "owner");
  const { key } = await addKey(accountId, new Date(Date.now() - 60_000));
  await reports.report([key], ORIGIN);
  expect(await waitingMails()).toBe(0);
});
