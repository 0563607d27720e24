import { expect, test } from "bun:test";

import type * as z from "zod";

import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import { fewByRollups } from "./few-clicks.ts";
import { readFilters } from "./filters.ts";
import { filtersQuery } from "./model.ts";

const RANGE = { from: Date.UTC(2026, 0, 1, 12), to: Date.UTC(2026, 0, 8) };

/** Answers with the sum of the table that a statement reads. */
function clickHouseWith(sums: Record<string, number>) {
  const statements: string[] = [];
  const clickhouse: ClickHouse = {
    async query({ query }) {
      statements.push(query);
      const [, table = ""] = /FROM (\w+)/.exec(query) ?? [];
      const rows: unknown[] = [{ clicks: String(sums[table] ?? 0) }];
      // The caller names the rows' type.
      return await Promise.resolve({
        json: async <Row>() => (await Promise.resolve(rows)) as Row[],
      });
    },
    command: () => Promise.reject(new Error("Only questions are asked.")),
  };
  return { clickhouse, statements };
}

const isFew = (query: z.input<typeof filtersQuery>, clickhouse: ClickHouse) => {
  const filters = readFilters(filtersQuery.parse(query));
  const selection = { classes: filters.classes, filters };
  return fewByRollups("subject_id = {link_id: UUID}", {}, selection)(clickhouse, RANGE);
};

test("clicks are few when one rollup with a filter's column has few, whatever another one has", async () => {
  const { clickhouse, statements } = clickHouseWith({
    clicks_1d_places: 2_000_000,
    clicks_1d_agents: 1_000_000,
  });
  expect(await isFew({ country: "DE", browser: ["Chrome", "Edge"] }, clickhouse)).toBe(true);
  expect(statements).toHaveLength(2);
  expect(await isFew({ country: "DE" }, clickhouse)).toBe(false);
  expect(await isFew({ device: "mobile", utm_source: "x" }, clickhouse)).toBe(true);
});

test("nothing is known without a filter that a rollup has, nor about clicks that are not people's", async () => {
  const { clickhouse, statements } = clickHouseWith({});
  expect(await isFew({ utm_source: "newsletter" }, clickhouse)).toBe(false);
  expect(await isFew({ country: "DE", class: ["human", "bot"] }, clickhouse)).toBe(false);
  expect(statements).toEqual([]);
});
