/** Goal: a query is forwarded as browsers would parse it, at a bounded cost. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { forwardQuery, LOCATION_BYTES_MAX, PARAMETERS_MAX } from "./forward-query.ts";

const forward = (destination: string, query: string | Buffer): string | undefined => {
  const bytes = Buffer.concat([Buffer.from("before"), Buffer.from(query), Buffer.from("after")]);
  return forwardQuery(destination, bytes, { start: 6, end: bytes.length - 5 });
};

/** The simple implementation, whose time is quadratic. */
function reference(destination: string, query: string): string {
  const url = new URL(destination);
  const forwarded = new URLSearchParams(query);
  for (const name of new Set(forwarded.keys())) {
    if (url.searchParams.has(name)) continue;
    for (const value of forwarded.getAll(name)) url.searchParams.append(name, value);
  }
  return url.href;
}

/** Few names, so that they repeat; every kind of separator. */
const anyPart = fc.oneof(
  fc.constantFrom("a", "b", "c", "x", "=", "&", "&", "?", "#", "+", "%", "%4", "%41", "%61", "%zz"),
  fc.constantFrom("%C3%BC", "%ff", "%ED%A0%80", "%F0%9F%8E", "%00", "%26", "%3D", "%3F", "[", "'"),
  fc.string({ unit: "binary", maxLength: 4 }),
);
const anyQuery = fc.array(anyPart, { maxLength: 60 }).map((parts) => parts.join(""));
const anyBytes = fc.oneof(
  anyQuery.map((text) => Buffer.from(text)),
  fc.array(fc.constantFrom(0x61, 0x26, 0x3d, 0x80, 0xc3, 0xbc, 0xed, 0xf0, 0xff)).map(Buffer.from),
);
const anyDestination = fc
  .tuple(
    fc.constantFrom("https://example.com/", "https://example.com/a%20b", "http://[::1]:8080/ü"),
    fc.option(anyQuery, { nil: undefined }),
    fc.option(fc.constantFrom("", "top", "a?b=c"), { nil: undefined }),
  )
  .map(
    ([start, query, hash]) =>
      new URL(
        `${start}${query === undefined ? "" : `?${query.replaceAll("#", "")}`}${hash === undefined ? "" : `#${hash}`}`,
      ).href,
  );

const names = (count: number): string =>
  Array.from({ length: count }, (_, i) => `n${i}=`).join("&");

describe("forwarding the query", () => {
  test("appends it to the destination's own, and never replaces a parameter of the destination", () => {
    const destination = "https://example.com/a?x=1";
    expect(forward(destination, "y=2&y=3")).toBe("https://example.com/a?x=1&y=2&y=3");
    expect(forward(destination, "x=9&y=2")).toBe("https://example.com/a?x=1&y=2");
    expect(forward("https://example.com/#top", "y=1&z=2&y=3")).toBe(
      "https://example.com/?y=1&y=3&z=2#top",
    );
  });

  test("forwards invalid UTF-8 and single percent signs as browsers parse them", () => {
    const destination = "https://example.com/";
    expect(forward(destination, Buffer.from("a=\xff%ff%&b", "latin1"))).toBe(
      "https://example.com/?a=%EF%BF%BD%EF%BF%BD%25&b=",
    );
  });

  test("equals the simple implementation for any query and destination", () => {
    fc.assert(
      fc.property(anyDestination, anyBytes, (destination, query) => {
        expect(forward(destination, query)).toBe(reference(destination, query.toString()));
      }),
      { numRuns: casesOf(2_000) },
    );
  });

  test("never exceeds the bound, however much encoding lengthens the query", () => {
    const anyLength = fc.nat({ max: 16_384 });
    const anyByte = fc.constantFrom("\xff", "\xc3\xbc", "%ff", "%", "a", "'", "\u0001", "=", "a=&");
    fc.assert(
      fc.property(anyDestination, anyByte, anyLength, (destination, part, length) => {
        const query = Buffer.alloc(length, part, "latin1");
        const location = forward(destination, query);
        const expected = reference(destination, query.toString());
        if (location === undefined) {
          const parameters = query.toString("latin1").split("&").filter(Boolean).length;
          expect(expected.length > LOCATION_BYTES_MAX || parameters > PARAMETERS_MAX / 2).toBe(
            true,
          );
        } else {
          expect(location.length).toBeLessThanOrEqual(LOCATION_BYTES_MAX);
          expect(location).toBe(expected);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("accepts as many parameters as the bound, including the destination's own, and no more", () => {
    const destination = "https://example.com/?a=1&&b=2";
    const most = names(PARAMETERS_MAX - 2);
    expect(forward(destination, most)).toBe(`https://example.com/?a=1&b=2&${most}`);
    expect(forward(destination, names(PARAMETERS_MAX - 1))).toBeUndefined();
    // Parameters that are left out count as well: they have to be parsed.
    expect(forward(destination, `${most}&a=2`)).toBeUndefined();
    expect(forward(destination, `&&&${most}&&&`)).toBe(`https://example.com/?a=1&b=2&${most}`);
  });
});
