/** Goal: ranges are a set of integers, whatever is added in whatever order. */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { addToRanges, formatRanges, inRanges, parseRanges, type Ranges } from "./segment-index.ts";

const MAX = 60;

const additions = fc.array(fc.tuple(fc.nat(MAX), fc.nat(8)), { maxLength: 40 });

function build(added: [number, number][]): { ranges: Ranges; model: Set<number> } {
  const ranges: Ranges = [];
  const model = new Set<number>();
  for (const [first, length] of added) {
    addToRanges(ranges, first, first + length);
    for (let value = first; value <= first + length; value++) model.add(value);
  }
  return { ranges, model };
}

test("ranges contain exactly what was added, in the fewest ranges", () => {
  fc.assert(
    fc.property(additions, (added) => {
      const { ranges, model } = build(added);
      for (let value = 0; value <= MAX + 10; value++)
        expect(inRanges(ranges, value)).toBe(model.has(value));
      const starts = [...model].filter((value) => !model.has(value - 1));
      expect(ranges.map(([first]) => first)).toEqual(starts.toSorted((a, b) => a - b));
    }),
  );
});

test("their text is read back as the same ranges", () => {
  fc.assert(
    fc.property(additions, (added) => {
      const { ranges } = build(added);
      expect(parseRanges(formatRanges(ranges))).toEqual(ranges);
    }),
  );
  expect(formatRanges(parseRanges("1,2,3,9"))).toBe("1-3,9");
});

test.each(["x", "1-", "-1", "1--2", "1;2", "1.5"])("%p is no text of ranges", (text) => {
  expect(() => parseRanges(text)).toThrow("Not a range");
});
