/**
 * Goal: however many clicks strangers make, an account gets no more bytes of their events in a day
 * than its plan allows, learns how many were left out, and others get theirs.
 */
import { expect, test } from "bun:test";

import { CLICK_FIELDS } from "../../api/clicks/single-clicks.ts";
import { boundsOf } from "../../shared/budgets.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
import { escapeField } from "../enrich/tab-separated.ts";
import { type ClickEvent, makeClickEvents, readerKey, writeEvents } from "./recorder.ts";

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

const [accountId, journalId, linkId] = [newUuid(), newUuid(), newUuid()];

const readers = new Set([readerKey(accountId, "live")]);

const TIME = Date.UTC(2026, 2, 2, 9, 15, 0, 7);

type Values = Partial<Record<(typeof ROW_COLUMNS)[number], string>>;

/** A row as an insert has it, or as ClickHouse returns it. */
function rowOf(idx: number, isStored: boolean, more: Values = {}): string {
  const idOf = (uuid: string) => (isStored ? uuid : uuid.replaceAll("-", ""));
  const values: Values = {
    ts: isStored ? "2026-03-02 09:15:00.007" : String(TIME),
    link_id: idOf(linkId),
    account_id: idOf(accountId),
    mode: "live",
    class: "human",
    city: escapeField("Köln\t\\n"),
    journal_id: journalId,
    segment: "4",
    idx: String(idx),
    import: "0",
    ...more,
  };
  return `${ROW_COLUMNS.map((column) => values[column] ?? "").join("\t")}\n`;
}

const rowsOf = (indexes: readonly number[], isStored: boolean): Buffer =>
  Buffer.from(indexes.map((idx) => rowOf(idx, isStored)).join(""));

const indexes = Array.from({ length: 1_100 }, (_, i) => i);

test("the same clicks make the same events, from memory and from ClickHouse, in any order", async () => {
  const events = await makeClickEvents(rowsOf(indexes, false), readers);
  expect(events.map(({ data }) => data.clicks.length)).toEqual([500, 500, 100]);
  expect(new Set(events.map(({ id }) => id)).size).toBe(3);
  expect(await makeClickEvents(rowsOf(indexes.toReversed(), true), readers)).toEqual(events);
  // Events are deleted by the time in their ids.
  expect(events[0]?.id.replaceAll("-", "").slice(0, 13)).toBe(
    `${TIME.toString(16).padStart(12, "0")}7`,
  );
  const [first] = events[0]?.data.clicks ?? [];
  expect(first).toMatchObject({
    id: `${journalId}.4.0`,
    time: "2026-03-02T09:15:00.007Z",
    city: "Köln\t\\n",
  });
});

test("a click has the fields of the list of clicks", async () => {
  const [event] = await makeClickEvents(rowsOf([0], false), readers);
  const fields: readonly string[] = CLICK_FIELDS;
  expect(Object.keys(event?.data.clicks[0] ?? {}).toSorted()).toEqual(fields.toSorted());
});

test("only people's clicks make events, none of them imported, of accounts and modes that have readers", async () => {
  const other = newUuid();
  const rows = [
    rowOf(0, false, { class: "bot" }),
    rowOf(1, false, { class: "prefetch" }),
    rowOf(2, false, { mode: "test" }),
    rowOf(3, false, { account_id: other }),
    rowOf(3, false, { import: "7" }),
    rowOf(4, false),
    rowOf(5, false, { segment: "5" }),
  ];
  const events = await makeClickEvents(Buffer.from(rows.join("")), readers);
  expect(events.map(({ data }) => data.clicks.map(({ id }) => id))).toEqual([
    [`${journalId}.4.4`],
    [`${journalId}.5.5`],
  ]);
});
