import { expect, test } from "bun:test";

import { coverLevels, coverPairs } from "./pairs.ts";

const levels = (count: number): string[] => Array.from({ length: count }, (_, i) => `level ${i}`);

const FACTORS = { a: levels(6), b: levels(4), c: levels(4), d: levels(3), e: levels(2) };

test("every pair of levels of two factors occurs", () => {
  const combinations = coverPairs(FACTORS).map(Object.entries<string>);
  for (const [a, one] of Object.entries(FACTORS))
    for (const [b, other] of Object.entries(FACTORS))
      for (const x of one)
        for (const y of a === b ? [] : other)
          expect(
            combinations.some(
              (entries) =>
                entries.some(([name, level]) => name === a && level === x) &&
                entries.some(([name, level]) => name === b && level === y),
            ),
            `${a} ${x}, ${b} ${y}`,
          ).toBe(true);
});

test("pairs take few of all 576 combinations: at best as many as the two longest factors have pairs", () => {
  expect(coverPairs(FACTORS).length).toBeLessThan(24 * 1.5);
});

test("of a single factor, each level occurs", () => {
  expect(coverPairs({ a: levels(3) })).toEqual(levels(3).map((a) => ({ a })));
});

test("each level occurs in as many combinations as the longest factor has levels", () => {
  const combinations = coverLevels(FACTORS);
  expect(combinations).toHaveLength(6);
  for (const [name, all] of Object.entries(FACTORS))
    expect(new Set(combinations.map((one) => one[name]))).toEqual(new Set(all));
});
