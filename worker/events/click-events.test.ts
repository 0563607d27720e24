import { expect, test } from "bun:test";

import { CLICK_FIELDS } from "../../api/clicks/single-clicks.ts";
import { newUuid } from "../../shared/ids.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
import { escapeField } from "../enrich/tab-separated.ts";
import { makeClickEvents, readerKey } from "./recorder.ts";

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
