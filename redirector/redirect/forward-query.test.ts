/** Goal: destination and visit keep every byte of their queries, at a bounded cost. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { forwardQuery, LOCATION_BYTES_MAX, PARAMETERS_MAX } from "./forwarding.ts";

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

describe("forwarding the query", () => {
  test.each([
    ["a name without a value", "https://e.com/?abc", "fbclid=X", "https://e.com/?abc&fbclid=X"],
    ["no query", "https://e.com/a", "y=2&y=3", "https://e.com/a?y=2&y=3"],
    ["an empty query", "https://e.com/?", "y=2", "https://e.com/?y=2"],
    ["a fragment", "https://e.com/#top?x", "y=1&z=2&y=3", "https://e.com/?y=1&z=2&y=3#top?x"],
    ["a presigned URL", SIGNED, "fbclid=X", `${SIGNED}&fbclid=X`],
    [
      "a legacy encoding",
      "https://e.com/?q=M%FCnchen",
      "r=K%F6ln",
      "https://e.com/?q=M%FCnchen&r=K%F6ln",
    ],
    ["semicolons", "https://e.com/?a=1;b=2", "c=3;d=4", "https://e.com/?a=1;b=2&c=3;d=4"],
    [
      "a nested URL",
      "https://e.com/?u=https://x.com/?a=b",
      "c=/d?e",
      "https://e.com/?u=https://x.com/?a=b&c=/d?e",
    ],
    ["blanks", "https://e.com/?a=b+c%20d", "e=f+g%20h", "https://e.com/?a=b+c%20d&e=f+g%20h"],
    [
      "characters that need no encoding",
      "https://e.com/?a=(b)'~*",
      "c=(d)'~*!",
      "https://e.com/?a=(b)'~*&c=(d)'~*!",
    ],
    [
      "small letters in escapes",
      "https://e.com/?a=%c3%bc",
      "b=%c3%bc",
      "https://e.com/?a=%c3%bc&b=%c3%bc",
    ],
    ["brackets", "https://e.com/?a[]=1&a[]=2", "b[x]=1", "https://e.com/?a[]=1&a[]=2&b[x]=1"],
    ["ampersands", "https://e.com/?a&&b&", "&c&&d", "https://e.com/?a&&b&&c&&d"],
    ["a value with =", "https://e.com/?a=b==", "c=d==&e==", "https://e.com/?a=b==&c=d==&e=="],
    ["no name", "https://e.com/?a=", "=b", "https://e.com/?a=&=b"],
    ["only ampersands", "https://e.com/?abc", "&&", "https://e.com/?abc"],
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

  test.each([
    ["text in UTF-8", "a=ü", "a=%C3%BC"],
    ["text in Latin-1", Buffer.from("a=\xfc", "latin1"), "a=%FC"],
    ["lone percent signs", "a=%&b=%4&c=%zz&d=100%", "a=%25&b=%254&c=%25zz&d=100%25"],
    ["delimiters", 'a="<>\\^`{|}#', "a=%22%3C%3E%5C%5E%60%7B%7C%7D%23"],
    ["control characters", "a=\r\n\0 \x7f", "a=%0D%0A%00%20%7F"],
  ])("encodes what no URI may contain: %s", (_what, query, expected) => {
    expect(forward("https://e.com/", query)).toBe(`https://e.com/?${expected}`);
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
