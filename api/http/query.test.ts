import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { readQuery } from "./query.ts";

describe("a query", () => {
  test("contains what was sent, whatever its characters", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name }), (pairs) => {
        const url = `http://localhost/x?${new URLSearchParams(pairs).toString()}`;
        expect(new Map(Object.entries(readQuery(url)))).toEqual(new Map(pairs));
      }),
    );
  });

  test.each([
    ["a,b", "a,b"],
    ["[1,2]", "[1,2]"],
    ['{"a":1}', '{"a":1}'],
    ["[[[[", "[[[["],
    ["%", "%"],
    ["%zz", "%zz"],
    ["a+b%2Bc", "a b+c"],
  ])("value %p is plain text", (sent, read) => {
    expect(readQuery(`/x?search=${sent}`)).toEqual({ search: read });
  });

  test("has a list for a repeated parameter, and no inherited members", () => {
    const query = readQuery("/x?a=1&__proto__=2&a=3&constructor=4");
    expect(new Map(Object.entries(query))).toEqual(
      new Map<string, string | string[]>([
        ["a", ["1", "3"]],
        ["__proto__", "2"],
        ["constructor", "4"],
      ]),
    );
    expect(Object.getPrototypeOf(query)).toBe(Object.prototype);
  });

  test("with too many parameters is rejected", () => {
    expect(Object.keys(readQuery(`/x?${"a=1&".repeat(200)}`))).toEqual(["a"]);
    expect(() => readQuery(`/x?${"a&".repeat(201)}`)).toThrow("too many parameters: 200");
  });
});
