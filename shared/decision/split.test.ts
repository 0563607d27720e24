/** Goal: arms get their shares, and a visitor always the same. */
import { describe, expect, test } from "bun:test";

import { createSplit } from "./split.ts";

const ARMS = [
  { id: "a", url: "https://example.com/a", weight: 30 },
  { id: "b", url: "https://example.com/b", weight: 1 },
  { id: "c", url: "https://example.com/c", weight: 19 },
];

const VISITORS = 100_000;

const armOf = (key: number, arms = ARMS) => createSplit({ key, arms }, ({ id }) => id);

const addressOf = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;

const allArms = (key: number, arms = ARMS) => {
  const choose = armOf(key, arms);
  return Array.from({ length: VISITORS }, (_, n) => choose(addressOf(n), "Mozilla/5.0") ?? "own");
};

const shareOf = (arms: readonly string[], id: string) =>
  (100 * arms.filter((arm) => arm === id).length) / arms.length;

describe("a split", () => {
  test("gives each arm its share of 100,000 visitors, within one percentage point", () => {
    for (const key of [0, 1, 0xffff_ffff]) {
      const arms = allArms(key);
      for (const { id, weight } of [...ARMS, { id: "own", weight: 50 }])
        expect(Math.abs(shareOf(arms, id) - weight)).toBeLessThan(1);
    }
  });

  test("gives the same visitor the same arm, wherever it is compiled", () => {
    expect(allArms(7)).toEqual(allArms(7));
  });

  test.each([
    ["2001:db8:1:2:", true],
    ["::ffff:192.0.2.", false],
  ])("takes the network of an IPv6 address, and not that of a mapped one: %s", (start, isOne) => {
    const choose = armOf(5);
    const arms = Array.from({ length: 200 }, (_, n) => {
      const host = isOne ? `${n.toString(16)}:cafe:0:1` : String(n);
      return choose(start + host, "Mozilla/5.0") ?? "own";
    });
    expect(new Set(arms).size === 1).toBe(isOne);
    expect(choose("::ffff:192.0.2.7", "Mozilla/5.0")).toBe(choose("192.0.2.7", "Mozilla/5.0"));
  });

  test("of another link, or of another browser at the same address, is independent", () => {
    const [one, other] = [allArms(1), allArms(2)];
    const both = one.filter((arm, n) => arm === "a" && other[n] === "a").length;
    expect(Math.abs((100 * both) / VISITORS - 9)).toBeLessThan(1);
    const choose = armOf(1);
    const browsers = Array.from(
      { length: VISITORS },
      (_, n) => choose("10.0.0.1", `UA ${n}`) ?? "own",
    );
    expect(Math.abs(shareOf(browsers, "a") - 30)).toBeLessThan(1);
  });

  test("keeps visitors in their arms when the last arm grows", () => {
    const before = allArms(3);
    const after = allArms(
      3,
      ARMS.map((arm) => (arm.id === "c" ? { ...arm, weight: 29 } : arm)),
    );
    const moved = before.filter((arm, n) => arm !== after[n]);
    expect(new Set(moved)).toEqual(new Set(["own"]));
  });
});
