import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { createVisitorHash } from "./visitor.ts";

describe("visitors", () => {
  const hash = createVisitorHash("a secret of this installation");

  test("the same person on the same link has one hash; any difference changes it", () => {
    const visitor = hash("link", "8.8.8.8", "agent");
    expect(hash("link", "8.8.8.8", "agent")).toBe(visitor);
    const others = [
      hash("other", "8.8.8.8", "agent"),
      hash("link", "8.8.4.4", "agent"),
      hash("link", "8.8.8.8", "other"),
      createVisitorHash("another secret")("link", "8.8.8.8", "agent"),
    ];
    expect(new Set([visitor, ...others]).size).toBe(5);
  });

  test("a hash fits ClickHouse's UInt64", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (address, agent) => {
        const value = BigInt(hash("link", address, agent));
        expect(value >= 0n && value < 2n ** 64n).toBe(true);
      }),
    );
  });
});
