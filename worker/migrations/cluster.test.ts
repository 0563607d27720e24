import { describe, expect, test } from "bun:test";

import { clusterSchema } from "./cluster.ts";
import { migrations } from "./index.ts";
import { statementsOf } from "./migrate.ts";

const single = migrations.flatMap(({ text }) => statementsOf(text));
const spread = clusterSchema(single, { name: "shorthop" });

const named = (form: RegExp, statements: readonly string[]): string[] =>
  statements.flatMap((statement) => form.exec(statement)?.[1] ?? []);

describe("the schema for a cluster", () => {
  test("has a replicated table and a distributed one for each table, and each view on local ones", () => {
    const tables = named(/CREATE TABLE IF NOT EXISTS (\w+) \(/, single);
    expect(tables).toContain("clicks");
    expect(tables.length).toBeGreaterThan(5);
    expect(
      named(/CREATE TABLE IF NOT EXISTS (\w+)_local ON CLUSTER 'shorthop' \(/, spread),
    ).toEqual(tables);
    expect(named(/CREATE TABLE IF NOT EXISTS (\w+) ON CLUSTER 'shorthop' AS/, spread)).toEqual(
      tables,
    );
    const views = named(/CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) /, single);
    expect(named(/CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) ON CLUSTER/, spread)).toEqual(views);
    expect(spread).toHaveLength(2 * tables.length + views.length);
  });

  test("reads and fills local tables alone in its views, and recognises repeats in each table", () => {
    for (const statement of spread) {
      expect(statement).toContain("ON CLUSTER 'shorthop'");
      expect(statement).not.toContain("non_replicated");
      if (statement.includes("MATERIALIZED")) {
        expect(statement).toMatch(/ TO \w+_local AS/);
        expect(statement).not.toMatch(/FROM clicks\b(?!_local)/);
      }
      if (statement.includes("ENGINE = Replicated"))
        expect(statement).toContain("replicated_deduplication_window = 10000");
    }
  });

  test("is refused for a statement nobody has thought of", () => {
    expect(() => clusterSchema(["ALTER TABLE clicks ADD COLUMN x Int8"], { name: "c" })).toThrow(
      "Not known how",
    );
  });
});
