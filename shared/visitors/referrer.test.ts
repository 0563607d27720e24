import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { DIRECT, parseReferrer } from "./referrer.ts";

describe("the referrer", () => {
  test.each([
    ["", DIRECT],
    ["nonsense", DIRECT],
    ["about:blank", DIRECT],
    ["https://www.Example.com/", { host: "www.example.com", source: "example.com", path: "" }],
    [
      "https://news.example.co.uk/a/b?c=d#e",
      { host: "news.example.co.uk", source: "example.co.uk", path: "/a/b" },
    ],
    [
      "https://l.facebook.com/l.php?u=x",
      { host: "l.facebook.com", source: "facebook.com", path: "/l.php" },
    ],
    ["http://localhost:3000/x", { host: "localhost", source: "localhost", path: "/x" }],
    ["http://192.168.1.1/x", { host: "192.168.1.1", source: "192.168.1.1", path: "/x" }],
    [
      "android-app://com.google.android.gm/",
      { host: "", source: "com.google.android.gm", path: "" },
    ],
  ])("%p", (header, expected) => {
    expect(parseReferrer(header)).toEqual(expected);
  });

  test("is parsed from any header without an error", () => {
    fc.assert(fc.property(fc.string(), (header) => void parseReferrer(header)));
  });
});
