import { expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { type CountsOverTime, resolveEarlier, toComparison, toTimeSeries } from "./over-time.ts";
import { type PeriodQuery, resolveRange } from "./period.ts";
import type { QueryRange } from "./query-resolver.ts";

const NOW = Date.parse("2026-11-20T00:05:00Z");

const rangeOf = (query: PeriodQuery, now = NOW) => ({
  ...resolveRange(query, 0, now),
  rawFrom: -Infinity,
  now,
});

const countsOf = (clicks: number): CountsOverTime["total"] => ({
  clicks,
  unique: clicks,
  bots: 0,
  prefetches: 0,
});

const seriesOf = (query: PeriodQuery, clicks: number, now = NOW) =>
  toTimeSeries(rangeOf(query, now), { total: countsOf(clicks), buckets: new Map() });

test.each([
  // Six days and five minutes of seven.
  [{ period: "7d" }, 700, 100, 116.6],
  [{ period: "30d" }, 5, 0, 0.2],
  [{ period: "24h" }, 100, 100, 100],
  [{ start_date: "2026-11-20", end_date: "2026-11-20" }, 3, 3, 3],
  [{ start_date: "2026-11-01", end_date: "2026-11-10" }, 25, 3, 2.5],
  [{ start_date: "2027-01-01", end_date: "2027-01-10" }, 0, 0, 0],
] as const)(
  "%o with %d clicks: the average counts today as a whole day, clicks per day what has passed of it",
  (query, clicks, average, perDay) => {
    const { summary } = seriesOf(query, clicks);
    expect([summary.avg_daily_clicks, summary.clicks_per_day]).toEqual([average, perDay]);
  },
);

test.each([
  [{ period: "7d" }, ["2026-11-20"]],
  [
    { start_date: "2026-11-18", end_date: "2026-11-22" },
    ["2026-11-20", "2026-11-21", "2026-11-22"],
  ],
  [{ start_date: "2026-11-18T00:00:00Z" }, ["2026-11-20"]],
  [{ start_date: "2026-11-18", end_date: "2026-11-19" }, []],
  [{ period: "24h" }, ["2026-11-20T00:00"]],
] as const)("%o marks the days and hours that are not over", (query, unfinished) => {
  const { clicks_over_time } = seriesOf(query, 1);
  const marked = clicks_over_time.filter((point) => point.unfinished);
  expect(marked.map(({ date }) => date)).toEqual([...unfinished]);
});

const lengthOf = ({ from, to }: { from: string; to: string }): number =>
  Date.parse(to) - Date.parse(from);

test("an even stream of clicks has not changed, at any moment of an unfinished period", async () => {
  // One click every five minutes since 2020.
  const STEP_MS = 300_000;
  const START = Date.parse("2020-01-01T00:00:00Z");
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("24h" as const, "7d" as const, "30d" as const, "90d" as const),
      fc.constantFrom("previous" as const, "year" as const),
      fc.integer({ min: Date.parse("2024-06-01"), max: Date.parse("2026-12-31") }),
      async (period, compare, instant) => {
        const now = instant - (instant % STEP_MS);
        const count = (from: number, to: number) =>
          Math.ceil((Math.min(to, now) - START) / STEP_MS) - Math.ceil((from - START) / STEP_MS);
        const query = { period, compare };
        const range = rangeOf(query, now);
        const seriesIn = (of: QueryRange) => {
          const ends = [...of.buckets.slice(1).map(({ start }) => start), of.to];
          const buckets = new Map(
            of.buckets.map(({ start }, i) => [start, countsOf(count(start, ends[i] ?? of.to))]),
          );
          return toTimeSeries(of, { total: countsOf(count(of.from, of.to)), buckets });
        };
        const earlier = resolveEarlier(range, query);
        if (earlier === undefined) throw new Error("Nothing is compared.");
        const answer = seriesIn(range);
        const comparison = toComparison(range, answer, earlier, seriesIn(earlier));
        const expected = comparison.summary.total_clicks;
        // A leap day makes the same dates of two years unequal.
        const isAsLong = lengthOf(comparison) === lengthOf(comparison.current);
        if (isAsLong && now > range.from)
          expect(comparison.change.total_clicks ?? 0).toBeCloseTo(0);
        for (const { summary, clicks_over_time } of [answer, comparison])
          expect(clicks_over_time.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(
            summary.total_clicks,
          );
        expect(expected).toBe(count(Date.parse(comparison.from), Date.parse(comparison.to)));
        expect(comparison.current.to).toBe(new Date(now).toISOString());
      },
    ),
    // A midnight before which only one of the two years had a leap day.
    { numRuns: casesOf(300), examples: [["90d", "year", Date.parse("2025-03-21")]] },
  );
});
