/**
 * Goal: what follows from a stored click is exact, whichever worker stored it, in whatever order
 * clicks arrive, and whenever a worker ends: the last click of its link is that of the last click by
 * a person, and who reads events of clicks gets every one once, within seconds. Method: ClickHouse
 * is asked for the truth.
 */
import { beforeEach, expect, test } from "bun:test";

import { connect } from "nats";
import * as z from "zod";

import { postgresPool } from "../../api/postgres.ts";
import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { queryRows } from "../../shared/clicks/query.ts";
import { decodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startWorker } from "../harness/processes.ts";
import { publishSegments, TestJournal } from "../harness/segments.ts";
import { waitForOwner } from "../harness/services.ts";
import { startStack } from "../harness/stack.ts";

/** Another worker takes over 10 s after an owner was killed. */
const TIMEOUT_MS = 60_000;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const BOT = { headers: { "user-agent": "Googlebot/2.1" } };

const stack = await forFile(startStack());
const nats = await forFile(connect(natsLogin(stack.info().nats_url)), (nats) => nats.close());
const clickhouse = await forFile(connectClickHouse(stack.info().clickhouse_url), (clickhouse) =>
  clickhouse.close(),
);
const sql = await forFile(postgresPool(stack.info().database_url, 2), (sql) => sql.end());

/** Those of a new account for each test. */
let accountId: Uuid;
let shorthop: Client;
beforeEach(async () => ({ accountId, shorthop } = await addAccount()));

async function addAccount() {
  const unlimited = { minute: 100_000, burst: 100_000 };
  const { id, key } = await createAccount(stack, "enterprise", unlimited);
  return {
    accountId: decodeId("acct", id) ?? newUuid(),
    shorthop: createClient({ baseUrl: stack.info().api_url, apiKey: key }),
  };
}

type Link = { id: string; uuid: Uuid; short_url: string };

async function addLink({ links } = shorthop): Promise<Link> {
  const { id, short_url } = await links.create({ url: "https://example.com/" });
  return { id, short_url, uuid: decodeId("link", id) ?? newUuid() };
}

const toText = (ms: number) => new Date(ms).toISOString();

/** A link, as the API lists it. */
const shown = async ({ id }: Link) =>
  (await shorthop.links.list()).data.find((link) => link.id === id);

const idsOf = async (query: Parameters<typeof shorthop.links.list>[0]) =>
  (await shorthop.links.list(query)).data.map(({ id }) => id);

/** Clicks of a link in ClickHouse by people, the last of them, and those of every class. */
async function readTruth({ uuid }: Link) {
  const [row] = await queryRows<{ clicks: string; last: string; all: string }>(
    clickhouse,
    `SELECT countIf(class = 'human') AS clicks, count() AS all,
            toUnixTimestamp64Milli(maxIf(ts, class = 'human')) AS last
       FROM clicks WHERE link_id = {link: UUID}`,
    { link: uuid },
  );
  const counts = { clicks: Number(row?.clicks), last_click_at: toText(Number(row?.last)) };
  return { counts, all: Number(row?.all) };
}

/** Publishes clicks of a link that are so old, and waits until ClickHouse has `total` of them. */
async function publish(link: Link, ageMs: number, clicks: number, total: number): Promise<void> {
  await publishSegments(nats, [new TestJournal(link.uuid, ageMs, accountId).next(clicks)]);
  await eventually(
    async () => expect((await readTruth(link)).counts.clicks).toBe(total),
    TIMEOUT_MS,
  );
}

/** The API shows the clicks and the last click that are stored. */
const expectTruth = (link: Link) =>
  eventually(
    async () => expect(await shown(link)).toMatchObject((await readTruth(link)).counts),
    TIMEOUT_MS,
  );

test("the last click is that of a person, whatever comes late, and the list sorts by it", async () => {
  const [never, early, late] = [await addLink(), await addLink(), await addLink()];
  expect((await shorthop.links.get(never.id)).last_click_at).toBeNull();
  await publish(early, 10 * MINUTE_MS, 3, 3);
  await publish(late, MINUTE_MS, 2, 2);
  // Of a redirector that was without NATS for two days.
  await publish(late, 2 * DAY_MS, 5, 7);
  await expectTruth(early);
  await expectTruth(late);
  const before = await shown(late);
  await call(late.short_url, BOT);
  await eventually(async () => {
    const [row] = await sql<{ bots: number }[]>`
      select bot_clicks::integer as bots from link_counters where link_id = ${late.uuid}`;
    expect(row?.bots).toBe(1);
  }, TIMEOUT_MS);
  expect(await shown(late)).toEqual(before);
  const newest = [late.id, early.id, never.id];
  expect(await idsOf({ sort: "last_click_at" })).toEqual(newest);
  expect(await idsOf({ sort: "last_click_at", order: "asc", archived: "any" })).toEqual(
    newest.toReversed(),
  );
  // Who has seen the link before its click does not take it for unchanged.
  const { etag } = await shorthop.links.getWithEtag(early.id);
  await publish(early, 0, 1, 4);
  await expectTruth(early);
  expect((await shorthop.links.getWithEtag(early.id)).etag).not.toBe(etag);
});

