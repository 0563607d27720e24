/**
 * Goal: whoever reads events of clicks gets every stored click of a person once, within seconds,
 * whichever worker stored it and whenever it was killed. Method: ClickHouse is asked for the truth.
 */
import { beforeEach, expect, test } from "bun:test";

import { connect } from "nats";
import * as z from "zod";

import { postgresPool } from "../../api/postgres.ts";
import { queryRows } from "../../shared/clicks/query.ts";
import { decodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { createAccount, type NewAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startWorker } from "../harness/processes.ts";
import { publishSegments, TestJournal, type TestSegment } from "../harness/segments.ts";
import { waitForOwner } from "../harness/services.ts";
import { startStack } from "../harness/stack.ts";

/** Another worker takes over 10 s after an owner was killed. */
const TIMEOUT_MS = 60_000;

let account: NewAccount;
let accountId: Uuid;
const stack = await forFile(startStack());
const nats = await forFile(connect(natsLogin(stack.info().nats_url)), (nats) => nats.close());
const clickhouse = await forFile(connectClickHouse(stack.info().clickhouse_url), (clickhouse) =>
  clickhouse.close(),
);
const sql = await forFile(postgresPool(stack.info().database_url, 2), (sql) => sql.end());
beforeEach(async () => {
  account = await createAccount(stack, "enterprise", { minute: 100_000, burst: 100_000 });
  accountId = decodeId("acct", account.id) ?? newUuid();
});

const click = z.looseObject({ id: z.string(), link_id: z.string(), class: z.string() });
const pageSchema = z.object({
  data: z.array(z.object({ id: z.string(), data: z.object({ clicks: z.array(click) }) })),
  has_more: z.boolean(),
  next_cursor: z.string(),
});

async function read(query: string, key = account.key) {
  const { body } = await call(`${stack.info().api_url}/v1/events?${query}`, { key });
  return pageSchema.parse(body);
}

/** Every click of the account's events, in order. */
async function readClicks(): Promise<z.output<typeof click>[]> {
  const clicks: z.output<typeof click>[] = [];
  for (let query = "type=clicks.recorded&limit=100"; ;) {
    const page = await read(query);
    for (const { data } of page.data) {
      expect(data.clicks.length).toBeLessThanOrEqual(500);
      clicks.push(...data.clicks);
    }
    if (!page.has_more) return clicks;
    query = `type=clicks.recorded&limit=100&starting_after=${page.next_cursor}`;
  }
}

/** Makes the account a reader, and waits until workers know it. */
async function becomeReader(): Promise<void> {
  await read("type=clicks.recorded");
  // A worker uses a list of readers for two seconds.
  await Bun.sleep(3_000);
}

/** Ids of the account's stored clicks by people. */
async function readTruth(): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    clickhouse,
    `SELECT concat(toString(journal_id), '.', toString(segment), '.', toString(idx)) AS id
       FROM clicks WHERE account_id = {account: UUID} AND class = 'human'`,
    { account: accountId },
  );
  return rows.map(({ id }) => id).toSorted();
}

const publish = async (...segments: TestSegment[]): Promise<void> =>
  await publishSegments(nats, segments);

const expectStored = (clicks: number) =>
  eventually(async () => expect((await readTruth()).length).toBe(clicks), TIMEOUT_MS);

/** Each stored click is in one event. */
const expectAllRecorded = () =>
  eventually(async () => {
    const ids = (await readClicks()).map(({ id }) => id).toSorted();
    expect(ids).toEqual(await readTruth());
  }, TIMEOUT_MS);

test("clicks by people are recorded with the fields of the list, for those who read them", async () => {
  const createLink = async ({ key }: NewAccount) => {
    const body = { url: "https://example.com/" };
    return linkSchema.parse((await call(`${stack.info().api_url}/v1/links`, { key, body })).body);
  };
  const link = await createLink(account);
  const unread = await createAccount(stack, "enterprise");
  await becomeReader();
  await call((await createLink(unread)).short_url);
  const { next_cursor: after } = await read("starting_after=latest&type=clicks.recorded");
  await call(`${link.short_url}?utm_source=a%09b`, {
    headers: { "accept-language": "de", referer: "https://news.example/page" },
  });
  await call(link.short_url, { headers: { "user-agent": "Googlebot/2.1" } });
  const { data } = await read(`starting_after=${after}&type=clicks.recorded&wait=20`);
  const listed = await call(`${stack.info().api_url}/v1/clicks?class=human&limit=1`, {
    key: account.key,
  });
  expect(data.flatMap(({ data }) => data.clicks)).toEqual(
    z.object({ data: z.array(click) }).parse(listed.body).data,
  );
  const events = await sql`
    select from events
     where account_id = ${decodeId("acct", unread.id) ?? ""} and type = 'clicks.recorded'`;
  expect(events.length).toBe(0);
});

/** Keeps every worker from writing events, as PostgreSQL does that is away. */
async function keepFromWriting() {
  await sql.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before insert on events for each statement execute function refuse()`);
  return async () => {
    await sql.unsafe("drop trigger refuse on events; drop function refuse");
  };
}

test("what a worker stored and had not recorded is recorded by the next one, and nothing twice", async () => {
  process.kill(Number(stack.info().pids.worker), "SIGSTOP");
  let owner = await startWorker(stack);
  await waitForOwner(() => owner.metricsUrl);
  await becomeReader();
  const journal = new TestJournal(newUuid(), 0, accountId);
  let stored = 0;
  const store = async (clicks: number) => {
    await publish(journal.next(clicks));
    stored += clicks;
    await expectStored(stored);
  };
  await store(3);
  await expectAllRecorded();
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const standby = await startWorker(stack);
    const permit = await keepFromWriting();
    await store(700);
    await store(5);
    if (signal === "SIGTERM") await owner.stop();
    else process.kill(owner.pid, signal);
    await permit();
    await waitForOwner(() => standby.metricsUrl);
    await expectAllRecorded();
    owner = standby;
  }
  // Killed at any moment, while clicks arrive.
  for (let round = 0; round < 3; round++) {
    const standby = await startWorker(stack);
    for (let i = 0; i < 20; i++) {
      await publish(journal.next(40));
      stored += 40;
      if (i === 10 + round) process.kill(owner.pid, "SIGKILL");
      // Spreads the segments over several batches.
      await Bun.sleep(100);
    }
    await waitForOwner(() => standby.metricsUrl);
    owner = standby;
  }
  await expectStored(stored);
  await expectAllRecorded();
  await owner.stop();
  process.kill(Number(stack.info().pids.worker), "SIGCONT");
});
