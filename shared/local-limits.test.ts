import { expect, test } from "bun:test";

import fc from "fast-check";

import { FixedWindow } from "./local-limits.ts";

test("no window exceeds its limit, whatever the times of the events", () => {
  const anyGaps = fc.array(fc.nat({ max: 1_500 }), { maxLength: 200 });
  fc.assert(
    fc.property(anyGaps, fc.integer({ min: 1, max: 5 }), (gaps, limit) => {
      let time = 1_000_000;
      const window = new FixedWindow({ limit, seconds: 1, keysMax: 10, now: () => time });
      const granted = new Map<number, number>();
      for (const gap of gaps) {
        time += gap;
        const state = window.consume("key");
        expect(state.resetsAt).toBeGreaterThan(time);
        expect(state.resetsAt - time).toBeLessThanOrEqual(1_000);
        if (state.granted) granted.set(state.resetsAt, (granted.get(state.resetsAt) ?? 0) + 1);
        expect(state.spent).toBe(granted.get(state.resetsAt) ?? 0);
        expect(window.isExhausted("key")).toBe(state.spent === limit);
        expect({ ...window.state("key"), granted: state.granted }).toEqual(state);
      }
      for (const count of granted.values()) expect(count).toBeLessThanOrEqual(limit);
    }),
  );
});

test("keys do not share a window", () => {
  const window = new FixedWindow({ limit: 1, seconds: 60, keysMax: 10, now: () => 0 });
  expect(window.consume("a").granted).toBe(true);
  expect(window.consume("a").granted).toBe(false);
  expect(window.consume("b").granted).toBe(true);
});
