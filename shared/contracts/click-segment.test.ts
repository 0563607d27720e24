import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { encodeRecord, encodeSegment, testClick } from "../../test/harness/segments.ts";
import { type Click, RECORD_BYTES_MAX, toRequestClick } from "./click-record.ts";
import {
  decodeSegment,
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentId,
} from "./click-segment.ts";

const text = (max: number) => fc.string({ maxLength: max, unit: "grapheme-ascii" });

const anyClick: fc.Arbitrary<Click> = fc.record({
  time: fc.nat({ max: 4_102_444_800_000 }),
  linkId: fc.uuid(),
  accountId: fc.uuid(),
  mode: fc.constantFrom("live", "test"),
  prefetch: fc.boolean(),
  embedded: fc.boolean(),
  scanned: fc.boolean(),
  privacy: fc.boolean(),
  address: fc.oneof(text(45), fc.string({ unit: "grapheme-composite", maxLength: 4 })),
  host: text(64),
  userAgent: text(512),
  referrer: text(200),
  language: text(64),
  query: text(64),
});

const anySegment = fc.record({
  journalId: fc.uuid(),
  segment: fc.nat(),
  clicks: fc.array(anyClick, { maxLength: 5 }),
});

const encode = (segment: SegmentId & { clicks: Click[] }): Buffer =>
  encodeSegment(segment, segment.clicks);

describe("a segment", () => {
  test("decodes to the id and the clicks it was encoded from", () => {
    fc.assert(
      fc.property(anySegment, (segment) => {
        expect(decodeSegment(encode(segment))).toEqual({ ...segment, whole: true });
      }),
    );
  });

  test("truncated at any byte, decodes to the clicks before that byte and is marked as torn", () => {
    fc.assert(
      fc.property(anySegment, fc.double({ min: 0, max: 1, noNaN: true }), (segment, fraction) => {
        const bytes = encode(segment);
        const cut = bytes.subarray(0, Math.floor(bytes.length * fraction));
        const decoded = decodeSegment(cut);
        if (decoded === undefined) return expect(cut.length).toBeLessThan(32);
        expect(decoded.clicks).toEqual(segment.clicks.slice(0, decoded.clicks.length));
        expect(decoded.whole).toBe(
          encode({ ...segment, clicks: decoded.clicks }).length === cut.length,
        );
      }),
    );
  });

  test("that is damaged decodes to whole clicks alone, and is marked", () => {
    fc.assert(
      fc.property(anySegment, fc.nat(), fc.integer({ min: 1, max: 255 }), (segment, at, flip) => {
        const bytes = encode(segment);
        if (bytes.length === 32) return;
        const position = 32 + (at % (bytes.length - 32));
        bytes.writeUInt8(bytes.readUInt8(position) ^ flip, position);
        const decoded = decodeSegment(bytes);
        expect(decoded?.whole).toBe(false);
        const clicks = segment.clicks.map((click) => JSON.stringify(click));
        const left = (decoded?.clicks ?? []).map((click) => clicks.indexOf(JSON.stringify(click)));
        expect(left).not.toContain(-1);
      }),
    );
  });

  test.each([
    ["the length of one record", 0, 4, "all"],
    ["one record behind its length", 4, undefined, "all others"],
  ] as const)(
    "of which %s is damaged decodes to every click that can be verified",
    (_name, first, last, expected) => {
      const twoOrMore = fc.array(anyClick, { minLength: 2, maxLength: 5 });
      fc.assert(
        fc.property(anySegment, twoOrMore, fc.nat(), fc.nat(), (segment, clicks, which, bit) => {
          const starts = clicks.map(
            (_, i) => encode({ ...segment, clicks: clicks.slice(0, i) }).length,
          );
          const bytes = encode({ ...segment, clicks });
          const damaged = which % clicks.length;
          const start = starts[damaged] ?? 0;
          const end = starts[damaged + 1] ?? bytes.length;
          const size = (last ?? end - start) - first;
          const position = start + first + (bit % size);
          bytes.writeUInt8(bytes.readUInt8(position) ^ (1 << (bit % 8)), position);
          const decoded = decodeSegment(bytes);
          expect(decoded?.whole).toBe(false);
          const others = clicks.filter((_, i) => i !== damaged);
          expect(decoded?.clicks).toEqual(expected === "all" ? clicks : others);
        }),
      );
    },
  );

  test("truncates long texts between characters, and no record exceeds its maximum size", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 600, maxLength: 3_000 }), (long) => {
        const click = testClick({
          address: long,
          host: long,
          userAgent: long,
          referrer: long,
          language: long,
          query: long,
        });
        const bytes = encodeSegment({ journalId: click.linkId, segment: 0 }, [click]);
        expect(bytes.length).toBeLessThanOrEqual(SEGMENT_HEADER_BYTES + RECORD_BYTES_MAX);
        const decoded = decodeSegment(bytes)?.clicks[0];
        expect(decoded?.userAgent.length).toBeGreaterThan(0);
        expect(long.toWellFormed().startsWith(decoded?.userAgent ?? "?")).toBe(true);
      }),
    );
  });

  test("whose record is too short for a click is decoded without it, and is marked", () => {
    const payload = Buffer.from("too short");
    const record = Buffer.alloc(8);
    record.writeUInt32LE(payload.length, 0);
    record.writeUInt32LE(Bun.hash.crc32(payload), 4);
    fc.assert(
      fc.property(anySegment, (segment) => {
        const bytes = Buffer.concat([encode(segment), record, payload]);
        expect(decodeSegment(bytes)).toEqual({ ...segment, whole: false });
      }),
    );
  });

  test("is not decoded from arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeSegment(Buffer.from(bytes))).toBeUndefined();
      }),
    );
  });
});

/** Encodes a click whose destination has UTM parameters, and decodes it. */
function encodeQuery(click: Click, utm: string) {
  const record = encodeRecord({ ...toRequestClick(click), destinationUtm: Buffer.from(utm) });
  const header = encodeSegmentHeader({ journalId: click.linkId, segment: 1 });
  const segment = decodeSegment(Buffer.concat([header, record]));
  expect(segment?.whole).toBe(true);
  return { length: record.length, decoded: segment?.clicks[0] };
}

describe("the UTM parameters of a click's destination", () => {
  const anyUtm = fc
    .uint8Array({ maxLength: 3_000 })
    .map((bytes) => `utm_source=${Buffer.from(bytes).toString("hex")}`);

  test("precede those of the short URL, and change nothing else of the click", () => {
    fc.assert(
      fc.property(anyClick, (click) => {
        const utm = "utm_source=a&utm_medium=b";
        const { decoded } = encodeQuery(click, utm);
        expect(decoded).toEqual({
          ...click,
          query: click.query === "" ? utm : `${utm}&${click.query}`,
        });
      }),
    );
  });

  test("never make a record longer than allowed, and keep its target", () => {
    const long = {
      userAgent: "a".repeat(600),
      referrer: "r".repeat(2_000),
      query: "q".repeat(600),
    };
    const target = { kind: "arm" as const, id: "0190a5a2-0000-7000-8000-000000000001" };
    fc.assert(
      fc.property(anyClick, anyUtm, fc.boolean(), (click, utm, isLong) => {
        const { length, decoded } = encodeQuery({ ...click, ...(isLong ? long : {}), target }, utm);
        expect(length).toBeLessThanOrEqual(RECORD_BYTES_MAX);
        expect(decoded?.target).toEqual(target);
      }),
    );
  });
});
