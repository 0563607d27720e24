/**
 * Goal: a batch keeps its bounds whatever the segments contain, and none is lost or returned twice.
 */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { SEGMENT_BYTES_MAX, SEGMENT_CLICKS_MAX } from "../../shared/contracts/click-segment.ts";
import { newUuid } from "../../shared/ids.ts";
import { Collector, type HeldSegment } from "./collector.ts";

const BOUNDS = { clicks: 60_000, segments: 2_000, bytes: 16 * 1024 ** 2 };

const JOURNAL = newUuid();

const createSegment = (segment: number, clicks: number, bytes: number): HeldSegment => ({
  journalId: JOURNAL,
  segment,
  clicks,
  bytes,
  rows: Buffer.alloc(0),
  sequence: segment,
  publishedAt: segment,
  firstClick: segment,
  lastClick: segment,
  links: [],
  imported: false,
  whole: true,
  messages: new Map(),
});

const size = fc.record({
  clicks: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(SEGMENT_CLICKS_MAX)),
  bytes: fc.oneof(fc.integer({ min: 100, max: 9_000 }), fc.constant(SEGMENT_BYTES_MAX)),
});

test("a batch that is filled as far as there is room keeps its bounds, and has every segment once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 40 }), async (sizes) => {
      const collector = new Collector();
      let added = 0;
      while (collector.hasRoom()) {
        const { clicks, bytes } = sizes[added % sizes.length] ?? { clicks: 1, bytes: 1 };
        collector.add(createSegment(added++, clicks, bytes));
      }
      const batch = await collector.take();
      expect(batch.map(({ segment }) => segment)).toEqual(
        Array.from({ length: added }, (_, i) => i),
      );
      const sum = (read: (segment: HeldSegment) => number) =>
        batch.reduce((total, segment) => total + read(segment), 0);
      expect(sum(({ clicks }) => clicks)).toBeLessThanOrEqual(BOUNDS.clicks);
      expect(sum(({ bytes }) => bytes)).toBeLessThanOrEqual(BOUNDS.bytes);
      expect(batch.length).toBeLessThanOrEqual(BOUNDS.segments);
      expect(collector.hasRoom()).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("segments are held until they are dropped, also while the next batch is collected", async () => {
  const collector = new Collector();
  collector.add(createSegment(7, 1, 100));
  const batch = await collector.take();
  collector.add(createSegment(8, 1, 100));
  const id = { journalId: JOURNAL, segment: 7 };
  expect(collector.find(id)).toBe(batch[0]);
  expect(collector.waitingSince).toBe(7);
  collector.drop(batch);
  expect(collector.find(id)).toBeUndefined();
  expect(collector.waitingSince).toBe(8);
});

test("a batch has clicks of a bounded number of months, each of which is a part of a table", async () => {
  const collector = new Collector();
  let months = 0;
  for (; collector.hasRoom(); months++) {
    const time = Date.UTC(2010, months, 15);
    collector.add({ ...createSegment(months, 1, 100), firstClick: time, lastClick: time });
  }
  expect(months).toBe(12);
  await collector.take();
  expect(collector.hasRoom()).toBe(true);
});

test("an imported segment waits since it was published, whatever the times of its clicks", () => {
  const collector = new Collector();
  collector.add({ ...createSegment(1, 1, 100), imported: true, publishedAt: 5_000_000_000 });
  expect(collector.waitingSince).toBe(5_000);
});

test("a closed collector returns what it has, and keeps nobody waiting for room", async () => {
  const collector = new Collector();
  while (collector.hasRoom()) collector.add(createSegment(0, SEGMENT_CLICKS_MAX, 100));
  const waiting = collector.waitForRoom();
  collector.close();
  await waiting;
  expect((await collector.take()).length).toBeGreaterThan(0);
  expect(await collector.take()).toEqual([]);
});
