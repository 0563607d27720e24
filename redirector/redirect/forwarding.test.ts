/** Goal: a forwarded path stays below the destination's, whatever was sent. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { normalizePath } from "../http/request.ts";
import {
  forwardPath,
  forwardQuery,
  isForwardable,
  LOCATION_BYTES_MAX,
  PARAMETERS_MAX,
} from "./forwarding.ts";

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
});

const forward = (destination: string, query: string | Buffer): string | undefined => {
  const bytes = Buffer.concat([Buffer.from("before"), Buffer.from(query), Buffer.from("after")]);
  return forwardQuery(destination, bytes, { start: 6, end: bytes.length - 5 });
};

/** RFC 3986 §3.4: what a query consists of beside percent-encodings, and brackets. */
const QUERY_CHARACTERS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?[]";

/** The name of a parameter, decoded byte by byte. */
function nameOf(parameter: string): string {
  const [name = ""] = parameter.split("=", 1);
  let decoded = "";
  for (let i = 0; i < name.length; i++) {
    const hex = name.slice(i + 1, i + 3);
    const isEscape = name[i] === "%" && /^[0-9A-Fa-f]{2}$/.test(hex);
    decoded += isEscape
      ? Buffer.from(hex, "hex").toString("latin1")
      : name[i] === "+"
        ? " "
        : name[i];
    if (isEscape) i += 2;
  }
  return decoded;
}

/** A model that goes through the visit's query byte by byte. */
function model(destination: string, query: Buffer): string {
  const {
    path = "",
    own,
    fragment = "",
  } = /^(?<path>[^?#]*)(?:\?(?<own>[^#]*))?(?<fragment>#.*)?$/.exec(destination)?.groups ?? {};
  const names = new Set((own ?? "").split("&").filter(Boolean).map(nameOf));
  const kept = query
    .toString("latin1")
    .split("&")
    .filter((parameter) => parameter === "" || !names.has(nameOf(parameter)));
  if (kept.every((parameter) => parameter === "")) return destination;
  let added = "";
  let rest = kept.join("&");
  while (rest !== "") {
    const [escape = ""] = /^%[0-9A-Fa-f]{2}/.exec(rest) ?? [];
    const byte = Buffer.from(rest.slice(0, 1), "latin1").toString("hex").toUpperCase();
    added += escape || (QUERY_CHARACTERS.includes(rest.charAt(0)) ? rest.charAt(0) : `%${byte}`);
    rest = rest.slice(escape.length || 1);
  }
  const start = own === undefined || own === "" ? "" : own.endsWith("&") ? own : `${own}&`;
  return `${path}?${start}${added}${fragment}`;
}

/** Few names, so that they repeat; every kind of separator. */
const anyPart = fc.oneof(
  fc.constantFrom("a", "b", "c", "x", "=", "&", "&", "?", "#", "+", "%", "%4", "%41", "%61", "%zz"),
  fc.constantFrom(";", "|", "{", "}", "^", "`", "\\", '"', "%20", "%2B", "%FC", "%fc", "https://"),
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

const SIGNED =
  "https://s3.example.com/o?X-Amz-Credential=A%2F20261127%2Feu&X-Amz-SignedHeaders=host%3Bdate&X-Amz-Signature=ab";

// Goal: destination and visit keep every byte of their queries, at a bounded cost.
describe("forwarding the query", () => {
  test.each([
    ["a name without a value", "https://e.com/?abc", "fbclid=X", "https://e.com/?abc&fbclid=X"],
    ["no query", "https://e.com/a", "y=2&y=3", "https://e.com/a?y=2&y=3"],
    ["a fragment", "https://e.com/#top?x", "y=1&z=2&y=3", "https://e.com/?y=1&z=2&y=3#top?x"],
    ["a presigned URL", SIGNED, "fbclid=X", `${SIGNED}&fbclid=X`],
    ["a legacy encoding", "https://e.com/?q=M%FC", "r=K%F6", "https://e.com/?q=M%FC&r=K%F6"],
  ])("keeps %s", (_what, destination, query, expected) => {
    expect(forward(destination, query)).toBe(expected);
  });

  test.each([
    ["x=1", "x=9&y=2", "x=1&y=2"],
    ["x=1", "x&y", "x=1&y"],
    ["x", "x=2&X=3", "x&X=3"],
    ["a%20b=1", "a+b=2&a%20b=3&c", "a%20b=1&c"],
    ["%61=1", "a=2&c", "%61=1&c"],
    ["%C3%BC=1", "ü=2&%c3%bc=3&c", "%C3%BC=1&c"],
    ["%FC=1", "%FD=2", "%FC=1&%FD=2"],
    ["a=1&a=2", "b=1&a=3&b=2", "a=1&a=2&b=1&b=2"],
    ["u=?c=1", "c=2", "u=?c=1&c=2"],
  ])("%s has precedence over names of %s", (own, query, expected) => {
    expect(forward(`https://e.com/?${own}`, query)).toBe(`https://e.com/?${expected}`);
  });

  test("equals the model for any query and destination", () => {
    fc.assert(
      fc.property(anyDestination, anyBytes, (destination, query) => {
        const location = forward(destination, query);
        expect(location).toBe(model(destination, query));
        expect(location).toMatch(/^[!-~]*$/);
      }),
      { numRuns: casesOf(100_000) },
    );
  });

  test("never exceeds the bound, however much encoding lengthens the query", () => {
    const anyLength = fc.nat({ max: 16_384 });
    const anyByte = fc.constantFrom("\xff", "\xc3\xbc", "%ff", "%", "a", "'", "\u0001", "=", "a=&");
    fc.assert(
      fc.property(anyDestination, anyByte, anyLength, (destination, part, length) => {
        const query = Buffer.alloc(length, part, "latin1");
        const location = forward(destination, query);
        const expected = model(destination, query);
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
    expect(forward(destination, most)).toBe(`${destination}&${most}`);
    expect(forward(destination, names(PARAMETERS_MAX - 1))).toBeUndefined();
    // Parameters that are left out count as well: they have to be parsed.
    expect(forward(destination, `${most}&a=2`)).toBeUndefined();
    expect(forward(destination, `&&&${most}&&&`)).toBe(`${destination}&&&&${most}&&&`);
  });
});
