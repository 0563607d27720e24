/**
 * Goal: the last click of a link is exactly that of the last click by a person that is stored,
 * whichever worker stored it and in whatever order clicks arrive; also of clicks from before last
 * clicks were kept. Method: ClickHouse is asked for the truth.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { connect } from "nats";
import * as z from "zod";

import { postgresPool } from "../../api/postgres.ts";
import { queryRows } from "../../shared/clicks/query.ts";
import { decodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { createAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
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

let key: string;

const stack = await forFile(startStack());
const nats = await forFile(connect(natsLogin(stack.info().nats_url)), (nats) => nats.close());
const clickhouse = await forFile(connectClickHouse(stack.info().clickhouse_url), (clickhouse) =>
  clickhouse.close(),
);
const sql = await forFile(postgresPool(stack.info().database_url, 2), (sql) => sql.end());
beforeEach(async () => void ({ key } = await createAccount(stack, "pro")));

type Link = { id: string; uuid: Uuid; short_url: string };

async function addLink(): Promise<Link> {
  const body = { url: "https://example.com/" };
  const { body: created } = await call(`${stack.info().api_url}/v1/links`, { key, body });
  const { id, short_url } = linkSchema.parse(created);
  return { id, short_url, uuid: decodeId("link", id) ?? newUuid() };
}

const listSchema = z.object({
  data: z.array(
    z.object({ id: z.string(), clicks: z.int(), last_click_at: z.iso.datetime().nullable() }),
  ),
});

/** The account's links, as the API lists them. */
async function list(query = "") {
  const { body } = await call(`${stack.info().api_url}/v1/links${query}`, { key });
  return listSchema.parse(body).data;
}

const idsOf = async (query: string) => (await list(query)).map(({ id }) => id);

const toText = (ms: number) => new Date(ms).toISOString();

const shown = async ({ id }: Link) => (await list()).find((link) => link.id === id);

/** Clicks of a link in ClickHouse, and the last one by a person. */
async function readTruth({ uuid }: Link): Promise<{ clicks: number; last_click_at: string }> {
  const [row] = await queryRows<{ clicks: string; last: string }>(
    clickhouse,
    `SELECT count() AS clicks, toUnixTimestamp64Milli(max(ts)) AS last
       FROM clicks WHERE link_id = {link: UUID} AND class = 'human'`,
    { link: uuid },
  );
  return { clicks: Number(row?.clicks), last_click_at: toText(Number(row?.last)) };
}

/** Clicks of a link of every class. */
async function countAll({ uuid }: Link): Promise<number> {
  const query = "SELECT count() AS clicks FROM clicks WHERE link_id = {link: UUID}";
  const [row] = await queryRows<{ clicks: string }>(clickhouse, query, { link: uuid });
  return Number(row?.clicks);
}

/** Publishes clicks of a link that are so old, and waits until ClickHouse has `total` of them. */
async function publish(link: Link, ageMs: number, clicks: number, total: number): Promise<void> {
  await publishSegments(nats, [new TestJournal(link.uuid, ageMs).next(clicks)]);
  await eventually(async () => expect((await readTruth(link)).clicks).toBe(total), TIMEOUT_MS);
}

const expectTruth = (link: Link) =>
  eventually(
    async () => expect(await shown(link)).toMatchObject(await readTruth(link)),
    TIMEOUT_MS,
  );

test("the last click is that of a person, whatever comes late, and the list sorts by it", async () => {
  const [never, early, late] = [await addLink(), await addLink(), await addLink()];
  const created = await call(`${stack.info().api_url}/v1/links/${never.id}`, { key });
  expect(created.body).toMatchObject({ last_click_at: null });
  await publish(early, 10 * MINUTE_MS, 3, 3);
  await publish(late, MINUTE_MS, 2, 2);
  // Of a redirector that was without NATS for two days.
  await publish(late, 2 * DAY_MS, 5, 7);
  await expectTruth(early);
  await expectTruth(late);
  const before = await shown(late);
  await call(late.short_url, { headers: { "user-agent": "Googlebot/2.1" } });
  await eventually(async () => {
    const [row] = await sql<{ bots: number }[]>`
      select bot_clicks::integer as bots from link_counters where link_id = ${late.uuid}`;
    expect(row?.bots).toBe(1);
  }, TIMEOUT_MS);
  expect(await shown(late)).toEqual(before);
  const newest = [late.id, early.id, never.id];
  expect(await idsOf("?sort=last_click_at")).toEqual(newest);
  expect(await idsOf("?sort=last_click_at&order=asc&archived=any")).toEqual(newest.toReversed());
  // Who has seen the link before its click does not take it for unchanged.
  const { headers } = await call(`${stack.info().api_url}/v1/links/${early.id}`, { key });
  await publish(early, 0, 1, 4);
  await expectTruth(early);
  const again = await call(`${stack.info().api_url}/v1/links/${early.id}`, {
    key,
    headers: { "if-none-match": headers.get("etag") ?? "" },
  });
  expect(again.status).toBe(200);
});

/** Keeps every worker from writing counters, as a version before does of last clicks. */
async function keepFromWriting() {
  await sql.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before update on link_counters execute function refuse()`);
  return async () => {
    await sql.unsafe("drop trigger refuse on link_counters; drop function refuse");
  };
}

describe("a worker that stored clicks and did not write their counters", () => {
  test("leaves nothing out when another takes over, whether it ended in order or was killed", async () => {
    process.kill(Number(stack.info().pids.worker), "SIGSTOP");
    let owner = await startWorker(stack);
    await waitForOwner(() => owner.metricsUrl);
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const standby = await startWorker(stack);
      const link = await addLink();
      await publish(link, DAY_MS, 1, 1);
      await expectTruth(link);
      const permit = await keepFromWriting();
      await publish(link, 0, 2, 3);
      // Later, and not by a person.
      await call(link.short_url, { headers: { "user-agent": "Googlebot/2.1" } });
      await eventually(async () => expect(await countAll(link)).toBe(4), TIMEOUT_MS);
      if (signal === "SIGTERM") await owner.stop();
      else process.kill(owner.pid, signal);
      await waitForOwner(() => standby.metricsUrl);
      await permit();
      await expectTruth(link);
      owner = standby;
    }
    await owner.stop();
    process.kill(Number(stack.info().pids.worker), "SIGCONT");
  });
});
