import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { VisitorHash } from "./rows.ts";

describe("visitors", () => {
  const hashes = new VisitorHash("a secret of this installation");

  test("the same person on the same link has one hash; any difference changes it", () => {
    const visitor = hashes.of("link", "8.8.8.8", "agent");
    expect(hashes.of("link", "8.8.8.8", "agent")).toBe(visitor);
    const others = [
      hashes.of("other", "8.8.8.8", "agent"),
      hashes.of("link", "8.8.4.4", "agent"),
      hashes.of("link", "8.8.8.8", "other"),
      new VisitorHash("another secret").of("link", "8.8.8.8", "agent"),
    ];
    expect(new Set([visitor, ...others]).size).toBe(5);
  });

  test("a hash fits ClickHouse's UInt64", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (address, agent) => {
        const value = BigInt(hashes.of("link", address, agent));
        expect(value >= 0n && value < 2n ** 64n).toBe(true);
      }),
    );
  });
});
