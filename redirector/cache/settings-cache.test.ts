/**
 * Goal: what requests for a link cost does not depend on how much it decides by: rules are evaluated
 * as they are stored, and other settings take a bounded part of memory.
 */
import { heapStats } from "bun:jsc";
import { describe, expect, setDefaultTimeout, spyOn, test } from "bun:test";

import {
  type ActiveLink,
  decodeLinkRecord,
  encodeLinkRecord,
} from "../../shared/contracts/link-record.ts";
import type { Condition, RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { CachedFacts } from "../../shared/decision/facts.ts";
import {
  type CachedLink,
  emptyLink,
  readLink,
  sizeOf,
  writeRecord,
} from "../../shared/links-store/record.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { casesOf, longTest } from "../../test/harness/property-runs.ts";
import { LinkCache } from "./link-cache.ts";
import { SettingsCache } from "./settings-cache.ts";

// Thousands of rules are encoded, on a machine that may be busy.
setDefaultTimeout(60_000);

const MIB = 1024 ** 2;

const UUID = "0190a5a2-0000-7000-8000-000000000001";

/** Rules of ten conditions each. */
const rulesOf = (conditionOf: (i: number) => Condition): RedirectSettings => ({
  rules: Array.from({ length: 20 }, (_, rule) => ({
    id: UUID,
    url: `https://example.com/${rule}`,
    conditions: Array.from({ length: 10 }, (__, i) => conditionOf(10 * rule + i)),
  })),
});

function recordOf(version: number, extras: RedirectSettings): ActiveLink {
  const decoded = decodeLinkRecord(encodeLinkRecord({ ...activeLink("abc", version), extras }));
  if (decoded?.state !== "active") throw new Error("The link is not understood.");
  return decoded;
}

/** The link with a version as the link cache has it. */
function linkOf(version: number, extras: RedirectSettings): CachedLink {
  const decoded = recordOf(version, extras);
  const bytes = Buffer.alloc(sizeOf(decoded));
  writeRecord(bytes, 0, decoded, false);
  const link = readLink(bytes, 0, emptyLink());
  if (link === null || link === "taken_down") throw new Error("The link is not active.");
  return link;
}

const valuesOf = (count: number, text: (k: number) => string) =>
  Array.from({ length: count }, (_, k) => text(k));

/** So many links with 200 blocks of 15 addresses each took 150 MiB once they were compiled. */
const HEAVY_LINKS = 300;

const factsOf = (address: string) =>
  new CachedFacts({
    now: () => 0,
    address: () => address,
    location: () => undefined,
    userAgent: () => "",
    agent: () => undefined,
    language: () => "",
    source: () => "direct",
    query: () => "",
  });

async function heapBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    Bun.gc(true);
    await Bun.sleep(0);
  }
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

describe("rules", () => {
  longTest("are evaluated without parsing or keeping them", async () => {
    const settings = new SettingsCache();
    const links = Array.from({ length: casesOf(HEAVY_LINKS) }, (_, version) => {
      const addressesOf = (i: number) => valuesOf(15, (k) => `10.${version % 256}.${i}.${k}`);
      return linkOf(
        version,
        rulesOf((i) => ({ type: "ip", in: addressesOf(i) })),
      );
    });
    const facts = factsOf("203.0.113.1");
    const before = await heapBytes();
    using parse = spyOn(JSON, "parse");
    const decided = links.map((link) => [settings.get(link), link.rules?.choose(facts)]);
    expect(parse).not.toHaveBeenCalled();
    expect(decided).toHaveLength(links.length);
    expect((await heapBytes()) - before).toBeLessThan(4 * MIB);
    // They are in use until here.
    expect(links.every(({ rules }) => rules !== null)).toBe(true);
  });
});

const settingsTo = (path: string) => ({ expired_url: `https://example.com/${path}` });

const longUrl = (i: number): string => `https://example.com/${i}/`.padEnd(5_000, "a");

describe("settings", () => {
  test("of thousands of ordinary links are all kept", () => {
    const settings = new SettingsCache();
    const links = Array.from({ length: 5_000 }, (_, version) =>
      linkOf(version, { expired_url: `https://example.com/${version}` }),
    );
    const parsed = links.map((link) => settings.get(link));
    expect(links.every((link, i) => settings.get(link) === parsed[i])).toBe(true);
  });

  test("of a version that returns with others are those, also where they are in the place of the former", () => {
    const settings = new SettingsCache();
    const cache = new LinkCache(MIB);
    const find = () => {
      const link = cache.find("", "abc");
      if (link === null || link === undefined || link === "taken_down") throw new Error("No link.");
      return settings.get(link)?.settings;
    };
    cache.put(recordOf(1, settingsTo("a")));
    expect(find()).toEqual(settingsTo("a"));
    // As when another store replaces the host's.
    cache.clear();
    for (const path of ["b", "c"]) {
      cache.put(recordOf(1, settingsTo(path)));
      expect(find()).toEqual(settingsTo(path));
    }
  });

  longTest("as long as they may be take a bounded part of memory", async () => {
    const settings = new SettingsCache();
    const before = await heapBytes();
    for (let version = 0; version < 2_500; version++) {
      const arms = valuesOf(10, (i) => longUrl(10 * version + i));
      const split = { key: 1, arms: arms.map((url) => ({ id: UUID, url, weight: 10 })) };
      settings.get(linkOf(version, { split }));
    }
    expect((await heapBytes()) - before).toBeLessThan(64 * MIB);
    expect(settings.get(linkOf(0, { confirm: true }))?.settings).toEqual({ confirm: true });
  });
});
