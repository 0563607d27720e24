import { expect, test } from "bun:test";

import { ApiError } from "./errors.ts";
import { isNotModified, readIfMatch, toEtag } from "./etag.ts";

const passes = (header: string | null, version: number): boolean => {
  const requireVersion = readIfMatch(new Headers(header === null ? {} : { "if-match": header }));
  try {
    requireVersion(version);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    return false;
  }
};

test("If-Match compares the version, whatever else the tag covers", () => {
  const tag = toEtag(12, 3, 2);
  expect(tag).toBe('"12-3-2"');
  expect([passes(tag, 12), passes(tag, 13), passes(`"1", W/${tag}`, 12)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([passes("*", 12), passes(null, 12), passes("nonsense", 12)]).toEqual([true, true, false]);
});

const known = (header: string) =>
  isNotModified(new Headers({ "if-none-match": header }), toEtag(12, 3));

test("If-None-Match compares the whole tag", () => {
  expect([known('"12-3"'), known('"12-4"'), known('W/"12-3"'), known("*")]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  expect(isNotModified(new Headers(), toEtag(12))).toBe(false);
});
