import { expect, test } from "bun:test";

import fc from "fast-check";

import { createFixedWindow } from "./fixed-window.ts";

test("no window ever takes more than it allows, whatever the times of the events", () => {
  const anyGaps = fc.array(fc.nat({ max: 1_500 }), { maxLength: 200 });
  fc.assert(
    fc.property(anyGaps, fc.integer({ min: 1, max: 5 }), (gaps, allowed) => {
      let time = 1_000_000;
      const limit = createFixedWindow({ allowed, seconds: 1, keysMax: 10, now: () => time });
      const granted = new Map<number, number>();
      for (const gap of gaps) {
        time += gap;
        const state = limit.spend("key");
        expect(state.resetsAt).toBeGreaterThan(time);
        expect(state.resetsAt - time).toBeLessThanOrEqual(1_000);
        if (state.granted) granted.set(state.resetsAt, (granted.get(state.resetsAt) ?? 0) + 1);
        expect(state.spent).toBe(granted.get(state.resetsAt) ?? 0);
        expect(limit.exhausted("key")).toBe(state.spent === allowed);
      }
      for (const count of granted.values()) expect(count).toBeLessThanOrEqual(allowed);
    }),
  );
});

test("keys do not share a window", () => {
  const limit = createFixedWindow({ allowed: 1, seconds: 60, keysMax: 10, now: () => 0 });
  expect(limit.spend("a").granted).toBe(true);
  expect(limit.spend("a").granted).toBe(false);
  expect(limit.spend("b").granted).toBe(true);
});
