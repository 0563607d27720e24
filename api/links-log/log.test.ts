/**
 * Goal: the log in PostgreSQL is one chain of entries, each as `encodeEntry` would write it; changes
 * that wait for long are said.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { decodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { TAKEDOWNS_ALIAS } from "../../shared/contracts/notices.ts";
import { decodeEntry, type Entry, ENTRY_BYTES_MAX } from "../../shared/links-log/entries.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { encodeEntry } from "../../test/harness/links-log.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { changeTakedowns } from "../takedowns/service.ts";
import {
  acknowledgeEntries,
  addToOutbox,
  describeOutbox,
  numberLog,
  selectEntries,
} from "./log.ts";

/** What the first entry follows. */
let beginning: string;
const postgres = await forFile(startPostgres());

beforeEach(async () => {
  const { sql } = postgres;
  await sql`delete from link_outbox`;
  await sql`delete from link_log`;
  await sql`delete from link_log_head`;
  const [row] = await sql<[{ hash: string }]>`
    insert into link_log_head default values returning hash`;
  beginning = row.hash;
});

/** Adds deletions of links to the outbox. */
const commit = (aliases: readonly string[], version = 1) =>
  postgres.sql.begin((transaction) =>
    addToOutbox(
      transaction,
      aliases.map((alias) => ({ state: "deleted", version, domain: "", alias })),
    ),
  );

const aliasesOf = (entry: Entry) =>
  entry.states.map((state) => decodeLinkRecord(state)?.alias ?? "malformed");

/** Reads the log, of which each entry must follow the one before. */
async function readLog(): Promise<Entry[]> {
  let previous = beginning;
  const rows = await selectEntries(postgres.sql, 0);
  return rows.map(({ bytes, ...head }) => {
    const entry = decodeEntry(bytes);
    if (entry === undefined) throw new Error("There is a row that is no entry.");
    expect(entry).toMatchObject({ ...head, previous });
    expect(Buffer.from(encodeEntry(entry, entry.states)).equals(bytes)).toBe(true);
    previous = entry.hash;
    return entry;
  });
}

const number = (options = {}) => numberLog(postgres.sql, options);

describe("the log", () => {
  test("has what was committed, in one chain, and the outbox is empty then", async () => {
    await commit(["a", "b"]);
    const head = await number();
    await commit(["c"]);
    expect(await number()).toMatchObject({ term: 1, hasMore: false });
    const log = await readLog();
    expect(log.map(aliasesOf)).toEqual([["a", "b"], ["c"]]);
    expect(log[0]).toMatchObject({ hash: head.hash, database: head.database });
    expect(await postgres.sql`select from link_outbox`).toHaveLength(0);
  });

  test("has the last state of each link that waited, where that came", async () => {
    await commit(["a", "b"], 1);
    await commit(["a"], 2);
    await number();
    const [entry] = await readLog();
    expect(entry?.states.map((state) => decodeLinkRecord(state))).toMatchObject([
      { alias: "b", version: 1 },
      { alias: "a", version: 2 },
    ]);
  });

  test("has an empty entry only when a heartbeat is wanted and nothing waits", async () => {
    await number();
    expect(await readLog()).toEqual([]);
    await number({ heartbeat: true });
    await commit(["a"]);
    await number({ heartbeat: true });
    expect((await readLog()).map(aliasesOf)).toEqual([[], ["a"]]);
  });

  test("begins a term only if it is not above the other one yet, with the takedowns", async () => {
    await changeTakedowns(postgres.sql, "host", "taken.example", true);
    await number();
    await commit(["a"]);
    expect(await number({ above: 3 })).toMatchObject({ term: 4 });
    expect(await number({ above: 3 })).toMatchObject({ term: 4 });
    const [first, ...others] = await readLog();
    expect(first).toMatchObject({ term: 1 });
    expect(others.map(aliasesOf)).toEqual([["a", TAKEDOWNS_ALIAS]]);
    const [takedowns] = others[0]?.states.slice(1) ?? [];
    expect(decodeLinkRecord(takedowns ?? new Uint8Array())).toMatchObject({
      takedowns: { accounts: [], hosts: ["taken.example"] },
    });
  });

  test("has entries within their bounds, a larger state alone, and of a large outbox a part at a time", async () => {
    const { sql } = postgres;
    const large = {
      state: "deleted",
      version: 1,
      domain: "",
      alias: "large",
      x: "ü".repeat(20_000),
    };
    await commit(["before"]);
    await sql`insert into link_outbox (domain, alias, state) values ('', 'large', ${JSON.stringify(large)})`;
    await commit(["after"]);
    await commit(Array.from({ length: 6_000 }, (_, i) => `link-${i}`));
    expect(await number()).toMatchObject({ hasMore: true });
    expect(await number()).toMatchObject({ hasMore: false });
    const log = await readLog();
    expect(log.flatMap(aliasesOf).length).toBe(6_003);
    expect(log.slice(0, 3).map((entry) => aliasesOf(entry)[0])).toEqual([
      "before",
      "large",
      "after",
    ]);
    expect(log[1]?.states).toHaveLength(1);
    const sizes = log.map((entry) => encodeEntry(entry, entry.states).length);
    expect(sizes.filter((size) => size > ENTRY_BYTES_MAX)).toHaveLength(1);
    // The last entry of each call has what is left.
    const full = sizes.slice(2).filter((size) => size > ENTRY_BYTES_MAX - 1_024);
    expect(full.length).toBeGreaterThanOrEqual(log.length - 4);
  });

  test("knows its entries until they were acknowledged for an hour, and always the last one", async () => {
    const { sql } = postgres;
    for (const alias of ["a", "b", "c"]) {
      await commit([alias]);
      await number();
    }
    const [a, b, c] = await readLog();
    if (a === undefined || b === undefined || c === undefined) throw new Error("No entries.");
    await acknowledgeEntries(sql, b);
    await acknowledgeEntries(sql, a);
    const isKnown = async (entry: Entry) => (await numberLog(sql, { entry })).isKnown;
    expect(await Promise.all([a, b, c].map(isKnown))).toEqual([true, true, true]);
    expect(await isKnown({ ...b, hash: a.hash })).toBe(false);
    await sql`update link_log set created_at = now() - interval '61 minutes'`;
    await acknowledgeEntries(sql, b);
    expect(await Promise.all([a, b, c].map(isKnown))).toEqual([false, true, true]);
    expect((await number()).acknowledgedPosition).toBe(b.position);
  });
});

test("only changes that have waited for a minute are said", () => {
  expect(describeOutbox({ pending: 0, oldest: null })).toBeUndefined();
  expect(describeOutbox({ pending: 900, oldest: 1_000 }, 1_059_000)).toBeUndefined();
  expect(describeOutbox({ pending: 2, oldest: 1_000 }, 1_090_500)).toBe(
    "2 changes of links are not published, the oldest for 90 s: redirectors serve these links as they were",
  );
});
