import { describe, expect, test } from "bun:test";

import { clusterSchema, migrations, statementsOf } from "./migrate.ts";

const single = migrations.flatMap(({ text }) => statementsOf(text));
const clustered = clusterSchema(single, "shorthop");

const findNames = (form: RegExp, statements: readonly string[]): string[] =>
  statements.flatMap((statement) => form.exec(statement)?.[1] ?? []);

describe("the schema for a cluster", () => {
  test("has a replicated table and a distributed one for each table that stores rows", () => {
    const tables = findNames(/CREATE TABLE IF NOT EXISTS (\w+) \(.*MergeTree/s, single);
    expect(tables).toContain("clicks");
    expect(tables.length).toBeGreaterThan(5);
    expect(
      findNames(/CREATE TABLE IF NOT EXISTS (\w+)_local ON CLUSTER 'shorthop' \(/, clustered),
    ).toEqual(tables);
    expect(
      findNames(/CREATE TABLE IF NOT EXISTS (\w+) ON CLUSTER 'shorthop' AS/, clustered),
    ).toEqual(tables);
  });

  test("has a table under its own name for each one that stores nothing, and every view", () => {
    expect(
      findNames(/CREATE TABLE IF NOT EXISTS (\w+) ON CLUSTER 'shorthop' \(.*= Null$/s, clustered),
    ).toEqual(["click_sums", "incoming_clicks"]);
    const view = /CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) /;
    expect(findNames(view, clustered)).toEqual(findNames(view, single));
  });

  test("distributes what is inserted, and reads and fills only local tables in all other views", () => {
    for (const statement of clustered) {
      expect(statement).toContain("ON CLUSTER 'shorthop'");
      expect(statement).not.toContain("non_replicated");
      if (statement.includes("MATERIALIZED"))
        expect(statement).not.toMatch(/FROM clicks\w*(?<!_local)\b/);
      if (statement.includes("MATERIALIZED"))
        expect(statement).toMatch(/FROM incoming_clicks$| TO (?:clicks\w*_local|click_sums) AS/);
      if (statement.includes("ENGINE = Replicated"))
        expect(statement).toContain("replicated_deduplication_window = 10000");
    }
  });

  test("has the log of batches for a month, in the table that stores it", () => {
    const expiring = clustered.filter((statement) => statement.includes("INTERVAL 30 DAY DELETE"));
    expect(findNames(/CREATE TABLE IF NOT EXISTS (\w+)/, expiring)).toEqual(["batches_local"]);
  });

  test("is not generated from a statement that is not supported", () => {
    expect(() => clusterSchema(["OPTIMIZE TABLE clicks"], "c")).toThrow("Cannot convert");
  });
});
