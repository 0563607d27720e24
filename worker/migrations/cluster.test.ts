import { describe, expect, test } from "bun:test";

import { clusterSchema } from "./cluster.ts";
import { migrations } from "./index.ts";
import { statementsOf } from "./migrate.ts";

const single = migrations.flatMap(({ text }) => statementsOf(text));
const clustered = clusterSchema(single, { name: "shorthop" });

const findNames = (form: RegExp, statements: readonly string[]): string[] =>
  statements.flatMap((statement) => form.exec(statement)?.[1] ?? []);

describe("the schema for a cluster", () => {
  test("has a replicated table and a distributed one for each table, and each view on local ones", () => {
    const tables = findNames(/CREATE TABLE IF NOT EXISTS (\w+) \(/, single);
    expect(tables).toContain("clicks");
    expect(tables.length).toBeGreaterThan(5);
    expect(
      findNames(/CREATE TABLE IF NOT EXISTS (\w+)_local ON CLUSTER 'shorthop' \(/, clustered),
    ).toEqual(tables);
    expect(
      findNames(/CREATE TABLE IF NOT EXISTS (\w+) ON CLUSTER 'shorthop' AS/, clustered),
    ).toEqual(tables);
    const views = findNames(/CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) /, single);
    expect(findNames(/CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) ON CLUSTER/, clustered)).toEqual(
      views,
    );
    expect(clustered).toHaveLength(2 * tables.length + views.length);
  });

  test("reads and fills only local tables in its views, and deduplicates inserts into each table", () => {
    for (const statement of clustered) {
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

  test("is not generated from a statement that is not supported", () => {
    expect(() => clusterSchema(["ALTER TABLE clicks ADD COLUMN x Int8"], { name: "c" })).toThrow(
      "Cannot convert",
    );
  });
});
