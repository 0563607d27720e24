import { describe, expect, test } from "bun:test";
import { isIPv4 } from "node:net";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { createTree, parseIpv4 } from "./mmdb-tree.ts";

describe("an IPv4 address", () => {
  test("is the number of its four parts", () => {
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        const parts = text.split(".").map(Number);
        expect(parseIpv4(text)).toBe(parts.reduce((sum, part) => sum * 256 + part, 0));
      }),
    );
  });

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

/**
 * A tree of networks, each of which has its own record, with nodes of `recordSize` bits for each of
 * their two records. Returns the bytes, the number of nodes, and the record of each network.
 */
function buildTree(
  networks: readonly { address: number; bits: number }[],
  recordSize: number,
  depth: number,
) {
  type Node = [number | Node | undefined, number | Node | undefined];
  const root: Node = [undefined, undefined];
  for (const [i, { address, bits }] of networks.entries()) {
    let node = root;
    const path = [
      ...Array.from({ length: depth }, () => 0),
      ...Array.from({ length: bits }, (_, bit) => (address >>> (31 - bit)) & 1),
    ];
    for (const [at, side] of path.entries()) {
      const child = node[side === 0 ? 0 : 1];
      if (at === path.length - 1) {
        if (child === undefined) node[side === 0 ? 0 : 1] = i;
      } else if (typeof child === "number") break;
      else node = node[side === 0 ? 0 : 1] = child ?? [undefined, undefined];
    }
  }
  const nodes: Node[] = [];
  const visit = (node: Node): void => {
    nodes.push(node);
    for (const child of node) if (Array.isArray(child)) visit(child);
  };
  visit(root);
  const numberOf = (child: number | Node | undefined): number => {
    if (child === undefined) return nodes.length;
    return Array.isArray(child) ? nodes.indexOf(child) : nodes.length + 16 + child;
  };
  const bytes = Buffer.from(
    nodes
      .map((node) =>
        node.map((child) => numberOf(child)).map((n) => n.toString(2).padStart(recordSize, "0")),
      )
      .map(([left = "", right = ""]) =>
        recordSize === 28 ? left.slice(4) + left.slice(0, 4) + right : left + right,
      )
      .join("")
      .match(/.{8}/g)
      ?.map((byte) => Number.parseInt(byte, 2)) ?? [],
  );
  return { bytes, nodeCount: nodes.length };
}

const anyNetworks = fc.array(
  fc.record({
    address: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    bits: fc.integer({ min: 1, max: 32 }),
  }),
  { maxLength: 12 },
);

describe("the tree of a database", () => {
  test.each([
    [24, 4],
    [28, 4],
    [32, 4],
    [24, 6],
    [28, 6],
    [32, 6],
  ])(
    "of %p bits and IPv%p finds the record of the network that an address is in",
    (recordSize, ipVersion) => {
      fc.assert(
        fc.property(anyNetworks, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (networks, other) => {
          // No network within another one: which of them counts would depend on the order.
          const apart = networks.filter(({ address, bits }, i) =>
            networks.every((network, j) => {
              const shared = 32 - Math.min(bits, network.bits);
              return (
                i <= j ||
                Math.floor(address / 2 ** shared) !== Math.floor(network.address / 2 ** shared)
              );
            }),
          );
          const { bytes, nodeCount } = buildTree(apart, recordSize, ipVersion === 6 ? 96 : 0);
          const find = createTree(bytes, { nodeCount, recordSize, ipVersion });
          const expected = (address: number): number | undefined => {
            const found = apart.findIndex((network) => {
              const size = 2 ** (32 - network.bits);
              return Math.floor(network.address / size) === Math.floor(address / size);
            });
            return found < 0 ? undefined : nodeCount + 16 + found;
          };
          for (const address of [other, ...apart.map((network) => network.address)])
            expect(find(address)).toBe(expected(address));
        }),
        { numRuns: 20 },
      );
    },
  );

  test("with records of another size is refused", () => {
    expect(() =>
      createTree(Buffer.alloc(0), { nodeCount: 0, recordSize: 20, ipVersion: 4 }),
    ).toThrow("20 bits");
  });
});
