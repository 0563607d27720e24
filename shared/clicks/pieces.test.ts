/** Goal: the pieces of a comparison contain each click once, and none of them has the clicks of a whole busy day. */
import { describe, expect, test } from "bun:test";

import { createDivision, type Piece, pieceOfSubjects, SUBJECTS_MAX } from "./pieces.ts";
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
    createDivision(createClickHouse(clicks, links).clickhouse, 100)(rollupOf(table), RANGE),
  );

const clicksOf = (table: string) => pieceOfSubjects(rollupOf(table), RANGE, ["a"]).clicks;

const LINKS = ["d", "c", "b", "a"];

describe("a day with few clicks", () => {
  test.each(["clicks_15m", "clicks_1d", "clicks_1d_places"])(
    "is one piece of %s",
    async (table) => {
      const pieces = await divide(100, LINKS, table);
      expect(pieces.map(({ kind, parameters }) => [kind, parameters])).toEqual([
        [undefined, RANGE],
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
      expect(pieces[1]?.clicks).toContain("link_id >= {first: UUID} AND link_id < {next: UUID}");
      expect(pieces[1]?.rows).toContain("link_id >= {first: UUID} AND link_id < {next: UUID}");
    }
  });

  test("has one more piece for accounts where a rollup has rows of both", async () => {
    const pieces = await divide(200, LINKS, "clicks_1d_places");
    expect(pieces.map(({ kind, parameters }) => [kind, parameters])).toEqual([
      ["link_id", { ...RANGE, next: "b" }],
      ["link_id", { ...RANGE, first: "b" }],
      ["account_id", RANGE],
    ]);
    expect(pieces.map(({ rows }) => /subject_id !?= account_id$/.exec(rows)?.[0])).toEqual([
      "subject_id != account_id",
      "subject_id != account_id",
      "subject_id = account_id",
    ]);
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
    const division = createDivision(clickhouse, 100);
    for (const rollup of ROLLUP_TABLES) await Array.fromAsync(division(rollup, RANGE));
    expect(queries()).toBe(1);
  });
});

describe("what is compared again", () => {
  test("is in groups of one bucket of a table, each of so many subjects as a statement can list", () => {
    const difference = { missing: 1, surplus: 0, humans: 1, bots: 0 };
    const found = Array.from({ length: 2 * SUBJECTS_MAX + 1 }, (_, i): Difference[] => [
      { ...difference, table: "clicks_1h", bucket: 0, subject: `${i}` },
      { ...difference, table: "clicks_1d", bucket: i < 3 ? 0 : DAY, subject: `${i}` },
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

  test("reads clicks by link, and by account only where a rollup has accounts", () => {
    expect(clicksOf("clicks_1d")).toEndWith("AND link_id IN {subjects: Array(UUID)}");
    expect(clicksOf("clicks_1h_of_account")).toEndWith("AND account_id IN {subjects: Array(UUID)}");
    expect(clicksOf("clicks_1d_agents")).toEndWith(
      "AND (link_id IN {subjects: Array(UUID)} OR account_id IN {subjects: Array(UUID)})",
    );
  });
});
