/** Goal: a forwarded path stays below the destination's, whatever was sent. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { normalizePath } from "../http/request.ts";
import { forwardPath, isForwardable, LOCATION_BYTES_MAX } from "./forwarding.ts";

describe("forwarding a path", () => {
  test.each([
    ["https://example.com/docs", "/a", "https://example.com/docs/a"],
    ["https://example.com/docs/", "/a/", "https://example.com/docs/a/"],
    ["https://example.com/", "/a/b", "https://example.com/a/b"],
    ["https://example.com/docs?x=1#top", "/a", "https://example.com/docs/a?x=1#top"],
    ["https://example.com/", "/https://example.org/x", "https://example.com/https://example.org/x"],
    ["https://example.com/", "/ü", "https://example.com/%C3%BC"],
    ["https://example.com/", "/a%20b%2Fc", "https://example.com/a%20b%2Fc"],
    ["https://example.com/", '/"<>`{}|^#', "https://example.com/%22%3C%3E%60%7B%7D%7C%5E%23"],
    [
      "https://example.com/",
      "/%0d%0aSet-Cookie:%20a=b",
      "https://example.com/%0d%0aSet-Cookie:%20a=b",
    ],
    ["http://[::1]:8080/a", "/b:1@c", "http://[::1]:8080/a/b:1@c"],
  ])("%s and %s make %s", (destination, suffix, expected) => {
    expect(isForwardable(suffix)).toBe(true);
    expect(forwardPath(destination, suffix)).toBe(expected);
  });

  test.each([
    "/..",
    "/a/..",
    "/a/../b",
    "/./a",
    "/%2e%2E/a",
    "/.%2e",
    "/a/%2e",
    "/..%2fa",
    "/a%2F..%2Fb",
    "/%252e%252e/a",
    "/%25252E./a",
    "/..;x=1/a",
    "/..%5ca",
    "/\\example.org",
    "/%5Cexample.org",
    "/a%255cb",
    "/",
    "//",
    "//example.org",
    "/%2fexample.org",
    "/%252Fexample.org",
  ])("%s is refused", (suffix) => {
    expect(isForwardable(suffix)).toBe(false);
  });

  test("is refused beyond the length of a response's destination", () => {
    const destination = "https://example.com/";
    const rest = LOCATION_BYTES_MAX - destination.length;
    expect(forwardPath(destination, `/${"a".repeat(rest)}`)).toHaveLength(LOCATION_BYTES_MAX);
    expect(forwardPath(destination, `/${"a".repeat(rest + 1)}`)).toBeUndefined();
    expect(forwardPath(destination, `/${"ü".repeat(rest / 6 + 1)}`)).toBeUndefined();
  });

  const anyPart = fc.oneof(
    fc.constantFrom("..", ".", "%2e", "%2E", "%25", "%252e", "/", "%2f", "\\", "%5c", "%255C", ";"),
    fc.constantFrom("@", ":", "?", "#", "%00", "%0d", "%0a", "%09", "ü", "a", "b", "//", "%zz"),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  const anySuffix = fc.array(anyPart, { maxLength: 12 }).map((parts) => `/${parts.join("")}`);
  const anyDestination = fc.constantFrom(
    "https://example.com/",
    "https://example.com/docs",
    "https://example.com:8443/a%20b/c/?x=..#../y",
    "http://[::1]/%2525/",
  );

  test("keeps scheme, host, query and fragment, and never leaves the destination's path", () => {
    let forwarded = 0;
    fc.assert(
      fc.property(anyDestination, anySuffix, (destination, suffix) => {
        // Other requests never get here.
        if (normalizePath(`/alias${suffix}`) === undefined || !isForwardable(suffix)) return;
        // Neither do control characters and spaces, which no request line has.
        if (/[\0-\x20\x7f]/.test(suffix)) return;
        const result = forwardPath(destination, suffix);
        if (result === undefined) throw new Error("too long");
        forwarded++;
        const [base, url] = [new URL(destination), new URL(result)];
        expect([url.origin, url.search, url.hash]).toEqual([base.origin, base.search, base.hash]);
        const below = base.pathname.endsWith("/") ? base.pathname : `${base.pathname}/`;
        expect(url.pathname).toStartWith(below);
        // Printable ASCII, so that it is one field of the response's head.
        expect(result).toMatch(/^[!-~]+$/);
        // Also for software that decodes until nothing is left to decode.
        let plain = url.pathname.slice(below.length);
        for (let rounds = 0; rounds < 20 && /%[0-9a-f]{2}/i.test(plain); rounds++)
          plain = plain.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
            String.fromCharCode(Number.parseInt(hex, 16)),
          );
        expect(plain.split(/[/\\]/)).not.toContainAnyValues(["..", "."]);
      }),
      { numRuns: casesOf(5_000) },
    );
    expect(forwarded).toBeGreaterThan(casesOf(500));
  });

  test("a path of unreserved characters arrives as it was sent", () => {
    const segment = fc.stringMatching(/^[A-Za-z0-9_~-]{1,8}$/);
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1 }), (segments) => {
        const suffix = `/${segments.join("/")}`;
        expect(forwardPath("https://example.com/base/", suffix)).toBe(
          `https://example.com/base${suffix}`,
        );
      }),
    );
  });
});
