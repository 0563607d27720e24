/** Goal: a URL is stored as a URI, which `Location` must be, and means the same as before. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { parseWebUrl, URL_LENGTH_MAX } from "./web-url.ts";

const uriOf = (text: string): string | undefined => {
  const parsed = parseWebUrl(text);
  return "uri" in parsed ? parsed.uri : undefined;
};

describe("a URL", () => {
  test.each([
    ["https://e.com/a|b?c|d#e|f", "https://e.com/a%7Cb?c%7Cd#e%7Cf"],
    ["https://e.com/?a={b}#{c}", "https://e.com/?a=%7Bb%7D#%7Bc%7D"],
    ["https://e.com/a^b?c^d#e^f", "https://e.com/a%5Eb?c%5Ed#e%5Ef"],
    ["https://e.com/?a=`b`", "https://e.com/?a=%60b%60"],
    ["https://e.com/?a=\\b#\\c", "https://e.com/?a=%5Cb#%5Cc"],
    ["https://e.com/100%?a=100%&b=%zz#%4", "https://e.com/100%25?a=100%25&b=%25zz#%254"],
    ["https://e.com/#a#b", "https://e.com/#a%23b"],
    ["https://e.com/?", "https://e.com/?"],
    ["https://e.com/#", "https://e.com/#"],
    ["https://e.com/?a=%7c%c3%bc+%20;b[]=(1)!*'~", "https://e.com/?a=%7c%c3%bc+%20;b[]=(1)!*%27~"],
    ["http://[2001:db8::1]:8080/[a]", "http://[2001:db8::1]:8080/[a]"],
    ["https://bücher.de/ü?ö#ä", "https://xn--bcher-kva.de/%C3%BC?%C3%B6#%C3%A4"],
    ["\ufeffhttps://e.com/p\u200b", "https://e.com/p"],
    ["\u200ehttps://e.com/❤\ufe0f\u200e", "https://e.com/%E2%9D%A4%EF%B8%8F"],
  ])("%j is the URI %s, and what was given is kept", (text, uri) => {
    expect(parseWebUrl(text)).toMatchObject({
      uri,
      original: text.replace(/^\W+|[\u200b-\u200f]+$/g, ""),
    });
    expect(uriOf(uri)).toBe(uri);
  });

  test("may have as many characters as the bound once it is a URI", () => {
    const start = "https://e.com/?";
    const most = "|".repeat((URL_LENGTH_MAX - start.length) / 3);
    expect(uriOf(start + most)).toBeDefined();
    expect(uriOf(`${start}${most}||`)).toBeUndefined();
  });

  test("has as a URI the same parts, whatever they consist of", () => {
    const part = fc.stringMatching(/^[ab%7c|{}^`\\ü"<>[\]'#?&=+/:@]{0,12}$/);
    fc.assert(
      fc.property(part, part, part, (path, query, fragment) => {
        const text = `https://e.com/${path}?${query}#${fragment}`;
        const uri = uriOf(text);
        if (uri === undefined) throw new Error(`It is no URL: ${text}`);
        expect(uri).toMatch(
          /^https:\/\/e\.com\/(?:[\w\-.~!$&-;=?@[\]]|%[0-9a-f]{2})*#?(?:[\w\-.~!$&-;=?@[\]]|%[0-9a-f]{2})*$/i,
        );
        const [url, same] = [new URL(text), new URL(uri)];
        expect([...same.searchParams]).toEqual([...url.searchParams]);
        expect(decoded(same.pathname)).toBe(decoded(url.pathname));
        expect(decoded(same.hash)).toBe(decoded(url.hash));
      }),
    );
  });
});

/** A text with each escape decoded once; a `%` without digits is one. */
const decoded = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
