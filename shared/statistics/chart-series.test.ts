import { describe, expect, test } from "bun:test";

import {
  anchorOf,
  findNearest,
  finishedOf,
  moveSelection,
  type Point,
  positionOf,
  unfinishedOf,
  untilNow,
} from "./chart-series.ts";

const point = (date: string, unfinished?: true): Point => ({
  date,
  clicks: 1,
  unique: 1,
  unfinished,
});

const OVER = [point("2026-11-18"), point("2026-11-19")];
const TODAY = point("2026-11-20", true);

describe("a chart", () => {
  test("ends today, also when its period goes on", () => {
    expect(untilNow([...OVER, TODAY, point("2026-11-21", true)])).toEqual([...OVER, TODAY]);
    expect(untilNow(OVER)).toEqual(OVER);
  });

  test("draws today's segment apart, from the last day that is over", () => {
    expect(finishedOf([...OVER, TODAY])).toEqual(OVER);
    expect(unfinishedOf([...OVER, TODAY])).toEqual([point("2026-11-19"), TODAY]);
    expect(finishedOf(OVER)).toEqual(OVER);
    expect(unfinishedOf(OVER)).toEqual([]);
  });

  test.each([
    [0, "start"],
    [0.08, "middle"],
    [0.93, "middle"],
    [1, "end"],
  ] as const)("places a label at %d of the width as %s, so that no edge clips it", (x, anchor) => {
    expect(anchorOf(x)).toBe(anchor);
  });
});

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
