import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { DAY_MS, HOUR_MS } from "../../shared/durations.ts";
import { anyDates, toSpan, ZONES } from "../../test/harness/analytics-reference.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { resolveRange } from "./period.ts";
import { QUARTER_MS } from "./plan.ts";

const at = (text: string): number => Date.parse(text);
const NOW = at("2026-11-20T14:35:00Z");
const CREATED = at("2026-11-01T10:00:00Z");

describe("periods", () => {
  const anyPeriod = fc.constantFrom("7d" as const, "30d" as const, "90d" as const, "all" as const);
  const anyNow = fc.integer({ min: at("2024-01-01"), max: at("2027-01-01") });

  test("have the span and the days that the rules of another library say, in any zone", () => {
    const anyQuestion = fc.oneof(
      fc.record({ range: fc.record({ period: anyPeriod }), now: anyNow }),
      fc.record({ range: anyDates, now: fc.constant(NOW) }),
      fc.constant({ range: {}, now: NOW }),
    );
    fc.assert(
      fc.property(anyQuestion, fc.constantFrom(...ZONES), ({ range, now }, timezone) => {
        const query = { ...range, timezone };
        const created = now - 100 * DAY_MS;
        const { from, to, buckets } = resolveRange(query, created, now);
        const span = toSpan(query, created, now);
        expect([from, to]).toEqual([span.from, span.to]);
        expect(buckets.map(({ label }) => label)).toEqual(span.labels);
        for (const { label, start } of buckets.slice(1))
          expect([span.labelOf(start), span.labelOf(start - 1) < label]).toEqual([label, true]);
      }),
      { numRuns: casesOf(2_000) },
    );
  });

  test("24 hours are the current local hour and the 23 before it", () => {
    const range = resolveRange({ period: "24h", timezone: "Asia/Kathmandu" }, CREATED, NOW);
    expect(range.buckets.at(-1)).toMatchObject({
      label: "2026-11-20T20:00",
      start: at("2026-11-20T14:15Z"),
    });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), anyNow, (timezone, now) => {
        const { from, to, buckets } = resolveRange({ period: "24h", timezone }, CREATED, now);
        expect([buckets.length, buckets[0]?.start, from <= now, to > now]).toEqual([
          24,
          from,
          true,
          true,
        ]);
        const starts = [...buckets.map(({ start }) => start), to];
        for (const [i, start] of starts.slice(1).entries())
          expect(start - (starts[i] ?? 0)).toBeWithin(1, 2 * HOUR_MS + 1);
        expect(starts.every((start) => start % QUARTER_MS === 0)).toBe(true);
      }),
      { numRuns: casesOf(2_000) },
    );
  });

  test.each([
    ["Pacific/Chatham", "2025-09-27T14:00Z", ["02:00", "03:00"], [45, 15]],
    ["Australia/Lord_Howe", "2026-04-04T15:00Z", ["01:00", "01:00"], [60, 30]],
    ["America/New_York", "2026-11-01T06:00Z", ["01:00", "01:00"], [60, 60]],
  ])(
    "an hour in which the clocks change in %s is split at the change",
    (timezone, change, labels, minutes) => {
      const { buckets } = resolveRange(
        { period: "24h", timezone },
        CREATED,
        at(change) + 5 * 3_600_000,
      );
      const i = buckets.findIndex(({ start }) => start === at(change));
      const around = buckets.slice(i - 1, i + 1);
      expect(around.map(({ label }) => label.slice(11))).toEqual(labels);
      const ends = [at(change), buckets[i + 1]?.start ?? 0];
      expect(around.map(({ start }, n) => ((ends[n] ?? 0) - start) / 60_000)).toEqual(minutes);
    },
  );

  test("begin at an instant whose plus sign a query made a blank", () => {
    const query = { start_date: "2026-11-01T00:00:00 01:00", end_date: "2026-11-03T00:00:00+0100" };
    const { from, to } = resolveRange(query, CREATED, NOW);
    expect([from, to]).toEqual([at("2026-10-31T23:00:00Z"), at("2026-11-02T23:00:00Z")]);
  });
});
