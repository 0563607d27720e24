import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { DAY_MS, HOUR_MS } from "../../shared/durations.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import {
  type Comparison,
  COMPARISONS,
  type PeriodQuery,
  type Range,
  resolveComparison,
  resolveRange,
} from "./period.ts";

const at = (text: string): number => Date.parse(text);
const NOW = at("2026-11-20T14:35:00Z");

/**
 * Zones that change their clocks by an hour or half an hour, at midnight or by night, and that
 * skipped a day.
 */
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "America/Santiago",
  "Africa/Cairo",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
];

/** The most that local clocks are moved by. */
const CHANGE_MS = HOUR_MS;

const compare = (query: PeriodQuery, comparison: Comparison, now: number) => {
  const range = resolveRange(query, 0, now);
  return { range, earlier: resolveComparison(query, range, comparison, now) };
};

/** From and to, and the days or hours of the axis. */
const spanOf = ({ from, to, buckets }: Range) => [
  new Date(from).toISOString(),
  new Date(to).toISOString(),
  buckets.length,
];

const local = (instant: number, zone: string): Temporal.PlainDateTime =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).toPlainDateTime();

function isStartOfDay(instant: number, zone: string): boolean {
  const at = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);
  return at.equals(at.startOfDay());
}

/** How long a span is on the clocks of its zone, from the day or hour that it begins in. */
const lengthOnClock = (from: number, to: number, zone: string): number =>
  local(from, zone)
    .round({ smallestUnit: "day", roundingMode: "floor" })
    .until(local(to, zone), {
      largestUnit: "hours",
    })
    .total("milliseconds");

const anyNow = fc.oneof(
  fc.integer({ min: at("2024-01-01"), max: at("2028-01-01") }),
  // Around changes of clocks, days and years.
  fc
    .tuple(
      fc.constantFrom(
        "2025-03-30T01:00Z",
        "2025-10-26T01:00Z",
        "2026-03-08T07:00Z",
        "2026-11-01T06:00Z",
        "2026-04-23T22:00Z",
        "2026-04-04T15:00Z",
        "2025-09-27T14:00Z",
        "2024-02-29T12:00Z",
        "2026-01-01T00:00Z",
      ),
      fc.integer({ min: -36 * 60, max: 36 * 60 }),
      fc.constantFrom(0, 8),
    )
    .map(([change, minutes, days]) => at(change) + minutes * 60_000 + days * DAY_MS),
);

describe("an unfinished period is compared up to the same moment", () => {
  test("at five past midnight, six days and five minutes are compared with as much", () => {
    const { range, earlier } = compare({ period: "7d" }, "previous", at("2026-11-20T00:05:00Z"));
    expect(spanOf(range)).toEqual(["2026-11-14T00:00:00.000Z", "2026-11-21T00:00:00.000Z", 7]);
    expect(spanOf(earlier)).toEqual(["2026-11-07T00:00:00.000Z", "2026-11-13T00:05:00.000Z", 7]);
  });

  test.each<[string, PeriodQuery, Comparison, [string, string, number]]>([
    ["24 hours", { period: "24h" }, "previous", ["2026-11-18T15:00Z", "2026-11-19T14:35Z", 24]],
    ["24 hours", { period: "24h" }, "year", ["2025-11-19T15:00Z", "2025-11-20T14:35Z", 24]],
    ["7 days", { period: "7d" }, "year", ["2025-11-14T00:00Z", "2025-11-20T14:35Z", 7]],
    [
      "today",
      { start_date: "2026-11-20", end_date: "2026-11-20" },
      "previous",
      ["2026-11-19T00:00Z", "2026-11-19T14:35Z", 1],
    ],
    [
      "this month",
      { start_date: "2026-11-01", end_date: "2026-11-30" },
      "previous",
      ["2026-10-01T00:00Z", "2026-10-20T14:35Z", 20],
    ],
    [
      "this year",
      { start_date: "2026-01-01", end_date: "2026-12-31" },
      "previous",
      ["2025-01-01T00:00Z", "2025-11-20T14:35Z", 324],
    ],
    [
      "hours that are not over",
      { start_date: "2026-11-20T14:00:00Z", end_date: "2026-11-20T16:00:00Z" },
      "previous",
      ["2026-11-20T12:00Z", "2026-11-20T12:35Z", 1],
    ],
  ])("%s (%o, %s)", (_, query, comparison, [from, to, buckets]) => {
    const { earlier } = compare(query, comparison, NOW);
    expect(spanOf(earlier)).toEqual([
      new Date(from).toISOString(),
      new Date(to).toISOString(),
      buckets,
    ]);
  });

  test("a month that is longer than the one before is compared with all of that in its last days", () => {
    const march = { start_date: "2026-03-01", end_date: "2026-03-31" };
    const { earlier } = compare(march, "previous", at("2026-03-30T10:00:00Z"));
    expect(spanOf(earlier)).toEqual(["2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z", 28]);
  });

  test("of a period that has not begun, nothing is compared", () => {
    const query = { start_date: "2026-11-23", end_date: "2026-11-24" };
    const { earlier } = compare(query, "previous", NOW);
    expect(spanOf(earlier)).toEqual(["2026-11-21T00:00:00.000Z", "2026-11-21T00:00:00.000Z", 1]);
  });
});

