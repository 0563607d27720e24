/** Goal: a look-up, a report and a search find the link of a pasted short URL, however written. */
import { expect, test } from "bun:test";

import { readShortUrl, requireShortUrl, type ShortUrl } from "./short-url.ts";

const HELLO = { domain: "sho.rt", aliases: ["hello"] };
const BOOK = { domain: "xn--bcher-kva.de", aliases: ["hello"] };

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
  ["*https://sho.rt/hello*", HELLO],
  ["**sho.rt/hello**", HELLO],
  ["||https://sho.rt/hello||", HELLO],
  ["> https://sho.rt/hello", HELLO],
  ["[https://sho.rt/hello]", HELLO],
  ["*(https://sho.rt/hello)*", HELLO],
  ["_https://sho.rt/hello_", { domain: "sho.rt", aliases: ["hello_", "hello"] }],
  ["~~sho.rt/hello~~", { domain: "sho.rt", aliases: ["hello~~", "hello"] }],
  ["sho.rt/hello_", { domain: "sho.rt", aliases: ["hello_"] }],
  ["*_https://sho.rt/a/b_*", { domain: "sho.rt", aliases: ["a/b_", "a/b", "a"] }],
  ["sho.rt:443/hello", HELLO],
  ["https://sho.rt:443/hello?x", HELLO],
  ["SHO.RT:80/hello", HELLO],
  ["https://bücher.de:443/hello", BOOK],
  ["https://sho.rt/❤", { domain: "sho.rt", aliases: ["❤️"] }],
  ["sho.rt/%E2%AD%90%EF%B8%8F", { domain: "sho.rt", aliases: ["⭐"] }],
  // A link with `forward_path` redirects them: who pastes one means that link, without another.
  ["sho.rt/hello/more/path", { domain: "sho.rt", aliases: ["hello/more/path", "hello"] }],
  ["sho.rt/a/b).", { domain: "sho.rt", aliases: ["a/b", "a"] }],
  ["sho.rt/hello/%2F", HELLO],
  ["sho.rt/Hello", { domain: "sho.rt", aliases: ["Hello"] }],
  ["sho.rt/a.html", { domain: "sho.rt", aliases: ["a.html"] }],
  ["sho.rt/r%C3%A9sum%c3%a9", { domain: "sho.rt", aliases: ["résumé"] }],
  ["sho.rt/re\u0301sume\u0301", { domain: "sho.rt", aliases: ["résumé"] }],
  ["sho.rt/%F0%9F%8E%88🎈", { domain: "sho.rt", aliases: ["🎈🎈"] }],
  ["HTTPS://GO.example.com/a-b_c", { domain: "go.example.com", aliases: ["a-b_c"] }],
  ["http://localhost:8080/hello?x#top", { domain: "localhost:8080", aliases: ["hello"] }],
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
  "sho.rt/a%2Fb",
  "link_01k5m",
  "**hello**",
  "_/hello_",
])("%j is none", (text) => {
  expect(readShortUrl(text)).toBeUndefined();
  expect(() => requireShortUrl(text)).toThrow('Invalid value for "short_url"');
});
