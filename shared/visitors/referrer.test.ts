import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { normalizeHost } from "../hosts.ts";
import { DIRECT, parseReferrer, shortenReferrer } from "./referrer.ts";

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
    // Sites of the customers of platforms, in the list of public suffixes or not.
    ...[
      "example.substack.com",
      "example.github.io",
      "example.blogspot.com",
      "example.netlify.app",
      "example.vercel.app",
      "example.pages.dev",
      "example.myshopify.com",
      "example.wordpress.com",
      "example.medium.com",
      "example.tumblr.com",
    ].map((site) => [`https://${site}/p`, { host: site, source: site, path: "/p" }] as const),
    [
      "https://docs.example.github.io/",
      { host: "docs.example.github.io", source: "example.github.io", path: "" },
    ],
    // The platforms' own.
    [
      "https://substack.com/inbox",
      { host: "substack.com", source: "substack.com", path: "/inbox" },
    ],
    ["https://www.substack.com/", { host: "www.substack.com", source: "substack.com", path: "" }],
    ["https://a.b.substack.com/", { host: "a.b.substack.com", source: "b.substack.com", path: "" }],
    ["https://github.com/a", { host: "github.com", source: "github.com", path: "/a" }],
    ["http://localhost:3000/x", { host: "localhost", source: "localhost", path: "/x" }],
    ["http://192.168.1.1/x", { host: "192.168.1.1", source: "192.168.1.1", path: "/x" }],
    [
      "android-app://com.google.android.gm/",
      { host: "", source: "com.google.android.gm", path: "" },
    ],
  ])("%p", (header, expected) => {
    expect(parseReferrer(header)).toEqual(expected);
  });

  test.each([
    ["a host of 260 characters", `${"a".repeat(62)}.`.repeat(4).concat("b.museum")],
    ["a host of 63 characters of another script", `${"界".repeat(63)}.com`],
  ])("may have %s", (_name, host) => {
    const { source } = parseReferrer(`https://${host}/page`);
    expect(source).not.toBe("direct");
  });

  test("says the same when it is shortened, in ASCII and few characters", () => {
    const part = fc.oneof(
      fc.constantFrom(
        "https://",
        "http:",
        "android-app://",
        "a.com",
        "bücher.de",
        "www.",
        "/",
        "?",
      ),
      fc.constantFrom("#", "@", ":", ":8080", "%", "%4", "\r\n", "\0", "<", '"', "x".repeat(300)),
      fc.string({ unit: "binary", maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 9 }), (parts) => {
        const header = parts.join("");
        const short = shortenReferrer(header);
        expect(parseReferrer(short)).toEqual(parseReferrer(header));
        expect(shortenReferrer(short)).toBe(short);
        expect(short).toMatch(/^[!-~]{0,800}$/);
      }),
      { numRuns: casesOf(20_000) },
    );
  });

  test.each([
    ["another script", "界".repeat(64)],
    ["letters that are written by several others", "㍿".repeat(64)],
    ["labels", "a.".repeat(400)],
    ["tabs and letters", "界\t".repeat(64)],
    ["a user name", `${"ü@".repeat(200)}example.com`],
  ])("of a host of too many characters, %s, counts as none and is not parsed", (_name, host) => {
    using parse = spyOn(URL, "parse");
    for (const start of ["https://", "http:", "HTTPS:\\\\/", "ht\ttp://", " http://", "ws:///"])
      expect(parseReferrer(`${start}${host}/page`)).toEqual(DIRECT);
    expect(parse).not.toHaveBeenCalled();
  });

  test("of a host that is short enough is what the URL parser makes of it", () => {
    const part = fc.constantFrom(
      "http",
      "https:",
      "android-app:",
      "//",
      "\\",
      "\t",
      " ",
      "a",
      "ü",
      "@",
      ".",
      ":8",
      "?",
      "#",
      "[::1]",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const header = parts.join("");
        const url = URL.parse(header);
        const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
        const { host, path } = parseReferrer(header);
        if (isWeb)
          expect([host, path]).toEqual([
            normalizeHost(url.host),
            url.pathname === "/" ? "" : url.pathname,
          ]);
        else expect(host).toBe("");
      }),
      { numRuns: casesOf(2_000) },
    );
  });

  test("is parsed from any header without an error", () => {
    fc.assert(fc.property(fc.string(), (header) => void parseReferrer(header)));
  });
});
