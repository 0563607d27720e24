/**
 * Goal: a worker that is killed while it delivers loses nothing. Method: real processes; a second
 * worker takes over what the killed one had leased, and what arrived is compared with the ledger.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import * as z from "zod";

import { postgresPool, type Sql } from "../../api/postgres.ts";
import { createAccount, type NewAccount, UNLIMITED } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startWorker } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { findMisdelivered, readLedger, startWebhookReceiver } from "../harness/webhook-receiver.ts";

setDefaultTimeout(300_000);

/** A lease is valid for 20 seconds; the machine may be busy. */
const TAKEOVER_MS = 90_000;

const LINKS = 20;
const CHANGES = 6;

let stack: Stack;
let account: NewAccount;
let sql: Sql;
let second: ExtraProcess | undefined;
beforeAll(async () => {
  stack = await startStack();
  account = await createAccount(stack, "enterprise", UNLIMITED);
  sql = postgresPool(stack.info().database_url, 1);
});
afterAll(async () => {
  await second?.stop();
  await sql.end();
  await stack[Symbol.asyncDispose]();
});

const idSchema = z.object({ id: z.string() });

async function send(path: string, method: string, body: Record<string, unknown>): Promise<string> {
  const response = await call(`${stack.info().api_url}/v1${path}`, {
    key: account.key,
    method,
    body,
  });
  expect([path, response.status < 300, response.body]).toEqual([path, true, expect.anything()]);
  return idSchema.parse(response.body).id;
}

test("events reach a receiver once at least, under one id and in order for each link", async () => {
  await using receiver = startWebhookReceiver(100);
  const webhook = await send("/webhooks", "POST", { url: receiver.url, events: ["*"] });
  await send(`/webhooks/${webhook}`, "PATCH", { status: "paused" });
  const begun = (await readLedger(stack.info().api_url, account.key)).length;
  for (let i = 0; i < LINKS; i++) {
    const id = await send("/links", "POST", { url: `https://example.com/${i}` });
    for (let j = 0; j < CHANGES; j++) await send(`/links/${id}`, "PATCH", { title: `${j}` });
  }
  await send(`/webhooks/${webhook}`, "PATCH", { status: "active" });
  await eventually(async () => {
    expect(receiver.accepted().length).toBeGreaterThan(5);
  }, TAKEOVER_MS);

  // The only worker; whichever runs next has to wait for its lease.
  const { pids } = stack.info();
  process.kill(Number(pids.worker), "SIGKILL");
  second = await startWorker(stack);
  const [lease] = await sql<{ left: number }[]>`
    select extract(epoch from leased_until - now())::float8 as left from webhooks
     where leased_by is not null`;
  expect(lease?.left).toBeLessThanOrEqual(20);
  const events = (await readLedger(stack.info().api_url, account.key)).slice(begun);
  expect(events).toHaveLength(LINKS * (1 + CHANGES));
  expect(new Set(receiver.accepted()).size).toBeLessThan(events.length);

  await eventually(async () => {
    expect(findMisdelivered(events, receiver.accepted())).toEqual([]);
  }, TAKEOVER_MS);
});
