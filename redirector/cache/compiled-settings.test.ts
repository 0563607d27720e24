/**
 * Goal: links that decide by a lot take a bounded part of a redirector's memory, and decide all the
 * same.
 */
import { heapStats } from "bun:jsc";
import { describe, expect, setDefaultTimeout, test } from "bun:test";

import {
  type ActiveLink,
  decodeLinkRecord,
  encodeLinkRecord,
} from "../../shared/contracts/link-record.ts";
import type { Condition } from "../../shared/contracts/redirect-settings.ts";
import { rememberFacts } from "../../shared/decision/facts.ts";
import {
  type CachedLink,
  emptyLink,
  readLink,
  sizeOf,
  writeRecord,
} from "../../shared/links-store/record.ts";
import { LONG } from "../../test/harness/property-runs.ts";
import { COMPILED_BYTES_MAX, createSettingsCache } from "./compiled-settings.ts";

// Thousands of rules are compiled, on a machine that may be busy.
setDefaultTimeout(240_000);

/** The memory of a cache, of which the estimates of its entries fill three quarters. */
const MEMORY_BYTES_MAX = (COMPILED_BYTES_MAX * 4) / 3;

/** The cache and the links that are too many for it, in the short form of the test. */
const PART = LONG ? 1 : 1 / 6;

const UUID = "0190a5a2-0000-7000-8000-000000000001";

/** The link with a version as the link cache has it, with rules of ten conditions. */
function linkOf(version: number, conditionOf: (i: number) => Condition, rules = 20): CachedLink {
  const record: ActiveLink = {
    state: "active",
    version,
    domain: "",
    alias: "abc",
    link_id: UUID,
    account_id: UUID,
    mode: "live",
    destination: "https://example.com/",
    expires_at: null,
    password_hash: null,
    forward_query: false,
    extras: {
      rules: Array.from({ length: rules }, (_, rule) => ({
        id: UUID,
        url: `https://example.com/${rule}`,
        conditions: Array.from({ length: 10 }, (_, i) => conditionOf(10 * rule + i)),
      })),
    },
  };
  const decoded = decodeLinkRecord(encodeLinkRecord(record));
  if (decoded?.state !== "active") throw new Error("The link is not understood.");
  const bytes = Buffer.alloc(sizeOf(decoded));
  writeRecord(bytes, 0, decoded, false);
  const link = readLink(bytes, 0, emptyLink());
  if (link === null || link === "taken_down") throw new Error("The link is not active.");
  return link;
}

const valuesOf = (count: number, text: (k: number) => string) =>
  Array.from({ length: count }, (_, k) => text(k));

/**
 * Conditions that take much memory for their length, all different, and how many links with them
 * take 150 MiB or more.
 */
const HEAVY: [string, links: number, (version: number, i: number) => Condition][] = [
  [
    "countries",
    400,
    (version, i) => ({
      type: "country",
      in: valuesOf(40, (k) =>
        String.fromCharCode(65 + ((version + k) % 26), 65 + ((i + version + k) % 26)),
      ),
    }),
  ],
  ["one value", 800, (version, i) => ({ type: "query", name: `${version}`, in: [`${i}`] })],
  [
    "short values",
    200,
    (version, i) => ({ type: "query", name: "a", in: valuesOf(20, (k) => `${version}.${i}.${k}`) }),
  ],
  [
    "addresses",
    300,
    (version, i) => ({ type: "ip", in: valuesOf(15, (k) => `10.${version % 256}.${i}.${k}`) }),
  ],
];

const factsOf = (address: string) =>
  rememberFacts({
    now: () => 0,
    address: () => address,
    location: () => undefined,
    userAgent: () => "",
    agent: () => undefined,
    language: () => "",
    source: () => "direct",
    query: () => "",
  }).facts;

async function heapBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    Bun.gc(true);
    await Bun.sleep(0);
  }
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

describe("compiled settings", () => {
  test.each(HEAVY)("of links with %s take 128 MiB at most", async (_name, all, conditionOf) => {
    const settingsOf = createSettingsCache(COMPILED_BYTES_MAX * PART);
    const links = all * PART;
    const before = await heapBytes();
    for (let version = 0; version < links; version++)
      settingsOf(linkOf(version, (i) => conditionOf(version, i)));
    const held = (await heapBytes()) - before;
    // The cache is in use until here.
    expect(settingsOf(linkOf(0, (i) => conditionOf(0, i)))).toBeDefined();
    expect(held).toBeLessThan(MEMORY_BYTES_MAX * PART);
  });

  test("of thousands of ordinary links are all kept", () => {
    const settingsOf = createSettingsCache();
    const links = Array.from({ length: 5_000 }, (_, version) =>
      linkOf(version, () => ({ type: "country", in: ["DE", "AT"] }), 1),
    );
    const compiled = links.map((link) => settingsOf(link));
    expect(links.every((link, i) => settingsOf(link) === compiled[i])).toBe(true);
  });

  test("of a link with more values than can be set now decide as before", () => {
    const link = linkOf(1, (i) => ({
      type: "ip",
      in: valuesOf(15, (k) => `10.0.${i}.${k}`),
      not: i < 190,
    }));
    const leadsTo = (address: string) =>
      createSettingsCache()(link)?.targets.choose(factsOf(address))?.url;
    expect(leadsTo("203.0.113.1")).toBe("https://example.com/0");
    expect(leadsTo("10.0.0.14")).toBe("https://example.com/1");
  });
});
