import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { createClientAddress } from "./client-address.ts";

describe("client address", () => {
  const byCidr = createClientAddress(["10.0.0.0/8", "127.0.0.1", "2001:db8::/32"]);

  test.each([
    ["a stranger's header is not believed", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a trusted proxy's last entry is the client", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    [
      "entries left of the first stranger are not believed",
      "10.0.0.1",
      "1.1.1.1, 198.51.100.1",
      "198.51.100.1",
    ],
    [
      "trusted proxies in the chain are passed",
      "10.0.0.1",
      "198.51.100.1, 10.9.9.9",
      "198.51.100.1",
    ],
    ["ports and brackets are dropped", "10.0.0.1", "[2a00::5]:443", "2a00::5"],
    ["an IPv4 port is dropped", "10.0.0.1", "198.51.100.1:5000", "198.51.100.1"],
    ["IPv4 within IPv6 counts as IPv4", "::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"],
    ["garbage stops the walk", "10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"],
    ["no header leaves the peer", "10.0.0.1", null, "10.0.0.1"],
    [
      "a chain of trusted proxies alone gives the farthest",
      "10.0.0.1",
      "10.0.0.7, 10.0.0.8",
      "10.0.0.7",
    ],
  ])("%s", (_name, peer, header, expected) => {
    expect(byCidr(peer, header)).toBe(expected);
  });

  test("a number of proxies counts from the right", () => {
    const twoProxies = createClientAddress(["2"]);
    expect(twoProxies("10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2")).toBe("198.51.100.1");
    expect(twoProxies("10.0.0.1", null)).toBe("10.0.0.1");
  });

  test("without trusted proxies the header never matters", () => {
    const direct = createClientAddress([]);
    fc.assert(
      fc.property(fc.string(), (header) =>
        expect(direct("203.0.113.9", header)).toBe("203.0.113.9"),
      ),
    );
  });

  test("a bad entry is refused when the process starts", () => {
    expect(() => createClientAddress(["10.0.0.0/8", "proxy.example"])).toThrow("proxy.example");
  });
});
