/**
 * `bun run release:apt --key KEY --url URL`: makes a signed apt repository of the packages in
 * `dist`, and writes it to `dist/apt`, for any web server at this URL.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { buildRepository } from "./packages/apt-repository.ts";

const DIST = join(import.meta.dir, "../dist");

const { values } = parseArgs({ options: { key: { type: "string" }, url: { type: "string" } } });
const { key, url } = values;
if (key === undefined || url === undefined) {
  console.error("Usage: bun run release:apt --key KEY --url https://packages.example.com/apt");
  process.exit(2);
}
const packages = readdirSync(DIST).filter((name) => name.endsWith(".deb"));
if (packages.length === 0) throw new Error("There are no packages in dist: bun run build.");
const dir = join(DIST, "apt");
const paths = packages.map((name) => join(DIST, name));
console.log(`${dir}: ${packages.length} packages\n${buildRepository(dir, paths, { key, url })}`);
