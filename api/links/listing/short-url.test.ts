/** Goal: a search finds the link of a pasted short URL, however it was written. */
import { expect, test } from "bun:test";

import { readShortUrl } from "./short-url.ts";

test.each([
  "https://sho.rt/abc",
  "http://sho.rt/abc",
  "HTTPS://SHO.RT/abc",
  "//sho.rt/abc",
  "sho.rt/abc",
  "sho.rt./abc",
  "sho.rt/abc/",
  "sho.rt/abc+",
  "sho.rt/abc+/",
  "sho.rt/abc?utm_source=x&y=/z",
  "sho.rt/abc/?x",
  "sho.rt/abc#top",
  "sho.rt/abc/more/path",
  "sho.rt/%61bc",
  "sho.rt/abc%20",
  "sho.rt/abc.",
  "sho.rt/abc).",
  "sho.rt/abc&utm_source=x",
  "sho.rt//abc",
  " https://sho.rt/abc\u200b\n",
])("%j is the short URL of an alias", (text) => {
  expect(readShortUrl(text)).toEqual({ host: "sho.rt", alias: "abc" });
});

test.each([
  ["https://bücher.de/abc", "xn--bcher-kva.de"],
  ["BÜCHER.DE/abc", "xn--bcher-kva.de"],
  ["xn--bcher-kva.de/abc?x", "xn--bcher-kva.de"],
  ["localhost:8080/abc", "localhost:8080"],
])("%s is one on %s", (text, host) => {
  expect(readShortUrl(text)).toEqual({ host, alias: "abc" });
});

test.each([
  "",
  "abc",
  "sho.rt",
  "sho.rt/",
  "https://sho.rt",
  "/abc",
  "two words/abc",
  "sho.rt/a.html",
])("%j is none", (text) => {
  expect(readShortUrl(text)).toBeUndefined();
});
