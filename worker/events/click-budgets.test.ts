/**
 * Goal: however many clicks strangers make, an account gets no more bytes of their events in a day
 * than its plan allows, learns how many were left out, and others get theirs.
 */
import { expect, test } from "bun:test";

import { boundsOf } from "../../shared/budgets.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { type ClickEvent, writeEvents } from "./recorder.ts";

const CLICKS = 500;
const EVENTS = 40;

const { atOnce } = boundsOf("click_event_bytes", "free");

let batch = 0;
const postgres = await forFile(startPostgres());

// Of a click, most of which is where it came from. The columns of clicks are none of this test.
const click = {
  link_id: "link_1",
  referrer: "x".repeat(100),
} as unknown as ClickEvent["data"]["clicks"][number];

const eventsOf = (account_id: Uuid, mode = "live"): ClickEvent[] =>
  Array.from({ length: EVENTS }, () => ({
    id: newUuid(),
    account_id,
    mode,
    data: { clicks: Array.from({ length: CLICKS }, () => click) },
  }));

const write = (events: readonly ClickEvent[]): Promise<void> =>
  writeEvents(postgres.sql, events, { epoch: 1, batch: batch++ }, 20);

const readEvents = async (accountId: Uuid, type: string) =>
  await postgres.sql<
    { data: Record<string, unknown>; bytes: number }[]
  >`select data, bytes from events where account_id = ${accountId} and type = ${type}`;

/** An account with so many bytes left today. */
async function addAccount(left: number): Promise<Uuid> {
  const id = await postgres.addAccount("free");
  await postgres.sql`
    insert into click_event_days (account_id, mode, day, bytes)
    values (${id}, 'live', (now() at time zone 'UTC')::date, ${atOnce - left})`;
  return id;
}

test("an account gets the events that its day has room for, and is told of the clicks beyond", async () => {
  const [account, other] = [await addAccount(300_000), await postgres.addAccount("free")];
  await write([...eventsOf(account), ...eventsOf(account, "test"), ...eventsOf(other)]);
  const recorded = await readEvents(account, "clicks.recorded");
  const bytes = recorded.reduce((sum, event) => sum + event.bytes, 0);
  console.log(`${recorded.length} of ${2 * EVENTS} events were recorded, of ${bytes} bytes`);
  expect(bytes).toBeLessThan(400_000);
  // Of each statement that has left some out; the rest is said an hour later.
  const told = await readEvents(account, "clicks.left_out");
  expect(told.map(({ data }) => data)).toEqual([
    { clicks: expect.any(Number), since: expect.stringMatching(/^\d{4}-.*Z$/) },
    { clicks: expect.any(Number), since: expect.any(String) },
  ]);
  expect(await readEvents(other, "clicks.recorded")).toHaveLength(EVENTS);

  await postgres.sql`
    update click_event_days set reported_at = now() - interval '2 hours' where account_id = ${account}`;
  await write([]);
  await write(eventsOf(other).slice(0, 1));
  const all = await readEvents(account, "clicks.left_out");
  const left = all.reduce((sum, { data }) => sum + Number(data["clicks"]), 0);
  expect(left + recorded.length * CLICKS).toBe(2 * EVENTS * CLICKS);
});

test("the next day has room again", async () => {
  const account = await addAccount(0);
  await write(eventsOf(account));
  expect(await readEvents(account, "clicks.recorded")).toHaveLength(0);
  await postgres.sql`update click_event_days set day = day - 1 where account_id = ${account}`;
  await write(eventsOf(account));
  expect(await readEvents(account, "clicks.recorded")).toHaveLength(EVENTS);
});
