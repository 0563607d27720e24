/** Goal: the rollups that are rebuilt and retained are exactly those that the migrations create and fill. */
import { describe, expect, test } from "bun:test";

import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { migrations } from "./index.ts";
import { statementsOf } from "./migrate.ts";

const statements = migrations
  .flatMap(({ text }) => statementsOf(text))
  .map((statement) => statement.replaceAll(/^\s*--.*\n/gm, "").trim());

/** SQL without differences of layout. */
const normalize = (sql: string): string =>
  sql
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ (?=\))|(?<=\() /g, "")
    .trim();

const find = (form: RegExp): RegExpExecArray[] =>
  statements.map((statement) => form.exec(statement)).filter((match) => match !== null);

const createdTables = find(
  /^CREATE TABLE IF NOT EXISTS (?<table>\w+) \((?<columns>.*)\) ENGINE = .*\nORDER BY \((?<order>[^)]*)\)/s,
).map(({ groups }) => ({
  table: groups?.["table"] ?? "",
  columns: [...(groups?.["columns"] ?? "").matchAll(/^ {2}(\w+) /gm)].map(([, name = ""]) => name),
  order: (groups?.["order"] ?? "").split(", "),
}));

const createdViews = find(
  /^CREATE MATERIALIZED VIEW IF NOT EXISTS (?<view>\w+) TO (?<table>\w+) AS\n(?<select>.*)$/s,
).map(({ groups }) => ({
  view: groups?.["view"] ?? "",
  table: groups?.["table"] ?? "",
  select: normalize(groups?.["select"] ?? ""),
}));

/** The raw clicks, and the log of batches. */
const NO_ROLLUPS = new Set(["clicks", "batches"]);

const byTable = <Row extends { table: string }>(rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => (a.table < b.table ? -1 : 1));

describe("the list of rollups", () => {
  test("is every table of the migrations but those of clicks and batches, with its columns", () => {
    const listed = ROLLUP_TABLES.map(({ table, keys, measures }) => ({
      table,
      columns: [...keys, ...measures].toSorted(),
      order: keys.toSorted(),
    }));
    const created = createdTables.map(({ table, columns, order }) => ({
      table,
      columns: columns.toSorted(),
      order: order.toSorted(),
    }));
    expect(byTable(created.filter(({ table }) => !NO_ROLLUPS.has(table)))).toEqual(byTable(listed));
    expect(created).toHaveLength(listed.length + NO_ROLLUPS.size);
  });

  test("is every view of the migrations, with its query", () => {
    const listed = ROLLUP_TABLES.map(({ view, table, selectFromClicks }) => ({
      view,
      table,
      select: normalize(selectFromClicks()),
    }));
    expect(byTable(createdViews)).toEqual(byTable(listed));
  });

  test("reads no statement of the migrations wrongly: each creates, empties or fills a table, or creates a view", () => {
    const others = statements.filter(
      (statement) => !/^(?:TRUNCATE TABLE|INSERT INTO) /.test(statement),
    );
    expect(createdTables.length + createdViews.length).toBe(others.length);
  });
});

describe("the query of a rollup", () => {
  test("reads only clicks that meet a condition, each of which is in it once", () => {
    for (const { selectFromClicks } of ROLLUP_TABLES)
      expect(selectFromClicks("ts >= 0").split("FROM clicks WHERE ts >= 0")).toHaveLength(2);
  });
});
