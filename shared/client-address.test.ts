import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { TrustedProxies } from "./client-address.ts";

describe("client address", () => {
  const byCidr = new TrustedProxies(["10.0.0.0/8", "127.0.0.1", "2001:db8::/32"]);

  test.each([
    ["a header from an untrusted peer is ignored", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a trusted proxy's last entry is the client", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["entries left of that are ignored", "10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"],
    ["other trusted proxies are skipped", "10.0.0.1", "198.51.100.1, 10.9.9.9", "198.51.100.1"],
    ["ports and brackets are removed", "10.0.0.1", "[2a00::5]:443", "2a00::5"],
    ["an IPv4 port is removed", "10.0.0.1", "198.51.100.1:5000", "198.51.100.1"],
    ["IPv4 within IPv6 counts as IPv4", "::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"],
    ["so it does in hexadecimal", "::ffff:a00:1", "0:0:0:0:0:ffff:c633:6401", "198.51.100.1"],
    ["so it does in a translated address", "10.0.0.1", "64:ff9b::c633:6401", "198.51.100.1"],
    ["an address of IPv6 stays one", "10.0.0.1", "64:ff9b:1::1", "64:ff9b:1::1"],
    ["an invalid entry ends the search", "10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"],
    ["without a header the peer is the client", "10.0.0.1", null, "10.0.0.1"],
    ["of trusted proxies alone it is the farthest", "10.0.0.1", "10.0.0.7, 10.0.0.8", "10.0.0.7"],
  ])("%s", (_name, peer, header, expected) => {
    expect(byCidr.clientOf(peer, header)).toBe(expected);
  });

  test("a number of proxies counts from the right", () => {
    const twoProxies = new TrustedProxies(["2"]);
    expect(twoProxies.clientOf("10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2")).toBe("198.51.100.1");
    expect(twoProxies.clientOf("10.0.0.1", null)).toBe("10.0.0.1");
  });

  test("without trusted proxies the header is ignored", () => {
    const direct = new TrustedProxies([]);
    fc.assert(
      fc.property(fc.string(), (header) =>
        expect(direct.clientOf("203.0.113.9", header)).toBe("203.0.113.9"),
      ),
    );
  });

  test("only a header from an untrusted peer is reported as ignored", () => {
    let ignored = 0;
    const client = new TrustedProxies(["10.0.0.1"], () => ignored++);
    client.clientOf("10.0.0.1", "198.51.100.1");
    client.clientOf("203.0.113.9", null);
    expect(ignored).toBe(0);
    client.clientOf("203.0.113.9", "198.51.100.1");
    expect(ignored).toBe(1);
  });

  test("an invalid entry stops the start of the process", () => {
    expect(() => new TrustedProxies(["10.0.0.0/8", "proxy.example"])).toThrow("proxy.example");
  });

  test("the header is read from the right for only as many entries as there are proxies", () => {
    const anyEntry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("", " ", "x", "10.0.0.3", ","));
    const anyLeft = fc.oneof(fc.array(anyEntry), fc.constant(Array(5_000).fill("10.0.0.1")));
    fc.assert(
      fc.property(anyLeft, fc.ipV4(), (left, client) => {
        fc.pre(!client.startsWith("10.") && client !== "127.0.0.1");
        const header = [...left, client, "10.0.0.2"].join(",");
        expect(byCidr.clientOf("10.0.0.1", header)).toBe(client);
        expect(new TrustedProxies(["2"]).clientOf("10.0.0.1", header)).toBe(client);
        expect(new TrustedProxies(["0"]).clientOf("10.0.0.1", header)).toBe("10.0.0.1");
      }),
      { numRuns: 50 },
    );
  });

  test("the number of skipped proxies is bounded", () => {
    const proxies = Array.from({ length: 5_000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
    expect(byCidr.clientOf("10.0.0.1", ["203.0.113.9", ...proxies].join(","))).toBe(
      proxies.at(-32) ?? "",
    );
    expect(() => new TrustedProxies(["33"])).toThrow("too many");
  });

  test("a proxy is recognised by its address; with a number of proxies every peer is one", () => {
    const proxies = new TrustedProxies(["10.0.0.0/8", "2001:db8::/32"]);
    expect(
      ["10.1.2.3", "2001:db8::1", "203.0.113.9", ""].map((address) => proxies.trusts(address)),
    ).toEqual([true, true, false, false]);
    expect(new TrustedProxies(["1"]).trusts("203.0.113.9")).toBe(true);
    expect(new TrustedProxies(["0"]).trusts("203.0.113.9")).toBe(false);
    expect(new TrustedProxies([]).trusts("203.0.113.9")).toBe(false);
  });
});
