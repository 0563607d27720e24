import { describe, expect, test } from "bun:test";

import { ROLLUP_TABLES, selectSums } from "../../shared/clicks/rollup-tables.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
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

  test("is not generated from a statement that is not supported", () => {
    expect(() => clusterSchema(["OPTIMIZE TABLE clicks"], "c")).toThrow("Cannot convert");
  });
});

const statements = migrations
  .flatMap(({ text }) => statementsOf(text))
  .map((statement) => statement.replaceAll(/^\s*--.*\n/gm, "").trim());

/** SQL without differences of layout. */
const normalize = (sql: string): string =>
  sql
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ (?=\))|(?<=\() /g, "")
    .trim();

type Table = { columns: string[]; order: string[] };

type View = { table: string; query: string };

const tables = new Map<string, Table>();

const views = new Map<string, View>();

/** Statements that are none of the forms below. */
const others: string[] = [];

/** A form of statement, and its effect on the schema. */
const forms: [form: RegExp, apply: (groups: Record<string, string>) => void][] = [
  [
    /^CREATE TABLE IF NOT EXISTS (?<name>\w+) \((?<columns>.*)\) ENGINE = (?:Null|.*\nORDER BY \((?<order>[^)]*)\).*)$/s,
    ({ name = "", columns = "", order = "" }) =>
      tables.set(name, {
        columns: [...columns.matchAll(/^ {2}(\w+) /gm)].map(([, column = ""]) => column),
        order: order.split(", "),
      }),
  ],
  [
    /^CREATE MATERIALIZED VIEW IF NOT EXISTS (?<name>\w+) TO (?<table>\w+) AS\n(?<query>.*)$/s,
    ({ name = "", table = "", query = "" }) => views.set(name, { table, query: normalize(query) }),
  ],
];

for (const statement of statements) {
  const form = forms.find(([regexp]) => regexp.test(statement));
  if (form === undefined) others.push(statement);
  else form[1](form[0].exec(statement)?.groups ?? {});
}

/**
 * Tables that are no rollups: raw clicks, those that store nothing, the log of batches, sums of
 * failed requests, and what is known of retention and repairs.
 */
const NO_ROLLUPS = new Set([
  "clicks",
  "incoming_clicks",
  "click_sums",
  "batches",
  "failures",
  "unknown_aliases",
  "clicks_retention",
  "rollup_repairs",
]);

const byTable = <Row extends { table: string }>(rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => (a.table < b.table ? -1 : 1));

// Goal: the rollups that are rebuilt and retained are exactly those that the migrations create and
// fill.
describe("the list of rollups", () => {
  test("is every table of the migrations but that of the clicks, with its columns", () => {
    const listed = ROLLUP_TABLES.map(({ table, keys, measures }) => ({
      table,
      columns: [...keys, ...measures].toSorted(),
      order: keys.toSorted(),
    }));
    const created = [...tables]
      .filter(([table]) => !NO_ROLLUPS.has(table))
      .map(([table, { columns, order }]) => ({
        table,
        columns: columns.toSorted(),
        order: order.toSorted(),
      }));
    expect(byTable(created)).toEqual(byTable(listed));
  });

  test("is every view of the migrations, with its query", () => {
    const listed = ROLLUP_TABLES.map(({ view, table, viewQuery }) => ({
      view,
      table,
      query: normalize(viewQuery),
    }));
    const created = [...views].map(([view, { table, query }]) => ({ view, table, query }));
    expect(byTable(created.filter(({ table }) => !NO_ROLLUPS.has(table)))).toEqual(byTable(listed));
  });

  test("is filled from the sums of an insert as a rebuild sums clicks up", () => {
    expect(views.get("click_sums_view")).toEqual({
      table: "click_sums",
      query: normalize(selectSums()),
    });
  });

  test("reads every statement of the migrations", () => {
    expect(others).toEqual([]);
  });
});

test("every column that the worker inserts becomes a column of the raw clicks, under its name", () => {
  expect(tables.get("incoming_clicks")?.columns).toEqual([...ROW_COLUMNS]);
  expect(views.get("incoming_clicks_view")).toEqual({
    table: "clicks",
    query: `SELECT ${ROW_COLUMNS.join(", ")} FROM incoming_clicks`,
  });
  expect(tables.get("clicks")?.columns.toSorted()).toEqual([...ROW_COLUMNS, "imported"].toSorted());
});
