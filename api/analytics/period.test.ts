import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { DAY_MS } from "../../shared/durations.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { ApiError } from "../http/errors.ts";
import { resolveRange } from "./period.ts";

const at = (text: string): number => Date.parse(text);
const NOW = at("2026-11-20T14:35:00Z");
const CREATED = at("2026-11-01T10:00:00Z");

const ZONES = [
  "UTC",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Africa/Cairo",
  "America/Santiago",
  "Asia/Kolkata",
  "America/St_Johns",
  "Pacific/Apia",
  "Pacific/Chatham",
];

describe("periods", () => {
  test("30 days are the default: today and the 29 days before", () => {
    const range = resolveRange({}, CREATED, NOW);
    expect(range.period).toBe("30d");
    expect(range.buckets).toHaveLength(30);
    expect(range.buckets[0]).toEqual({ label: "2026-10-22", start: at("2026-10-22T00:00Z") });
    expect(range.buckets.at(-1)?.label).toBe("2026-11-20");
    expect(range.to).toBe(at("2026-11-21T00:00Z"));
  });

  test("24 hours are the current local hour and the 23 before it", () => {
    const range = resolveRange({ period: "24h", timezone: "Asia/Kathmandu" }, CREATED, NOW);
    expect(range.buckets).toHaveLength(24);
    expect(range.buckets.at(-1)).toMatchObject({
      label: "2026-11-20T20:00",
      start: at("2026-11-20T14:15Z"),
    });
    expect(range.days).toBe(1);
  });

  test("all starts on the day of the link's creation", () => {
    const range = resolveRange({ period: "all" }, CREATED, NOW);
    expect(range.buckets[0]?.label).toBe("2026-11-01");
    expect(range.buckets).toHaveLength(20);
  });

  test("bare dates mean whole days in the zone, instants mean instants", () => {
    const range = resolveRange(
      {
        start_date: "2026-03-01",
        end_date: "2026-03-02",
        timezone: "America/New_York",
        period: "7d",
      },
      CREATED,
      NOW,
    );
    expect([range.period, range.from, range.to]).toEqual([
      "custom",
      at("2026-03-01T05:00Z"),
      at("2026-03-03T05:00Z"),
    ]);
    expect(range.buckets.map(({ label }) => label)).toEqual(["2026-03-01", "2026-03-02"]);
    const exact = resolveRange(
      { start_date: "2026-03-01T12:00:00+02:00", end_date: "2026-03-01T11:00:00Z" },
      CREATED,
      NOW,
    );
    expect([exact.from, exact.to]).toEqual([at("2026-03-01T10:00Z"), at("2026-03-01T11:00Z")]);
  });

  test("a day whose midnight does not exist starts when the clocks go forward", () => {
    const range = resolveRange(
      { start_date: "2026-04-24", end_date: "2026-04-24", timezone: "Africa/Cairo" },
      CREATED,
      NOW,
    );
    expect([range.from, range.to]).toEqual([at("2026-04-23T22:00Z"), at("2026-04-24T21:00Z")]);
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

  test.each([
    [{ timezone: "Mars/Base" }, "timezone"],
    [{ timezone: "+02:00" }, "timezone"],
    [{ start_date: "soon" }, "start_date"],
    [{ end_date: "+275760-09-12T23:59:59Z" }, "end_date"],
    [{ start_date: "-000001-01-01T00:00:00Z" }, "start_date"],
    [{ end_date: "9999-12-31" }, "end_date"],
    [{ end_date: "2026-02-30" }, "end_date"],
    [{ start_date: "2026-02-01", end_date: "2026-01-01" }, "start_date"],
    [{ start_date: "2020-01-01", end_date: "2026-01-01" }, "start_date"],
    [{ start_date: "2027-01-01" }, "start_date"],
  ])("%o is rejected with the name of the parameter", (query, name) => {
    expect(() => resolveRange(query, CREATED, NOW)).toThrow(ApiError);
    expect(() => resolveRange(query, CREATED, NOW)).toThrow(name);
  });

  test("buckets have neither gaps nor overlaps, in every zone and across every change of clocks", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.constantFrom("24h" as const, "7d" as const, "30d" as const, "90d" as const),
        fc.integer({ min: at("2024-01-01"), max: at("2027-01-01") }),
        (timezone, period, now) => {
          const { from, to, buckets } = resolveRange({ period, timezone }, CREATED, now);
          expect(buckets[0]?.start).toBe(from);
          expect(from).toBeLessThanOrEqual(now);
          expect(to).toBeGreaterThan(now);
          const starts = [...buckets.map(({ start }) => start), to];
          for (const [i, start] of starts.slice(1).entries()) {
            const length = start - (starts[i] ?? 0);
            expect(length).toBeGreaterThan(0);
            expect(length).toBeLessThanOrEqual(period === "24h" ? 2 * 3_600_000 : 26 * 3_600_000);
          }
          expect(starts.every((start) => start % 900_000 === 0)).toBe(true);
          expect(buckets).toHaveLength({ "24h": 24, "7d": 7, "30d": 30, "90d": 90 }[period]);
          expect(new Set(starts).size).toBe(starts.length);
          if (period === "7d") expect(to - from).toBeLessThanOrEqual(7 * DAY_MS + 2 * 3_600_000);
        },
      ),
      { numRuns: casesOf(2_000) },
    );
  });
});
