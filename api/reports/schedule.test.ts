/** Goal: reports are due at their local hour, of the whole week or month before, in any time zone. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { lastPeriod, nextDue, type Schedule } from "./model.ts";

const schedule = (change: Partial<Schedule> = {}): Schedule => ({
  period: "weekly",
  hour: 8,
  timezone: "Europe/Berlin",
  ...change,
});

const zoned = (time: number, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone);

const at = (text: string): number => Date.parse(text);

const dueAfter = (text: string, change?: Partial<Schedule>): string =>
  new Date(nextDue(schedule(change), at(text))).toISOString();

test.each([
  // A Thursday.
  ["2026-03-05T12:00:00Z", {}, "2026-03-09T07:10:00.000Z"],
  // At the time itself: the next one.
  ["2026-03-09T07:09:59Z", {}, "2026-03-09T07:10:00.000Z"],
  ["2026-03-09T07:10:00Z", {}, "2026-03-16T07:10:00.000Z"],
  // Clocks are put forward on the Sunday before.
  ["2026-03-25T12:00:00Z", {}, "2026-03-30T06:10:00.000Z"],
  ["2026-03-05T12:00:00Z", { period: "monthly" }, "2026-04-01T06:10:00.000Z"],
  ["2026-12-05T12:00:00Z", { period: "monthly", hour: 0 }, "2026-12-31T23:10:00.000Z"],
  // The first of March in Auckland is the last of February in UTC.
  [
    "2026-02-27T00:00:00Z",
    { period: "monthly", timezone: "Pacific/Auckland" },
    "2026-02-28T19:10:00.000Z",
  ],
  // On 1 October 2028 clocks in Sydney go from 2 to 3 o'clock: half past two is not there.
  [
    "2028-09-20T00:00:00Z",
    { period: "monthly", hour: 2, timezone: "Australia/Sydney" },
    "2028-09-30T16:10:00.000Z",
  ],
  // On 1 November 2026 one o'clock comes twice in New York: the first of them.
  [
    "2026-10-20T00:00:00Z",
    { period: "monthly", hour: 1, timezone: "America/New_York" },
    "2026-11-01T05:10:00.000Z",
  ],
] as const)("after %s, %p is due at %s", (now, change, due) => {
  expect(dueAfter(now, change)).toBe(due);
});

test("the last period is the whole week or month before, also when clocks change in it", () => {
  expect(lastPeriod(schedule(), at("2026-03-30T06:10:00Z"))).toEqual({
    first_day: "2026-03-23",
    last_day: "2026-03-29",
    from: at("2026-03-22T23:00:00Z"),
    to: at("2026-03-29T22:00:00Z"),
  });
  expect(lastPeriod(schedule({ period: "monthly" }), at("2028-03-15T00:00:00Z"))).toEqual({
    first_day: "2028-02-01",
    last_day: "2028-02-29",
    from: at("2028-01-31T23:00:00Z"),
    to: at("2028-02-29T23:00:00Z"),
  });
});

describe("in any time zone", () => {
  const zones = Intl.supportedValuesOf("timeZone");
  const any = fc.record({
    period: fc.constantFrom("weekly" as const, "monthly" as const),
    hour: fc.integer({ min: 0, max: 23 }),
    timezone: fc.constantFrom(...zones),
  });
  const instant = fc.integer({ min: at("2012-02-01T00:00:00Z"), max: at("2037-01-01T00:00:00Z") });

  test("the next time is later, on the right day and hour, and at most a period and a day away", () => {
    fc.assert(
      fc.property(any, instant, (given, now) => {
        const due = nextDue(given, now);
        expect(due).toBeGreaterThan(now);
        const days = (due - now) / 86_400_000;
        expect(days).toBeLessThan(given.period === "weekly" ? 8 : 32.1);
        const local = zoned(due, given.timezone);
        expect(given.period === "weekly" ? local.dayOfWeek : local.day).toBe(1);
        // An hour that clocks leave out is later: by the time that they leave out.
        const asked = local.with({ hour: given.hour, minute: 10 });
        expect(local.equals(asked) || asked.hour !== given.hour).toBe(true);
      }),
      { numRuns: casesOf(400) },
    );
  });

  test("each period is reported once: those of one time after the other follow without a gap", () => {
    fc.assert(
      fc.property(any, instant, (given, start) => {
        let due = nextDue(given, start);
        let end: number | undefined;
        for (let i = 0; i < 14; i++) {
          const { from, to } = lastPeriod(given, due);
          expect(to).toBeLessThanOrEqual(due);
          if (end !== undefined) expect(from).toBe(end);
          end = to;
          due = nextDue(given, due);
        }
      }),
      { numRuns: 60 },
    );
  });
});
