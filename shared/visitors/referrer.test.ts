import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { normalizeHost } from "../hosts.ts";
import { DIRECT, parseReferrer, shortenReferrer } from "./referrer.ts";

describe("the referrer", () => {
  test.each(["", "nonsense", "about:blank"])("%p tells nothing", (header) => {
    expect(parseReferrer(header)).toEqual(DIRECT);
  });

  test.each([
    ["https://www.Example.com/", "www.example.com", "example.com", ""],
    ["https://news.example.co.uk/a/b?c=d#e", "news.example.co.uk", "example.co.uk", "/a/b"],
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
    ].map((site) => [`https://${site}/p`, site, site, "/p"] as const),
    ["https://docs.example.github.io/", "docs.example.github.io", "example.github.io", ""],
    // The platforms' own.
    ["https://substack.com/inbox", "substack.com", "substack.com", "/inbox"],
    ["https://www.substack.com/", "www.substack.com", "substack.com", ""],
    ["https://a.b.substack.com/", "a.b.substack.com", "b.substack.com", ""],
    ["https://github.com/a", "github.com", "github.com", "/a"],
    ["http://localhost:3000/x", "localhost", "localhost", "/x"],
    ["http://192.168.1.1/x", "192.168.1.1", "192.168.1.1", "/x"],
    ["android-app://com.google.android.gm/", "", "com.google.android.gm", ""],
  ])("%p", (header, host, source, path) => {
    expect(parseReferrer(header)).toEqual({ host, source, path });
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
});
