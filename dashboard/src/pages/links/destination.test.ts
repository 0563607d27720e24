import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { completeUrl, parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { readCopiedUrl } from "./edit-dialog.tsx";

const isWebUrl = (text: string): boolean => "url" in parseWebUrl(text);

describe("a destination without a scheme", () => {
  test.each([
    ["example.com/x", "https://example.com/x"],
    ["  example.com  ", "https://example.com"],
    ["example.com:8080/a?b#c", "https://example.com:8080/a?b#c"],
    ["www.example.co.uk?q=1", "https://www.example.co.uk?q=1"],
    ["bücher.de/ä", "https://bücher.de/ä"],
    ["xn--bcher-kva.de", "https://xn--bcher-kva.de"],
    ["उदाहरण.भारत/क", "https://उदाहरण.भारत/क"],
    ["ตัวอย่าง.ไทย", "https://ตัวอย่าง.ไทย"],
    ["i❤.ws", "https://i❤.ws"],
    ["日本語。jp/x", "https://日本語。jp/x"],
    ["192.0.2.7/x", "https://192.0.2.7/x"],
    ["//example.com/x", "https://example.com/x"],
    ["Example.COM", "https://Example.COM"],
    ["\ufeffexample.com/x\u200b", "https://example.com/x"],
    ["\u200ehttps://example.com/❤\ufe0f\u200e", "https://example.com/❤\ufe0f"],
  ])("%p leads to %p", (typed, url) => {
    expect(completeUrl(typed)).toBe(url);
    expect(isWebUrl(url)).toBe(true);
  });

  test.each([
    "",
    "example",
    "two words",
    "half a.sentence here",
    "someone@example.com",
    "mailto:someone@example.com",
    "javascript:alert(1)",
    "ftp://example.com",
    "data:text/html,x",
    "tel:123",
    "1.5",
    "1.2.3",
    "/path/only.html",
    "a..b",
    ".com",
    "//",
    "//nowhere",
    "https:/x",
  ])("is not made of %p", (typed) => {
    expect(completeUrl(typed)).toBe(typed);
  });

  test("is completed once: a URL stays as it is", () => {
    fc.assert(
      fc.property(fc.oneof(fc.webUrl(), fc.string(), fc.domain()), (text) => {
        const url = completeUrl(text);
        expect(completeUrl(url)).toBe(url);
      }),
    );
    fc.assert(fc.property(fc.webUrl(), (url) => expect(completeUrl(url)).toBe(url)));
    fc.assert(
      fc.property(fc.domain(), (host) => expect(completeUrl(host)).toBe(`https://${host}`)),
    );
  });
});

describe("a copied text", () => {
  const hosts = ["sho.rt", "localhost:8080"];

  test("is a destination when it is a web URL", () => {
    expect(readCopiedUrl(" https://example.com/a\n", hosts)).toBe("https://example.com/a");
    expect(readCopiedUrl("\u200bhttps://example.com/a\u200b", hosts)).toBe("https://example.com/a");
    expect(readCopiedUrl("http://example.com", hosts)).toBe("http://example.com");
  });

  test.each([
    "hunter2.example",
    "example.com/x",
    "https://sho.rt/abc",
    "http://localhost:8080/abc",
    "https://user:secret@example.com/",
    "ftp://example.com",
    "https://a b",
    "https://example.com/a\nhttps://example.com/b",
    "",
  ])("is none when it is %p", (text) => {
    expect(readCopiedUrl(text, hosts)).toBeUndefined();
  });
});
