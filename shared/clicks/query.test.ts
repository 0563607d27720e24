/** Goal: rows are deleted, whatever ClickHouse does meanwhile, and as cheaply as it can be done. */
import { expect, test } from "bun:test";

import { type ClickHouse, deleteRows } from "./query.ts";

/** A part of a table: whether all its rows match. */
type Part = { part: string; isWhole: number };

/** A server that merges parts before some of the statements that drop them. */
class MergingClickHouse implements ClickHouse {
  readonly statements: string[] = [];
  readonly #cluster: string;
  readonly #states: Part[][];

  /** `states` are the parts that have rows, after each merge. */
  constructor(cluster: string, states: Part[][]) {
    this.#cluster = cluster;
    this.#states = states;
  }

  query({ query }: { query: string }) {
    const [parts = []] = this.#states;
    const rows: unknown[] = query.includes("system.tables") ? [{ cluster: this.#cluster }] : parts;
    return Promise.resolve({ json: <Row>() => Promise.resolve(rows as Row[]) });
  }

  command({ query }: { query: string }): Promise<void> {
    this.statements.push(query.replaceAll(/\s+/g, " "));
    const [parts = [], ...later] = this.#states;
    if (!query.startsWith("ALTER")) return Promise.resolve();
    if (later.length > 0) {
      this.#states.shift();
      return Promise.reject(Object.assign(new Error("No such part."), { code: "232" }));
    }
    this.#states[0] = parts.filter(({ isWhole }) => isWhole === 0);
    return Promise.resolve();
  }
}

const erase = (clickhouse: ClickHouse): Promise<void> =>
  deleteRows(clickhouse, [{ table: "clicks", condition: "import = {import: UInt32}" }], {
    import: 1,
  });

const DELETED =
  "WHERE import = {import: UInt32} SETTINGS lightweight_deletes_sync = 2, max_execution_time = 3000";

test("parts of which all rows go are dropped, and no other part is written again", async () => {
  const clickhouse = new MergingClickHouse("", [[{ part: "202401_1", isWhole: 1 }]]);
  await erase(clickhouse);
  expect(clickhouse.statements).toEqual(["ALTER TABLE clicks DROP PART '202401_1'"]);
});

test("parts that are merged meanwhile are looked for again", async () => {
  const clickhouse = new MergingClickHouse("", [
    [
      { part: "202401_1", isWhole: 1 },
      { part: "202401_2", isWhole: 1 },
    ],
    [
      { part: "202401_1_2", isWhole: 1 },
      { part: "202402_3", isWhole: 0 },
    ],
  ]);
  await erase(clickhouse);
  expect(clickhouse.statements).toEqual([
    "ALTER TABLE clicks DROP PART '202401_1', DROP PART '202401_2'",
    "ALTER TABLE clicks DROP PART '202401_1_2'",
    `DELETE FROM clicks ${DELETED}`,
  ]);
});

test("rows are deleted where parts are merged again and again", async () => {
  const states = Array.from({ length: 20 }, (_, n) => [{ part: `202401_${n}`, isWhole: 1 }]);
  const clickhouse = new MergingClickHouse("", states);
  await erase(clickhouse);
  expect(clickhouse.statements.at(-1)).toBe(`DELETE FROM clicks ${DELETED}`);
  expect(clickhouse.statements.length).toBeLessThan(states.length);
});

test("on a cluster, whose shards have parts of the same names, none is dropped", async () => {
  const clickhouse = new MergingClickHouse("all", [[{ part: "202401_1", isWhole: 1 }]]);
  await erase(clickhouse);
  expect(clickhouse.statements).toEqual([`DELETE FROM clicks_local ON CLUSTER 'all' ${DELETED}`]);
});

test("another error ends the deletion", async () => {
  const clickhouse = new MergingClickHouse("", [[{ part: "202401_1", isWhole: 1 }]]);
  clickhouse.command = () => Promise.reject(Object.assign(new Error("Gone."), { code: "210" }));
  expect(await erase(clickhouse).catch(String)).toContain("Gone.");
});
