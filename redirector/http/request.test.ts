import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { normalizePath } from "./request.ts";

describe("a path", () => {
  test.each([
    ["/", "/"],
    ["/abc", "/abc"],
    ["/abc/", "/abc"],
    ["/abc//", "/abc/"],
    ["/%61b%63", "/abc"],
    ["/%61/", "/a"],
    ["/a%2Db%5f%7E", "/a-b_~"],
    ["/a%2Fb", "/a%2Fb"],
    ["/a%2fb", "/a%2fb"],
    ["/%C3%A4", "/%C3%A4"],
    ["/a/./b", "/a/./b"],
    ["/a..b", "/a..b"],
    ["/...", "/..."],
  ])("%s is read as %s", (path, normalized) => {
    expect(normalizePath(path)).toBe(normalized);
  });

  test("is read alike however its unreserved characters are escaped", () => {
    const character = fc.constantFrom("a", "b", "z", "A", "Z", "0", "9", "_", "-");
    fc.assert(
      fc.property(fc.array(fc.tuple(character, fc.boolean()), { minLength: 1 }), (characters) => {
        const plain = characters.map(([text]) => text).join("");
        const escaped = characters
          .map(([text, isEscaped]) =>
            isEscaped ? `%${text.charCodeAt(0).toString(16).padStart(2, "0")}` : text,
          )
          .join("");
        expect(normalizePath(`/${escaped}`)).toBe(`/${plain}`);
      }),
    );
  });
});
