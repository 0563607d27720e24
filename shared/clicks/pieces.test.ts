/**
 * Goal: the pieces of a comparison contain each click once, and none of them has the clicks of a
 * whole busy day.
 */
import { describe, expect, test } from "bun:test";

import { Division, type Piece, SUBJECTS_MAX } from "./pieces.ts";
import type { ClickHouse } from "./query.ts";
import { ROLLUP_TABLES, type RollupTable } from "./rollup-tables.ts";
import { type Difference, groupDifferences } from "./rollups.ts";

const DAY = 86_400;
const HOUR = 3_600;
const RANGE = { from: 20_000 * DAY, to: 20_001 * DAY };

/** A ClickHouse with so many clicks a day, and links in its own order; counts the queries. */
function createClickHouse(clicks: number, links: readonly string[]) {
  let queries = 0;
  const clickhouse: ClickHouse = {
    async query() {
      queries++;
      // The only query selects these columns.
      return { json: async <Row>() => [{ clicks: String(clicks), links }] as Row[] };
    },
    command: () => Promise.reject(new Error("Nothing is changed.")),
  };
  return { clickhouse, queries: () => queries };
}

const rollupOf = (name: string): RollupTable => {
  const rollup = ROLLUP_TABLES.find(({ table }) => table === name);
  if (rollup === undefined) throw new Error(`There is no ${name}.`);
  return rollup;
};

const divide = (clicks: number, links: readonly string[], table: string): Promise<Piece[]> =>
  Array.fromAsync(
    new Division(createClickHouse(clicks, links).clickhouse, 100).divide(rollupOf(table), RANGE),
  );

const LINKS = ["d", "c", "b", "a"];

const differenceOf = (of: { table: string; subject: string; bucket?: number }) => ({
  bucket: 0,
  account: "account",
  missing: 1,
  surplus: 0,
  humans: 1,
  bots: 0,
  ...of,
});

describe("a day with few clicks", () => {
  test.each(["clicks_15m", "clicks_1d", "clicks_1d_places"])(
    "is one piece of %s",
    async (table) => {
      const pieces = await divide(100, LINKS, table);
      expect(pieces.map(({ lacksAccounts, parameters }) => [lacksAccounts, parameters])).toEqual([
        [false, RANGE],
      ]);
    },
  );
});

describe("a day with many clicks", () => {
  test.each(["clicks_15m", "clicks_1h", "clicks_1h_of_account"])(
    "is 24 pieces of %s, which follow on each other",
    async (table) => {
      const pieces = await divide(101, LINKS, table);
      expect(pieces.map(({ parameters }) => parameters)).toEqual(
        Array.from({ length: 24 }, (_, i) => ({
          from: RANGE.from + i * HOUR,
          to: RANGE.from + (i + 1) * HOUR,
        })),
      );
    },
  );

  test("is pieces of links of a rollup by day: each begins with the link at which the one before ends", async () => {
    for (const table of ["clicks_1d", "clicks_1d_of_account"]) {
      const pieces = await divide(400, LINKS, table);
      expect(pieces.map(({ parameters }) => parameters)).toEqual([
        { ...RANGE, next: "c" },
        { ...RANGE, first: "c", next: "b" },
        { ...RANGE, first: "b", next: "a" },
        { ...RANGE, first: "a" },
      ]);
    }
  });

  test("has one more piece for accounts where a rollup has rows of both, which reads no clicks", async () => {
    const pieces = await divide(200, LINKS, "clicks_1d_places");
    expect(pieces.map(({ lacksAccounts, parameters }) => [lacksAccounts, parameters])).toEqual([
      [true, { ...RANGE, next: "b" }],
      [true, { ...RANGE, first: "b" }],
      [false, RANGE],
    ]);
    const reads = pieces.map(({ expected }) => /FROM clicks\w*/.exec(expected)?.[0]);
    expect(reads).toEqual(["FROM clicks", "FROM clicks", "FROM clicks_1d_places"]);
  });

  test("has no empty piece when one link has most of the clicks", async () => {
    const pieces = await divide(1_000, ["b", "hot", "hot", "hot", "hot", "hot", "a"], "clicks_1d");
    expect(pieces.map(({ parameters }) => parameters)).toEqual([
      { ...RANGE, next: "b" },
      { ...RANGE, first: "b", next: "hot" },
      { ...RANGE, first: "hot", next: "a" },
      { ...RANGE, first: "a" },
    ]);
  });

  test("is divided once for all rollups", async () => {
    const { clickhouse, queries } = createClickHouse(400, LINKS);
    const division = new Division(clickhouse, 100);
    for (const rollup of ROLLUP_TABLES) await Array.fromAsync(division.divide(rollup, RANGE));
    expect(queries()).toBe(1);
  });
});

describe("what is compared again", () => {
  test("is in groups of one bucket of a table, each of so many subjects as a statement can list", () => {
    const found = Array.from({ length: 2 * SUBJECTS_MAX + 1 }, (_, i): Difference[] => [
      differenceOf({ table: "clicks_1h", subject: `${i}` }),
      differenceOf({ table: "clicks_1d", bucket: i < 3 ? 0 : DAY, subject: `${i}` }),
    ]).flat();
    const groups = groupDifferences(found);
    expect(groups.flat()).toHaveLength(found.length);
    expect(groups.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([
      1,
      3,
      SUBJECTS_MAX - 2,
      SUBJECTS_MAX,
      SUBJECTS_MAX,
      SUBJECTS_MAX,
    ]);
    for (const group of groups)
      expect(new Set(group.map(({ table, bucket }) => `${table} ${bucket}`)).size).toBe(1);
  });

  test("is accounts only after all links, whose rows theirs are compared with", () => {
    const found = ["account", "a", "account", "b"].map((subject, bucket) =>
      differenceOf({ table: "clicks_1d_places", subject, bucket: bucket % 2 }),
    );
    expect(groupDifferences(found).map((group) => group.map(({ subject }) => subject))).toEqual([
      ["a", "b"],
      ["account", "account"],
    ]);
  });
});
