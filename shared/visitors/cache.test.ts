import { expect, test } from "bun:test";

import fc from "fast-check";

import { cached } from "./cache.ts";

test("a cache returns what is computed, and computes it once for as many texts as it holds", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 })), (numbers) => {
      const computed: string[] = [];
      const double = cached(10, (text: string) => {
        computed.push(text);
        return Number(text) * 2;
      });
      expect(numbers.map((number) => double(String(number)))).toEqual(
        numbers.map((number) => number * 2),
      );
      expect(computed).toHaveLength(new Set(numbers).size);
    }),
  );
});

test("a cache drops what was not used among the last texts, and never holds more than twice its size", () => {
  const computed: string[] = [];
  const upper = cached(10, (text: string) => {
    computed.push(text);
    return text.toUpperCase();
  });
  upper("used");
  upper("unused");
  for (let i = 0; i < 100; i++) {
    upper(`other ${i}`);
    upper("used");
  }
  computed.length = 0;
  upper("used");
  upper("unused");
  for (let i = 0; i < 100; i++) upper(`other ${99 - i}`);
  expect(computed).not.toContain("used");
  expect(computed).toContain("unused");
  expect(computed.length).toBeGreaterThan(100 - 20);
});
