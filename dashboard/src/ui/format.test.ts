import { expect, test } from "bun:test";

import * as z from "zod";

import { validateWith } from "../languages/errors.ts";
import { toneOf } from "../pages/analytics/clicks-card.tsx";
import { describeChange, formatAge } from "./format.ts";

test.each([
  [100, 125, { direction: "up", text: "25 %" }],
  [100, 25, { direction: "down", text: "75 %" }],
  [1_000, 1_001, { direction: "none", text: "0 %" }],
  [7, 0, { direction: "down", text: "100 %" }],
  [100, 990, { direction: "up", text: "890 %" }],
  [57, 8_660, { direction: "up", text: "152 ×" }],
  [0, 10, undefined],
] as const)("the change from %d to %d is short enough to be read", (before, now, change) => {
  expect(describeChange(before, now)).toEqual(change);
});

test.each([
  [0, "now"],
  [59, "now"],
  // Of a click whose redirector's clock is ahead of this device's.
  [-3_600, "now"],
  [60, "1m ago"],
  [3_599, "59m ago"],
  [3 * 3_600 + 1_799, "3h ago"],
  [86_399, "23h ago"],
  [86_400, "1d ago"],
  [29 * 86_400, "29d ago"],
  [30 * 86_400, "1mo ago"],
  [364 * 86_400, "12mo ago"],
  [365 * 86_400, "1y ago"],
  [800 * 86_400, "2y ago"],
])("what was %d seconds ago is shown as %p", (seconds, text) => {
  const now = Date.UTC(2026, 5, 1);
  expect(formatAge(new Date(now - seconds * 1_000).toISOString(), now)).toBe(text);
});

test.each([
  [z.string().min(1), "", "Required"],
  [z.string().min(3), "ab", "At least 3 characters"],
  [z.string().max(2), "abc", "At most 2 characters"],
  [z.array(z.string()).max(1), ["a", "b"], "At most 1 item"],
  [z.string().min(3, "must be long"), "ab", "Must be long"],
  [z.email(), "nobody", "Invalid email address"],
  [z.string().min(3), "abc", true],
] as const)("a field is validated with a message for its issue (%#)", (schema, value, expected) => {
  expect(validateWith(schema)(value)).toBe(expected);
});

test.each([
  ["up", false, "up"],
  ["down", false, "down"],
  ["none", false, "neutral"],
  ["up", true, "neutral"],
  ["down", true, "neutral"],
] as const)("a figure that goes %s (neutral: %p) is shown as %s", (direction, isNeutral, tone) => {
  expect(toneOf(direction, isNeutral)).toBe(tone);
});
