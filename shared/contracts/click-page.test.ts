import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import {
  type Click,
  decodePage,
  encodePageHeader,
  encodeRawClick,
  RECORD_BYTES_MAX,
  toRawClick,
} from "./click-page.ts";

const text = (max: number) => fc.string({ maxLength: max, unit: "grapheme-ascii" });

const anyClick: fc.Arbitrary<Click> = fc.record({
  time: fc.nat({ max: 4_102_444_800_000 }),
  linkId: fc.uuid(),
  accountId: fc.uuid(),
  mode: fc.constantFrom("live", "test"),
  prefetch: fc.boolean(),
  privacy: fc.boolean(),
  address: fc.oneof(text(45), fc.string({ unit: "grapheme-composite", maxLength: 4 })),
  host: text(64),
  userAgent: text(512),
  referrer: text(200),
  language: text(64),
  query: text(64),
});

const anyPage = fc.record({
  journalId: fc.uuid(),
  page: fc.nat(),
  clicks: fc.array(anyClick, { maxLength: 5 }),
});

function encodePage({
  journalId,
  page,
  clicks,
}: {
  journalId: string;
  page: number;
  clicks: Click[];
}) {
  const records = clicks.map((click) => {
    const target = Buffer.alloc(RECORD_BYTES_MAX);
    return target.subarray(0, encodeRawClick(target, 0, toRawClick(click)));
  });
  return Buffer.concat([encodePageHeader({ journalId, page }), ...records]);
}

describe("click pages", () => {
  test("a page gives back its id and every click", () => {
    fc.assert(
      fc.property(anyPage, (page) => {
        expect(decodePage(encodePage(page))).toEqual({ ...page, whole: true });
      }),
    );
  });

  test("a page cut at any byte gives the clicks before the cut, and says it is torn", () => {
    fc.assert(
      fc.property(anyPage, fc.double({ min: 0, max: 1, noNaN: true }), (page, where) => {
        const bytes = encodePage(page);
        const cut = bytes.subarray(0, Math.floor(bytes.length * where));
        const decoded = decodePage(cut);
        if (decoded === undefined) return expect(cut.length).toBeLessThan(32);
        expect(decoded.clicks).toEqual(page.clicks.slice(0, decoded.clicks.length));
        expect(decoded.whole).toBe(
          encodePage({ ...page, clicks: decoded.clicks }).length === cut.length,
        );
      }),
    );
  });

  test("a damaged record and what follows it is not taken for clicks", () => {
    fc.assert(
      fc.property(anyPage, fc.nat(), fc.integer({ min: 1, max: 255 }), (page, at, flip) => {
        const bytes = encodePage(page);
        if (bytes.length === 32) return;
        const position = 32 + (at % (bytes.length - 32));
        bytes.writeUInt8(bytes.readUInt8(position) ^ flip, position);
        const decoded = decodePage(bytes);
        expect(decoded?.whole).toBe(false);
        expect(decoded?.clicks).toEqual(page.clicks.slice(0, decoded?.clicks.length ?? 0));
      }),
    );
  });

  test("over-long texts are cut at a character's border and the record stays within its bound", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 600, maxLength: 3_000 }), (long) => {
        const target = Buffer.alloc(RECORD_BYTES_MAX);
        const click: Click = {
          time: 1,
          linkId: "0190a5a2-0000-7000-8000-000000000001",
          accountId: "0190a5a2-0000-7000-8000-000000000002",
          mode: "live",
          prefetch: false,
          privacy: false,
          address: long,
          host: long,
          userAgent: long,
          referrer: long,
          language: long,
          query: long,
        };
        const length = encodeRawClick(target, 0, toRawClick(click));
        const page = Buffer.concat([
          encodePageHeader({ journalId: click.linkId, page: 0 }),
          target.subarray(0, length),
        ]);
        const decoded = decodePage(page)?.clicks[0];
        expect(decoded?.userAgent.length).toBeGreaterThan(0);
        expect(long.toWellFormed().startsWith(decoded?.userAgent ?? "?")).toBe(true);
      }),
    );
  });

  test("foreign bytes are not a page", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodePage(Buffer.from(bytes))).toBeUndefined();
      }),
    );
  });
});
