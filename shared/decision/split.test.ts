/** Goal: versions get their shares, and a visitor always the same. */
import { describe, expect, test } from "bun:test";

import { createSplit } from "./split.ts";

const VERSIONS = [
  { id: "a", url: "https://example.com/a", weight: 30 },
  { id: "b", url: "https://example.com/b", weight: 1 },
  { id: "c", url: "https://example.com/c", weight: 19 },
];

const VISITORS = 100_000;

const versionOf = (key: number, versions = VERSIONS) => createSplit({ key, versions }, ({ id }) => id);

const addressOf = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;

const allVersions = (key: number, versions = VERSIONS) => {
  const choose = versionOf(key, versions);
  return Array.from({ length: VISITORS }, (_, n) => choose(addressOf(n), "Mozilla/5.0") ?? "own");
};

const shareOf = (versions: readonly string[], id: string) =>
  (100 * versions.filter((version) => version === id).length) / versions.length;

describe("a split", () => {
  test("gives each version its share of 100,000 visitors, within one percentage point", () => {
    for (const key of [0, 1, 0xffff_ffff]) {
      const versions = allVersions(key);
      for (const { id, weight } of [...VERSIONS, { id: "own", weight: 50 }])
        expect(Math.abs(shareOf(versions, id) - weight)).toBeLessThan(1);
    }
  });

  test("gives the same visitor the same version, wherever it is compiled", () => {
    expect(allVersions(7)).toEqual(allVersions(7));
  });

  test.each([
    ["2001:db8:1:2:", true],
    ["::ffff:192.0.2.", false],
  ])("takes the network of an IPv6 address, and not that of a mapped one: %s", (start, isOne) => {
    const choose = versionOf(5);
    const versions = Array.from({ length: 200 }, (_, n) => {
      const host = isOne ? `${n.toString(16)}:cafe:0:1` : String(n);
      return choose(start + host, "Mozilla/5.0") ?? "own";
    });
    expect(new Set(versions).size === 1).toBe(isOne);
    expect(choose("::ffff:192.0.2.7", "Mozilla/5.0")).toBe(choose("192.0.2.7", "Mozilla/5.0"));
  });

  test("of another link, or of another browser at the same address, is independent", () => {
    const [one, other] = [allVersions(1), allVersions(2)];
    const both = one.filter((version, n) => version === "a" && other[n] === "a").length;
    expect(Math.abs((100 * both) / VISITORS - 9)).toBeLessThan(1);
    const choose = versionOf(1);
    const browsers = Array.from(
      { length: VISITORS },
      (_, n) => choose("10.0.0.1", `UA ${n}`) ?? "own",
    );
    expect(Math.abs(shareOf(browsers, "a") - 30)).toBeLessThan(1);
  });

  test("keeps visitors in their versions when the last version grows", () => {
    const before = allVersions(3);
    const after = allVersions(
      3,
      VERSIONS.map((version) => (version.id === "c" ? { ...version, weight: 29 } : version)),
    );
    const moved = before.filter((version, n) => version !== after[n]);
    expect(new Set(moved)).toEqual(new Set(["own"]));
  });
});
