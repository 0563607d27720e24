/** Goal: a short URL is found as people copy it. */
import { expect, test } from "bun:test";

import { readShortUrl } from "./short-url.ts";

test.each([
  ["https://sho.rt/hello", { alias: "hello", domain: "sho.rt" }],
  [" sho.rt/hello ", { alias: "hello", domain: "sho.rt" }],
  ["http://localhost:8080/Hello?utm_source=x#top", { alias: "Hello", domain: "localhost:8080" }],
  ["HTTPS://GO.example.com/a-b_c", { alias: "a-b_c", domain: "go.example.com" }],
])("%s is %o", (text, found) => expect(readShortUrl(text)).toEqual(found));

test.each(["", "sho.rt", "https://sho.rt/", "https://", "sho.rt/a/b", "link_01k5m"])(
  "%p is none",
  (text) => expect(() => readShortUrl(text)).toThrow('Invalid value for "short_url"'),
);
