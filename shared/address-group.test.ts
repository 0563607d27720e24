/** Goal: a client with many addresses gets no higher rate limit than a client with one. */
import { describe, expect, test } from "bun:test";
import { isIP } from "node:net";

import fc from "fast-check";

import { addressGroups } from "./address-group.ts";

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
