/** Goal: a list contains exactly the addresses of its blocks, in every notation. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { createAddressList } from "./address-list.ts";

const listOf = (...entries: string[]) =>
  createAddressList(entries, (entry) => new Error(`"${entry}" is no address`));

const hex = (bits: bigint): string =>
  Array.from({ length: 8 }, (_, i) => ((bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(
    ":",
  );

const dotted = (bits: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 255n)).join(".");

/** Addresses of one family as numbers, of which most share some bits; their length and notation. */
const FAMILIES = [
  { name: "IPv4", length: 32, write: dotted },
  { name: "IPv6", length: 128, write: hex },
] as const;

describe("a list of addresses", () => {
  test.each(FAMILIES)("contains the addresses of its $name blocks, and no others", (family) => {
    const { length, write } = family;
    const any = fc.bigInt({ min: 0n, max: 2n ** BigInt(length) - 1n });
    const block = fc.tuple(any, fc.integer({ min: 0, max: length }));
    fc.assert(
      fc.property(
        fc.array(block, { maxLength: 4 }),
        any,
        fc.nat({ max: length - 1 }),
        (blocks, other, flipped) => {
          const contains = listOf(...blocks.map(([bits, prefix]) => `${write(bits)}/${prefix}`));
          const near = blocks.map(([bits]) => bits ^ (1n << BigInt(flipped)));
          for (const address of [other, ...near, ...blocks.map(([bits]) => bits)]) {
            const expected = blocks.some(([bits, prefix]) => {
              const rest = BigInt(length - prefix);
              return bits >> rest === address >> rest;
            });
            expect(contains(write(address))).toBe(expected);
          }
        },
      ),
    );
  });

  test("has single addresses, and knows them in every notation", () => {
    const contains = listOf("203.0.113.7", "2001:db8::7", "fe80::1%eth0");
    const inside = ["203.0.113.7", "::ffff:203.0.113.7", "::ffff:cb00:7107", "2001:DB8:0::0:7"];
    for (const address of [...inside, "fe80::1", "fe80::1%eth1"])
      expect([address, contains(address)]).toEqual([address, true]);
    for (const address of ["203.0.113.8", "::cb00:7107", "2001:db8::8", "", "example.com", "1.2.3"])
      expect([address, contains(address)]).toEqual([address, false]);
  });

  test.each(["", "example.com", "1.2.3.4/33", "::/129", "1.2.3.4/-1", "1.2.3.4/", "1.2.3/8"])(
    "does not accept %p",
    (entry) => {
      expect(() => listOf("192.0.2.1", entry)).toThrow(`"${entry}" is no address`);
    },
  );
});
