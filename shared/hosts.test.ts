import { expect, test } from "bun:test";

import { normalizeHost, ownHosts } from "./hosts.ts";

test.each([
  ["Example.COM", "example.com"],
  ["example.com:8080", "example.com"],
  ["example.com.", "example.com"],
  ["example.com.:443", "example.com"],
  ["[::1]:8080", "[::1]"],
  ["127.0.0.1:80", "127.0.0.1"],
  ["", ""],
])("%p is normalized to %p", (header, expected) => {
  expect(normalizeHost(header)).toBe(expected);
});

test("own hosts are the host of the short URL and the further ones", () => {
  expect(ownHosts("https://Sho.rt", ["www.sho.rt", "[::1]"])).toEqual(
    new Set(["sho.rt", "www.sho.rt", "[::1]"]),
  );
});
