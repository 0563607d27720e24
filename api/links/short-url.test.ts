/** Goal: a look-up, a report and a search find the link of a pasted short URL, however written. */
import { expect, test } from "bun:test";

import { readShortUrl, requireShortUrl, type ShortUrl } from "./short-url.ts";

const HELLO = { domain: "sho.rt", alias: "hello" };
const BOOK = { domain: "xn--bcher-kva.de", alias: "hello" };

const SHORT_URLS: [text: string, found: ShortUrl][] = [
  ["https://sho.rt/hello", HELLO],
  ["http://sho.rt/hello", HELLO],
  ["HTTPS://SHO.RT/hello", HELLO],
  ["//sho.rt/hello", HELLO],
  ["sho.rt/hello", HELLO],
  ["sho.rt./hello", HELLO],
  [" sho.rt/hello ", HELLO],
  ["sho.rt/hello/", HELLO],
  ["sho.rt//hello", HELLO],
  ["sho.rt/hello+", HELLO],
  ["sho.rt/hello+/", HELLO],
  ["sho.rt/hello?utm_source=x&y=/z", HELLO],
  ["sho.rt/hello/?x", HELLO],
  ["sho.rt/hello#top", HELLO],
  ["sho.rt/hello&utm_source=x", HELLO],
  ["sho.rt/%68ello", HELLO],
  ["sho.rt/hello%20", HELLO],
  ["sho.rt/hello.", HELLO],
  ["sho.rt/hello).", HELLO],
  [" https://sho.rt/hello\u200b\n", HELLO],
  ["<https://sho.rt/hello>", HELLO],
  ["(sho.rt/hello)", HELLO],
  ["“https://sho.rt/hello”", HELLO],
  // A link with `forward_path` redirects them: who pastes one means that link.
  ["sho.rt/hello/more/path", HELLO],
  ["sho.rt/a/b", { domain: "sho.rt", alias: "a" }],
  ["sho.rt/Hello", { domain: "sho.rt", alias: "Hello" }],
  ["HTTPS://GO.example.com/a-b_c", { domain: "go.example.com", alias: "a-b_c" }],
  ["http://localhost:8080/hello?x#top", { domain: "localhost:8080", alias: "hello" }],
  ["https://bücher.de/hello", BOOK],
  ["BÜCHER.DE/hello", BOOK],
  ["xn--bcher-kva.de/hello?x", BOOK],
];

test.each(SHORT_URLS)("%j is the short URL of %o", (text, found) => {
  expect(readShortUrl(text)).toEqual(found);
  expect(requireShortUrl(text)).toEqual(found);
});

test.each([
  "",
  "hello",
  "/hello",
  "sho.rt",
  "sho.rt/",
  "https://",
  "https://sho.rt",
  "https://sho.rt/",
  "two words/hello",
  "sho.rt/a.html",
  "link_01k5m",
])("%j is none", (text) => {
  expect(readShortUrl(text)).toBeUndefined();
  expect(() => requireShortUrl(text)).toThrow('Invalid value for "short_url"');
});
