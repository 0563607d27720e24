import { expect, test } from "bun:test";

import fc from "fast-check";

import { DAY_MS } from "../../shared/durations.ts";
import { splitDays } from "./dimensions.ts";

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