const clickSchema = z.looseObject({ id: z.string(), link_id: z.string(), class: z.string() });

const clicksOf = ({ data }: { data: unknown }) =>
  z.object({ clicks: z.array(clickSchema) }).parse(data).clicks;

const readEvents = (query: Parameters<typeof shorthop.events.list>[0]) =>
  shorthop.events.list({ type: ["clicks.recorded"], ...query });

/** Makes the account a reader, and waits until workers know it. */
async function becomeReader(): Promise<void> {
  await readEvents({});
  // A worker uses a list of readers for two seconds.
  await Bun.sleep(3_000);
}

/** Ids of the clicks in the account's events, in any order. */
async function readRecorded(): Promise<string[]> {
  const ids: string[] = [];
  for (let after = {}; ;) {
    const { data, has_more, next_cursor } = await readEvents({ limit: 100, ...after });
    for (const clicks of data.map(clicksOf)) {
      expect(clicks.length).toBeLessThanOrEqual(500);
      ids.push(...clicks.map(({ id }) => id));
    }
    if (!has_more) return ids.toSorted();
    after = { starting_after: next_cursor };
  }
}

/** Ids of the account's stored clicks by people. */
async function readStored(): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    clickhouse,
    `SELECT concat(toString(journal_id), '.', toString(segment), '.', toString(idx)) AS id
       FROM clicks WHERE account_id = {account: UUID} AND class = 'human'`,
    { account: accountId },
  );
  return rows.map(({ id }) => id).toSorted();
}

/** Each stored click is in one event. */
const expectAllRecorded = () =>
  eventually(async () => expect(await readRecorded()).toEqual(await readStored()), TIMEOUT_MS);

test("clicks by people are recorded with the fields of the list, for those who read them", async () => {
  const link = await addLink();
  const unread = await addAccount();
  await becomeReader();
  await call((await addLink(unread.shorthop)).short_url);
  const { next_cursor } = await readEvents({ starting_after: "latest" });
  await call(`${link.short_url}?utm_source=a%09b`, {
    headers: { "accept-language": "de", referer: "https://news.example/page" },
  });
  await call(link.short_url, BOT);
  const { data } = await readEvents({ starting_after: next_cursor, wait: 20 });
  const listed = await shorthop.clicks.list({ class: ["human"], limit: 1 });
  expect<unknown[]>(data.flatMap(clicksOf)).toEqual(listed.data);
  const events = await sql`
    select from events where account_id = ${unread.accountId} and type = 'clicks.recorded'`;
  expect(events.length).toBe(0);
});

/**
 * Keeps every worker from writing counters and events, as a version before does of last clicks, and
 * PostgreSQL that is away.
 */
async function keepFromWriting() {
  await sql.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before update on link_counters execute function refuse();
    create trigger refuse before insert on events for each statement execute function refuse()`);
  return async () => {
    await sql.unsafe(`
      drop trigger refuse on link_counters; drop trigger refuse on events; drop function refuse`);
  };
}

test("what a worker stored, and of which it wrote nothing else, the next one completes, and nothing twice", async () => {
  process.kill(Number(stack.info().pids.worker), "SIGSTOP");
  let owner = await startWorker(stack);
  await waitForOwner(() => owner.metricsUrl);
  await becomeReader();
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const standby = await startWorker(stack);
    const link = await addLink();
    await publish(link, DAY_MS, 1, 1);
    await expectTruth(link);
    await expectAllRecorded();
    const permit = await keepFromWriting();
    await publish(link, 0, 700, 701);
    await publish(link, 0, 5, 706);
    // Later, and not by a person.
    await call(link.short_url, BOT);
    await eventually(async () => expect((await readTruth(link)).all).toBe(707), TIMEOUT_MS);
    if (signal === "SIGTERM") await owner.stop();
    else process.kill(owner.pid, signal);
    await waitForOwner(() => standby.metricsUrl);
    await permit();
    await expectTruth(link);
    await expectAllRecorded();
    owner = standby;
  }
  // Killed at any moment, while clicks arrive.
  const link = await addLink();
  const journal = new TestJournal(link.uuid, 0, accountId);
  let published = 0;
  for (let round = 0; round < 3; round++) {
    const standby = await startWorker(stack);
    for (let i = 0; i < 20; i++) {
      await publishSegments(nats, [journal.next(40)]);
      published += 40;
      if (i === 10 + round) process.kill(owner.pid, "SIGKILL");
      // Spreads the segments over several batches.
      await Bun.sleep(100);
    }
    await waitForOwner(() => standby.metricsUrl);
    owner = standby;
  }
  await eventually(
    async () => expect((await readTruth(link)).counts.clicks).toBe(published),
    TIMEOUT_MS,
  );
  await expectTruth(link);
  await expectAllRecorded();
  await owner.stop();
  process.kill(Number(stack.info().pids.worker), "SIGCONT");
});
