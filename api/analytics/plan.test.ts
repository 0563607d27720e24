import { expect, test } from "bun:test";

import fc from "fast-check";
import type * as z from "zod";

import { DAY_MS } from "../../shared/durations.ts";
import { newUuid } from "../../shared/ids.ts";
import type { ClicksClient } from "../clickhouse.ts";
import { readFilters } from "./filters.ts";
import { filtersQuery } from "./model.ts";
import { resolveRange } from "./period.ts";
import { areFew, rollupsOf, splitDays, whereClicks } from "./plan.ts";
import type { AnalyticsQuery } from "./query-resolver.ts";

const anySpan = fc
  .tuple(
    fc.integer({ min: 0, max: 100 * DAY_MS }),
    fc.oneof(
      fc.integer({ min: 1, max: 40 * DAY_MS }),
      fc.integer({ min: 1, max: 40 }).map((n) => n * DAY_MS),
    ),
    fc.boolean(),
  )
  .map(([start, length, whole]) => {
    const from = whole ? start - (start % DAY_MS) : start;
    return { from, to: from + length };
  });

const isMidnight = (ms: number): boolean => ms % DAY_MS === 0;

test("a range whose raw clicks are retained is split into whole days within it, and edges of less than a day", () => {
  fc.assert(
    fc.property(anySpan, ({ from, to }) => {
      const { dayFrom, dayTo } = splitDays({ from, to, rawFrom: from });
      if (dayFrom === dayTo) {
        expect(dayFrom).toBe(to);
        expect(to - from).toBeLessThan(2 * DAY_MS);
        return;
      }
      expect([dayFrom, dayTo].every(isMidnight)).toBe(true);
      expect(dayFrom).toBeWithin(from, from + DAY_MS);
      expect(to - dayTo).toBeWithin(0, DAY_MS);
    }),
  );
});

test("an edge whose raw clicks were deleted is rounded to its whole day, the other one is exact", () => {
  fc.assert(
    fc.property(anySpan, fc.integer({ min: 1, max: 60 * DAY_MS }), ({ from, to }, deletedMs) => {
      const rawFrom = from + deletedMs;
      const { dayFrom, dayTo } = splitDays({ from, to, rawFrom });
      expect(dayFrom).toBe(from - (from % DAY_MS));
      expect(isMidnight(dayTo)).toBe(true);
      if (to - (to % DAY_MS) >= rawFrom) expect(dayTo).toBe(to - (to % DAY_MS));
      else expect(dayTo - to).toBeWithin(0, DAY_MS);
    }),
  );
});

const RANGE = { from: Date.UTC(2026, 0, 1, 12), to: Date.UTC(2026, 0, 8) };

/** Answers with the sum of the table that a statement reads. */
function clickHouseWith(sums: Record<string, number>) {
  const statements: string[] = [];
  const clickhouse: ClicksClient = {
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
    chunks: () => Promise.reject(new Error("Only sums are asked for.")),
  };
  return { clickhouse, statements };
}

/** A query about an account's clicks in {@link RANGE}. */
const queryOf = (
  request: z.input<typeof filtersQuery>,
  clickhouse = clickHouseWith({}).clickhouse,
): AnalyticsQuery => ({
  reader: { accountId: newUuid(), mode: "live", plan: "free" },
  clickhouse,
  subject: "account",
  range: { ...resolveRange({}, 0, Date.now()), ...RANGE, rawFrom: -Infinity, now: Date.now() },
  filters: readFilters(filtersQuery.parse(request)),
  selected: { anyOf: undefined, noneOf: [] },
});

const isFew = (request: z.input<typeof filtersQuery>, clickhouse: ClicksClient) =>
  areFew(queryOf(request, clickhouse));

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

const tablesOf = (
  request: Parameters<typeof queryOf>[0],
  dimensions: Parameters<typeof rollupsOf>[1],
) => rollupsOf(queryOf(request), dimensions)?.map(({ table }) => table);

test("values come from rollups that have the columns of all filters, and from no others", () => {
  expect(tablesOf({}, ["city", "browser"])).toEqual(["clicks_1d_places", "clicks_1d_agents"]);
  expect(tablesOf({ country: "DE", region: "-BE" }, ["city"])).toEqual(["clicks_1d_places"]);
  expect(tablesOf({ country: "DE" }, ["city", "browser"])).toBeUndefined();
  expect(tablesOf({ country: "DE", utm_source: "x" }, ["city"])).toBeUndefined();
  expect(tablesOf({ class: ["human", "bot"] }, ["city"])).toBeUndefined();
  expect(tablesOf({ class: ["human", "-human"] }, ["city"])).toBeUndefined();
});

/** Whether so many selected links are looked up in a range of days, or in a part of it. */
function looksUp(links: number | undefined, days: number, part = ""): boolean {
  const query = queryOf({});
  const anyOf = links === undefined ? undefined : Array.from({ length: links }, newUuid);
  const range = { ...query.range, to: RANGE.from + days * DAY_MS };
  const where = whereClicks({ ...query, range, selected: { anyOf, noneOf: [] } }, { part });
  return where.includes("SELECT link_id");
}

test("selected links are looked up among those with clicks only if they are many and the range is short", () => {
  expect(looksUp(undefined, 90)).toBe(true);
  expect(looksUp(10_000, 1)).toBe(true);
  expect(looksUp(10_000, 90)).toBe(false);
  expect(looksUp(10_000, 90, "bucket < now()")).toBe(true);
  expect(looksUp(100, 1)).toBe(false);
  expect(looksUp(100, 90, "bucket < now()")).toBe(false);
});