describe("a period that is over is compared whole", () => {
  test.each<[PeriodQuery, Comparison, [string, string]]>([
    [
      { start_date: "2026-11-02", end_date: "2026-11-08" },
      "previous",
      ["2026-10-26T00:00:00.000Z", "2026-11-02T00:00:00.000Z"],
    ],
    [
      { start_date: "2026-10-01", end_date: "2026-10-31" },
      "previous",
      ["2026-09-01T00:00:00.000Z", "2026-10-01T00:00:00.000Z"],
    ],
    [
      { start_date: "2025-01-01", end_date: "2025-12-31" },
      "previous",
      ["2024-01-01T00:00:00.000Z", "2025-01-01T00:00:00.000Z"],
    ],
    [
      { start_date: "2026-11-02", end_date: "2026-11-08" },
      "year",
      ["2025-11-02T00:00:00.000Z", "2025-11-09T00:00:00.000Z"],
    ],
  ])("%o with %s", (query, comparison, span) => {
    const { earlier } = compare(query, comparison, NOW);
    expect(spanOf(earlier).slice(0, 2)).toEqual(span);
  });
});

describe("in every period and zone, at every moment, also when clocks change", () => {
  const question = {
    period: fc.constantFrom("24h" as const, "7d" as const, "30d" as const, "90d" as const),
    timezone: fc.constantFrom(...ZONES),
    now: anyNow,
  };

  test("both spans have the same length on the clock, and differ in truth only as clocks were changed", () => {
    fc.assert(
      fc.property(fc.record(question), ({ now, ...query }) => {
        const { range, earlier } = compare(query, "previous", now);
        const difference = now - range.from - (earlier.to - earlier.from);
        expect(Math.abs(difference)).toBeLessThanOrEqual(2 * CHANGE_MS);
        if (query.timezone === "UTC") expect(difference).toBe(0);
        expect(earlier.to).toBeLessThanOrEqual(range.from);
        if (query.period === "24h") return;
        const [current, before] = [
          lengthOnClock(range.from, now, query.timezone),
          lengthOnClock(earlier.from, earlier.to, query.timezone),
        ];
        // A time that clocks skipped on the earlier day stands for the one after.
        expect(before - current).toBeGreaterThanOrEqual(0);
        expect(before - current).toBeLessThanOrEqual(CHANGE_MS);
        if (before !== current) {
          const skipped = local(earlier.to, query.timezone).subtract({ milliseconds: CHANGE_MS });
          expect(skipped.toZonedDateTime(query.timezone).epochMilliseconds).not.toBe(
            earlier.to - CHANGE_MS,
          );
        }
      }),
      { numRuns: casesOf(3_000) },
    );
  });

  test("24 hours are compared with as many hours and minutes, unless clocks changed within an hour", () => {
    fc.assert(
      fc.property(fc.record(question), ({ now, timezone }) => {
        const { range, earlier } = compare({ period: "24h", timezone }, "previous", now);
        expect(earlier.buckets).toHaveLength(range.buckets.length);
        if (timezone === "Australia/Lord_Howe" || timezone === "Pacific/Chatham") return;
        expect(earlier.to - earlier.from).toBe(now - range.from);
      }),
      { numRuns: casesOf(1_000) },
    );
  });

  test("a year earlier, the span ends at the same time of the same date", () => {
    fc.assert(
      fc.property(fc.record(question), ({ now, ...query }) => {
        const { earlier } = compare(query, "year", now);
        if (query.period === "24h") return;
        const then = local(now, query.timezone).subtract({ years: 1 });
        // The start of a day is that of the other day, also where a day begins at one o'clock.
        const expected = isStartOfDay(now, query.timezone)
          ? then.toPlainDate().toZonedDateTime(query.timezone)
          : then.toZonedDateTime(query.timezone);
        expect(earlier.to).toBe(expected.epochMilliseconds);
      }),
      {
        numRuns: casesOf(1_000),
        // 1:00 in Cairo, the start of that Friday, as clocks had just been changed.
        examples: [
          [{ period: "30d", timezone: "Africa/Cairo", now: Date.parse("2026-04-23T22:00Z") }],
        ],
      },
    );
  });

  test("the axis of the compared span has each of its instants once", () => {
    fc.assert(
      fc.property(
        fc.record(question),
        fc.constantFrom(...COMPARISONS),
        ({ now, ...query }, comparison) => {
          const { from, to, buckets } = compare(query, comparison, now).earlier;
          const starts = [...buckets.map(({ start }) => start), to];
          expect(starts[0]).toBe(from);
          for (const [i, start] of starts.slice(1).entries())
            expect(start).toBeGreaterThanOrEqual(starts[i] ?? Infinity);
          expect(starts.slice(0, -1).every((start) => start % 900_000 === 0)).toBe(true);
        },
      ),
      { numRuns: casesOf(1_000) },
    );
  });
});

test.each(COMPARISONS)(
  "the range before (%s) does not reach before the year 1, whose dates no response can write",
  (comparison) => {
    const query = { start_date: "0001-01-02", end_date: "0001-06-01" };
    expect(() => compare(query, comparison, NOW)).toThrow("compare");
  },
);
