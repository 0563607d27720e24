import { expect, test } from "bun:test";

import { hostName, ownHosts } from "./hosts.ts";

test.each([
  ["Example.COM", "example.com"],
  ["example.com:8080", "example.com"],
  ["example.com.", "example.com"],
  ["example.com.:443", "example.com"],
  ["[::1]:8080", "[::1]"],
  ["127.0.0.1:80", "127.0.0.1"],
  ["", ""],
])("the host of %p is %p", (header, expected) => {
  expect(hostName(header)).toBe(expected);
});

test("own hosts are that of the short URL and the further ones", () => {
  expect(ownHosts("https://Sho.rt", ["www.sho.rt", "[::1]"])).toEqual(
    new Set(["sho.rt", "www.sho.rt", "[::1]"]),
  );
});
