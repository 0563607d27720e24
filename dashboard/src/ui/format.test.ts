import { expect, test } from "bun:test";

import { describeChange } from "./format.ts";

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
