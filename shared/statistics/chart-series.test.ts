import { describe, expect, test } from "bun:test";

import { anchorOf, finishedOf, type Point, unfinishedOf, untilNow } from "./chart-series.ts";

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
