import { Database } from "bun:sqlite";
import { beforeEach, expect, test } from "bun:test";

import { countLinks, EMPTY_FEED, readFeed, SCHEMA, setFeed } from "./schema.ts";

let db: Database;
beforeEach(() => {
  db = new Database(":memory:", { strict: true });
  db.run(SCHEMA);
});

const at = (sequence: number) => ({ ...EMPTY_FEED, stream: "s", sequence, complete: true });

test("a store has a position in each stream, and one does not change another", () => {
  expect(readFeed(db, "LINKS_4_1")).toEqual(EMPTY_FEED);
  setFeed(db, at(3), 7, "LINKS_4_1");
  setFeed(db, at(5), 8, "LINKS_4_2");
  setFeed(db, at(9), 9);
  setFeed(db, at(4), 10, "LINKS_4_1");
  expect(readFeed(db)).toMatchObject({ sequence: 9 });
  expect(readFeed(db, "LINKS_4_1")).toEqual(at(4));
  expect(readFeed(db, "LINKS_4_2")).toEqual(at(5));
  expect(readFeed(db, "LINKS_4_0")).toEqual(EMPTY_FEED);
  expect(countLinks(db)).toBe(10);
});

test("a version that knows only one stream reads what it knows, and keeps the positions in the others", () => {
  setFeed(db, at(9), 1);
  setFeed(db, at(4), 2, "LINKS_4_1");
  // As that version reads and writes the row.
  const row = db.query<{ state: string }, []>("SELECT state FROM feed").get();
  const state = { ...EMPTY_FEED, ...JSON.parse(row?.state ?? "{}") };
  expect(state).toMatchObject({ stream: "s", sequence: 9, complete: true });
  const next = { ...state, sequence: 12, counted: { links: 3, sequence: 12, epoch: 0 } };
  db.query<undefined, [string]>("UPDATE feed SET state = ?").run(JSON.stringify(next));
  expect(readFeed(db)).toMatchObject({ sequence: 12 });
  expect(readFeed(db, "LINKS_4_1")).toEqual(at(4));
  expect(countLinks(db)).toBe(3);
});

test("links are counted anew when a version has changed them that does not count", () => {
  setFeed(db, at(4), 5, "LINKS_4_1");
  expect(countLinks(db)).toBe(5);
  db.run("UPDATE feed SET state = json_set(state, '$.sequence', 1)");
  expect(countLinks(db)).toBe(0);
});
