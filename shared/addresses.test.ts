/**
 * Goal: a client with many addresses gets no higher rate limit than a client with one, and a list
 * contains exactly the addresses of its blocks, in every notation.
 */
import { describe, expect, test } from "bun:test";
import { isIP, isIPv4 } from "node:net";

import fc from "fast-check";

import { casesOf } from "../test/harness/property-runs.ts";
import { addressGroups, AddressList, parseIpv4 } from "./addresses.ts";

const anyWord = fc.oneof(fc.constant(0), fc.nat({ max: 0xffff }));
const words = (count: number) => fc.array(anyWord, { minLength: count, maxLength: count });
const anyIpv4 = fc.ipV4();

/** A network without embedded IPv4 addresses. */
const anyNetwork = words(4).filter(
  ([first, second]) => !(first === 0 || (first === 0x64 && second === 0xff9b)),
);

/** Notations of an address: full, upper case, ending in IPv4, compressed, with a zone. */
const anyForm = fc.constantFrom<(words: readonly number[]) => string>(
  (all) => all.map((word) => word.toString(16)).join(":"),
  (all) => all.map((word) => word.toString(16).toUpperCase().padStart(4, "0")).join(":"),
  (all) => `${hex(all.slice(0, 6))}:${dotted(all.slice(6))}`,
  (all) => new URL(`http://[${hex(all)}]`).hostname.slice(1, -1),
  (all) => `${hex(all)}%eth0`,
);

const hex = (all: readonly number[]): string => all.map((word) => word.toString(16)).join(":");
const dotted = ([high = 0, low = 0]: readonly number[]): string =>
  [high >> 8, high & 255, low >> 8, low & 255].join(".");
const wordsOfIpv4 = (address: string): number[] => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
};

describe("address groups", () => {
  test("all addresses of a /64 are one network, and of a /48 one site, in every notation", () => {
    fc.assert(
      fc.property(
        anyNetwork,
        words(4),
        words(5),
        anyForm,
        anyForm,
        (network, host, other, form, otherForm) => {
          const address = form([...network, ...host]);
          expect(isIP(address)).toBe(6);
          const groups = addressGroups(address);
          expect(addressGroups(otherForm([...network, ...other.slice(1)]))).toEqual(groups);
          expect(addressGroups(otherForm([...network.slice(0, 3), ...other])).site).toBe(
            groups.site,
          );
        },
      ),
    );
  });

  test("addresses of different networks and sites have different groups", () => {
    fc.assert(
      fc.property(anyNetwork, anyNetwork, words(4), anyForm, (one, other, host, form) => {
        const [first, second] = [one, other].map((words) =>
          addressGroups(form([...words, ...host])),
        );
        expect(first?.network === second?.network).toBe(hex(one) === hex(other));
        expect(first?.site === second?.site).toBe(hex(one.slice(0, 3)) === hex(other.slice(0, 3)));
      }),
    );
  });

  test("an IPv4 address has a group of its own, also when embedded in IPv6", () => {
    fc.assert(
      fc.property(
        anyIpv4,
        anyForm,
        fc.constantFrom([0, 0, 0, 0, 0, 0xffff], [0x64, 0xff9b, 0, 0, 0, 0]),
        (address, form, prefix) => {
          const own = { network: address, site: address };
          expect(addressGroups(address)).toEqual(own);
          expect(addressGroups(form([...prefix, ...wordsOfIpv4(address)]))).toEqual(own);
        },
      ),
    );
  });

  test.each([
    ["2001:db8::1", "2001:db8:0:0::/64", "2001:db8:0::/48"],
    ["2001:DB8:0:7:1:2:3:4", "2001:db8:0:7::/64", "2001:db8:0::/48"],
    ["::1", "0:0:0:0::/64", "0:0:0::/48"],
    ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
    ["::ffff:203.0.113.9", "203.0.113.9", "203.0.113.9"],
    ["::ffff:cb00:7109", "203.0.113.9", "203.0.113.9"],
  ])("%s is in network %s and site %s", (address, network, site) => {
    expect(addressGroups(address)).toEqual({ network, site });
  });

  test("texts that are not addresses share one group", () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => isIP(text) === 0),
        (text) => {
          expect(addressGroups(text)).toEqual({ network: "unknown", site: "unknown" });
        },
      ),
    );
  });
});

const listOf = (...entries: string[]) => new AddressList(entries);

const writeIpv6 = (bits: bigint): string =>
  Array.from({ length: 8 }, (_, i) => ((bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(
    ":",
  );

const writeIpv4 = (bits: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 255n)).join(".");

/** Addresses of one family as numbers, of which most share some bits; their length and notation. */
const FAMILIES = [
  { name: "IPv4", length: 32, write: writeIpv4 },
  { name: "IPv6", length: 128, write: writeIpv6 },
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
          const list = listOf(...blocks.map(([bits, prefix]) => `${write(bits)}/${prefix}`));
          const near = blocks.map(([bits]) => bits ^ (1n << BigInt(flipped)));
          for (const address of [other, ...near, ...blocks.map(([bits]) => bits)]) {
            const expected = blocks.some(([bits, prefix]) => {
              const rest = BigInt(length - prefix);
              return bits >> rest === address >> rest;
            });
            expect(list.has(write(address))).toBe(expected);
          }
        },
      ),
    );
  });

  test("has single addresses, and knows them in every notation", () => {
    const list = listOf("203.0.113.7", "2001:db8::7", "fe80::1%eth0");
    const inside = ["203.0.113.7", "::ffff:203.0.113.7", "::ffff:cb00:7107", "2001:DB8:0::0:7"];
    for (const address of [...inside, "fe80::1", "fe80::1%eth1"])
      expect([address, list.has(address)]).toEqual([address, true]);
    for (const address of ["203.0.113.8", "::cb00:7107", "2001:db8::8", "", "example.com", "1.2.3"])
      expect([address, list.has(address)]).toEqual([address, false]);
  });

  test.each(["", "example.com", "1.2.3.4/33", "::/129", "1.2.3.4/-1", "1.2.3.4/", "1.2.3/8"])(
    "does not accept %p",
    (entry) => {
      expect(() => listOf("192.0.2.1", entry)).toThrow(
        `"${entry}" is neither an address nor a CIDR block`,
      );
    },
  );
});

describe("an IPv4 address", () => {
  test("is any text that is one, and no other", () => {
    const anyParts = fc.array(
      fc.oneof(fc.nat({ max: 300 }).map(String), fc.constantFrom("", "01", "a", "-1")),
      {
        minLength: 3,
        maxLength: 5,
      },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.ipV6(),
          anyParts.map((parts) => parts.join(".")),
        ),
        (text) => {
          expect(parseIpv4(text) !== undefined).toBe(isIPv4(text));
        },
      ),
      { numRuns: casesOf(2_000) },
    );
  });
});
