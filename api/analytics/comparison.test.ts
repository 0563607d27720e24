import { expect, test } from "bun:test";

import fc from "fast-check";
import { DateTime } from "luxon";

import { DAY_MS } from "../../shared/durations.ts";
import { anyDates, comparedSpan, toSpan, ZONES } from "../../test/harness/analytics-reference.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import {
  type Comparison,
  COMPARISONS,
  type PeriodQuery,
  resolveComparison,
  resolveRange,
} from "./period.ts";

const at = (text: string): number => Date.parse(text);
const NOW = at("2026-11-20T14:35:00Z");

const compare = (query: PeriodQuery, comparison: Comparison, now: number) => {
  const range = resolveRange(query, 0, now);
  return { range, earlier: resolveComparison(query, range, comparison, now) };
};

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

/** Ranges that are not over at {@link NOW}, or have not begun. */
const DATES = [
  { start_date: "2026-11-20", end_date: "2026-11-20" },
  { start_date: "2026-11-01", end_date: "2026-11-30" },
  { start_date: "2026-01-01", end_date: "2026-12-31" },
  { start_date: "2026-11-20T14:00:00Z", end_date: "2026-11-20T16:00:00Z" },
  { start_date: "2026-11-23", end_date: "2026-11-24" },
];

/** The moments of a local time: two in an hour that clocks repeat. */
const momentsOf = (instant: number, zone: string): number[] =>
  DateTime.fromMillis(instant, { zone })
    .getPossibleOffsets()
    .map((moment) => moment.toMillis());

/** Whether 24 hours until a moment are compared with hours that clocks made longer or shorter. */
function isUnclear(to: number, zone: string, kind: Comparison): boolean {
  if (zone === "Australia/Lord_Howe" || zone === "Pacific/Chatham") return true;
  if (kind === "previous") return false;
  const before = DateTime.fromMillis(to, { zone }).minus({ years: 1 });
  return before.minus({ hours: 26 }).offset !== before.plus({ hours: 2 }).offset;
}

test("in every period and zone, at every moment, the span is what the rules of another library say", () => {
  const period = fc.constantFrom("24h" as const, "7d" as const, "30d" as const, "90d" as const);
  const anyQuestion = fc.oneof(
    fc.record({ range: fc.record({ period }), now: anyNow }),
    fc.record({ range: fc.oneof(anyDates, fc.constantFrom(...DATES)), now: fc.constant(NOW) }),
  );
  const zone = fc.constantFrom(...ZONES);
  fc.assert(
    fc.property(anyQuestion, zone, fc.constantFrom(...COMPARISONS), (question, timezone, kind) => {
      const { range, now } = question;
      const is24h = "period" in range && range.period === "24h";
      const query = { ...range, timezone };
      const present = toSpan(query, 0, now);
      if (is24h && isUnclear(present.to, timezone, kind)) return;
      const { earlier } = compare(query, kind, now);
      const span = comparedSpan(query, present, kind, now);
      // An hour that clocks repeat has two such moments.
      expect(momentsOf(span.from, timezone)).toContain(earlier.from);
      expect(momentsOf(span.to, timezone)).toContain(earlier.to);
      if (!is24h && earlier.from === span.from && earlier.from < earlier.to)
        expect(earlier.buckets.map(({ label }) => label)).toEqual(span.labels);
    }),
    {
      numRuns: casesOf(3_000),
      // 1:00 in Cairo, the start of that Friday, as clocks had just been changed.
      examples: [
        [{ range: { period: "30d" }, now: at("2026-04-23T22:00Z") }, "Africa/Cairo", "year"],
        // Thirty days that happen to be a month.
        [{ range: { period: "30d" }, now: at("2026-04-30T12:00Z") }, "UTC", "previous"],
      ],
    },
  );
});

test.each(COMPARISONS)(
  "the range before (%s) does not reach before the year 1, whose dates no response can write",
  (comparison) => {
    const query = { start_date: "0001-01-02", end_date: "0001-06-01" };
    expect(() => compare(query, comparison, NOW)).toThrow("compare");
  },
);
