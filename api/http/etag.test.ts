import { expect, test } from "bun:test";

import { ApiError } from "./errors.ts";
import { isNotModified, readPreconditions, toEtag } from "./etag.ts";

const passes = (header: string | null, version: number, name = "if-match"): boolean => {
  const requireVersion = readPreconditions(new Headers(header === null ? {} : { [name]: header }));
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

/** Tags of other versions, 1,020 characters of them. */
const OTHERS = '"1-0", '.repeat(145) + '"00", ';

test.each<[string, string, boolean]>([
  ["a list of any length", `${OTHERS}${OTHERS}"12-3"`, true],
  ["a long list without the version", `${OTHERS}"123-4"`, false],
  ["another version that begins alike", '"123"', false],
  ["a tag with a comma", '"12,3"', false],
  ["empty entries", ', "12" ,,', true],
  ["a tag without its quotes", "12-3", true],
  ["tags without their quotes", "11-1, W/12-3", true],
  ["nothing", "", false],
])("If-Match that has %s is read to its end", (_, header, isCurrent) => {
  expect(passes(header, 12)).toBe(isCurrent);
});

test("If-None-Match of a change excludes the versions that it names, or any with *", () => {
  const allowed = ['"11", "13-2"', '"12-3"', "*"].map((tags) => passes(tags, 12, "if-none-match"));
  expect(allowed).toEqual([true, false, false]);
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
  expect([known(`${OTHERS}"12-3"`), known('"12-34"')]).toEqual([true, false]);
  expect(isNotModified(new Headers(), toEtag(12))).toBe(false);
});
