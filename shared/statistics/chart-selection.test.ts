import { describe, expect, test } from "bun:test";

import { findNearest, moveSelection, positionOf } from "./chart-selection.ts";

describe("a point of a chart", () => {
  test.each([
    [0, 31, 0],
    [0.49, 3, 1],
    [1, 31, 30],
    [-0.1, 31, 0],
    [1.2, 31, 30],
    [0.4, 1, 0],
  ])("at %d of %d points is the one at index %d", (position, points, index) => {
    expect(findNearest(position, points)).toBe(index);
  });

  test("is found at its own position", () => {
    for (const points of [1, 2, 24, 90])
      for (let i = 0; i < points; i++) expect(findNearest(positionOf(i, points), points)).toBe(i);
  });

  test.each([
    ["ArrowRight", undefined, 0],
    ["ArrowLeft", undefined, 4],
    ["ArrowRight", 4, 4],
    ["ArrowLeft", 0, 0],
    ["ArrowLeft", 3, 2],
    ["Tab", 3, undefined],
  ])("%s after %p selects %p", (key, selected, next) => {
    expect(moveSelection(key, selected, 5)).toBe(next);
  });
});
