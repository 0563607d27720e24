/** Goal: no client uses up the connections of all others, however many addresses it has. */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { type AddressGroups, addressGroups } from "../../shared/addresses.ts";
import { ConnectionCaps, SITE_CONNECTIONS_FACTOR } from "./open-connections.ts";

const createCaps = (perNetworkMax: number) =>
  new ConnectionCaps(perNetworkMax, (address) => address === "10.0.0.1");

test("every network and every site has exactly its cap, however connections open and close", () => {
  const anyAddress = fc.oneof(
    fc.nat({ max: 2 }).map((n) => `203.0.113.${n}`),
    fc
      .tuple(fc.nat({ max: 1 }), fc.nat({ max: 9 }), fc.nat({ max: 9 }))
      .map(([site, network, host]) => `2001:db8:${site}:${network}::${host}`),
  );
  // More open than close, so that sites reach their caps.
  const anyEvent = fc.record({ address: anyAddress, closing: fc.nat({ max: 3 }), pick: fc.nat() });
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 200, size: "max" }), (events) => {
      const caps = createCaps(2);
      const open: AddressGroups[] = [];
      for (const { address, closing, pick } of events) {
        if (closing === 0 && open.length > 0) {
          for (const groups of open.splice(pick % open.length, 1)) caps.release(groups);
          continue;
        }
        const { network, site } = addressGroups(address);
        const networkCount = open.filter((groups) => groups.network === network).length;
        const siteCount = open.filter((groups) => groups.site === site).length;
        const expected =
          networkCount >= 2
            ? "network"
            : network !== site && siteCount >= 2 * SITE_CONNECTIONS_FACTOR
              ? "site"
              : { network, site };
        const acquired = caps.acquire(address);
        expect(acquired).toEqual(expected);
        if (typeof acquired === "object") open.push(acquired);
      }
    }),
  );
});

test("a proxy has no cap", () => {
  const caps = createCaps(1);
  for (let i = 0; i < 10; i++) expect(caps.acquire("10.0.0.1")).toBeUndefined();
  expect(caps.acquire("203.0.113.1")).toBeObject();
  expect(caps.acquire("203.0.113.1")).toBe("network");
});
