/**
 * Goal: the index knows exactly the segments that were added, and keeps its bound by forgetting the
 * oldest journals.
 */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { formatRanges, parseRanges, SegmentIndex } from "./segment-index.ts";

const JOURNALS = ["a", "b", "c"].map((letter) => `01900000-0000-7000-8000-00000000000${letter}`);

const ids = fc.array(fc.record({ journalId: fc.constantFrom(...JOURNALS), segment: fc.nat(30) }), {
  maxLength: 60,
});

const key = (id: { journalId: string; segment: number }) => `${id.journalId}:${id.segment}`;

test("the index contains exactly what was added, and its text is read back as the same index", () => {
  fc.assert(
    fc.property(ids, (added) => {
      const model = new Set(added.map(key));
      const index = SegmentIndex.parse(SegmentIndex.of(added).format());
      for (const journalId of JOURNALS)
        for (let segment = 0; segment <= 31; segment++)
          expect(index.has({ journalId, segment })).toBe(model.has(key({ journalId, segment })));
      expect(new Set(index.list().map(key))).toEqual(model);
      expect(SegmentIndex.parse(index.format()).format()).toBe(index.format());
    }),
  );
});

test("a full index forgets the journal to which nothing was added for the longest time", () => {
  const [a = "", b = "", c = ""] = JOURNALS;
  const index = new SegmentIndex(4);
  for (const journalId of [a, b]) {
    index.add({ journalId, segment: 0 });
    index.add({ journalId, segment: 2 });
  }
  index.add({ journalId: a, segment: 1 });
  index.add({ journalId: b, segment: 4 });
  expect([index.size, index.forgotten]).toEqual([4, 0]);
  index.add({ journalId: c, segment: 0 });
  expect(index.format().replaceAll(/:\S+/g, "").split(" ")).toEqual([b, c]);
  expect([index.size, index.forgotten]).toEqual([4, 1]);
});

test("an index of numbers without gaps takes one range a journal", () => {
  const index = new SegmentIndex();
  for (let segment = 0; segment < 10_000; segment++)
    index.add({ journalId: JOURNALS[0] ?? "", segment });
  expect(index.size).toBe(1);
});

test("ranges are read in the fewest that have the same numbers", () => {
  expect(formatRanges(parseRanges("1,2,3,9"))).toBe("1-3,9");
});

test.each(["x", "1-", "-1", "1--2", "1;2", "1.5"])("%p is no text of ranges", (text) => {
  expect(() => parseRanges(text)).toThrow("Not a range");
});
