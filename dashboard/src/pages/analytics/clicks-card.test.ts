import { expect, test } from "bun:test";

import { toneOf } from "./clicks-card.tsx";

test.each([
  ["up", false, "up"],
  ["down", false, "down"],
  ["none", false, "neutral"],
  ["up", true, "neutral"],
  ["down", true, "neutral"],
] as const)("a figure that goes %s (neutral: %p) is shown as %s", (direction, isNeutral, tone) => {
  expect(toneOf(direction, isNeutral)).toBe(tone);
});
