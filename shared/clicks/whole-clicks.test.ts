/** Goal: clicks that any retention may have deleted are never taken for whole. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import {
  nextRemembered,
  RETENTION_MARGIN_SECONDS,
  type RetentionState,
  wholeFromOf,
} from "./whole-clicks.ts";

const DAY = 86_400;
const NOW = 20_000 * DAY;

/** Numbers of days as operators set them; 0 keeps clicks for ever. */
const days = fc.constantFrom(0, 1, 2, 7, 30, 90, 365);

/**
 * A retention that is set, how long it is in force, and whether it is seen meanwhile, as by a check
 * or `migrate`.
 */
const period = fc.record({ days, seconds: fc.integer({ min: 0, max: 40 * DAY }) });

describe("the time from which on clicks are whole", () => {
  test("is after everything that a retention has deleted, however retention was changed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(period, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 0, max: 3 * DAY }),
        async (periods, before) => {
          let now = NOW;
          /** ClickHouse has deleted the clicks before this time, as soon as it could. */
          let deleted = 0;
          const state: RetentionState = {
            now,
            days: periods[0]?.days ?? 0,
            remembered: undefined,
          };
          const remember = async (set: number): Promise<void> => {
            [state.now, state.days] = [now, set];
            state.remembered = (await nextRemembered(state, none)) ?? state.remembered;
          };
          for (const { days: set, seconds } of periods) {
            // `migrate` remembers what was in force, and what it sets.
            await remember(state.days ?? 0);
            await remember(set);
            now += seconds;
            if (set > 0) deleted = Math.max(deleted, now - set * DAY);
            const wholeFrom = wholeFromOf({ ...state, now: now + before });
            expect(wholeFrom).toBeGreaterThanOrEqual(deleted);
            if (deleted > 0)
              expect(wholeFrom).toBeGreaterThanOrEqual(deleted + RETENTION_MARGIN_SECONDS);
            now += before;
            if (set > 0) deleted = Math.max(deleted, now - set * DAY);
          }
        },
      ),
      { numRuns: casesOf(1_000) },
    );
  });

  test("does not forget a retention that was changed by hand until now", () => {
    const remembered = { days: 1, wholeFrom: NOW - 50 * DAY };
    const state = { now: NOW, days: 0, remembered };
    expect(wholeFromOf(state)).toBe(NOW - DAY + RETENTION_MARGIN_SECONDS);
    expect(wholeFromOf({ ...state, days: 30 })).toBe(NOW - DAY + RETENTION_MARGIN_SECONDS);
  });

  test("is that of the shortest retention there was, not that of the one in force", async () => {
    const before = { now: NOW, days: 7, remembered: { days: 30, wholeFrom: 0 } };
    const remembered = await nextRemembered(before, none);
    expect(remembered).toEqual({ days: 7, wholeFrom: NOW - 7 * DAY });
    const raised = await nextRemembered({ now: NOW + DAY, days: 90, remembered }, none);
    expect(raised).toEqual({ days: 90, wholeFrom: NOW - 6 * DAY });
  });

  test("is what rollups show, where nothing is remembered yet", async () => {
    const state = { now: NOW, days: 0, remembered: undefined };
    expect(wholeFromOf(state)).toBe(Infinity);
    const remembered = await nextRemembered(state, async () => NOW - 3 * DAY);
    expect(remembered).toEqual({ days: 0, wholeFrom: NOW - 3 * DAY });
  });

  test("is not known with a TTL that Shorthop does not set; without any, all clicks are whole", async () => {
    const remembered = { days: 0, wholeFrom: 0 };
    const state = { now: NOW, days: undefined, remembered };
    expect(wholeFromOf(state)).toBe(Infinity);
    expect(await nextRemembered(state, none)).toBeUndefined();
    expect(wholeFromOf({ ...state, days: 0 })).toBe(0);
  });
});

const none = async () => 0;
