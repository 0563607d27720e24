/**
 * `bun run release:apt --key KEY --url URL`: makes a signed apt repository of the packages in
 * `dist`, and writes it to `dist/apt`, as files for any web server at this URL: apt-secure(8),
 * sources.list(5), https://wiki.debian.org/DebianRepository/Format.
 */
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

import { ARCHITECTURES } from "./architectures.ts";
import { run } from "./run.ts";

const SUITE = "stable";
const COMPONENT = "main";
const DIST = `dists/${SUITE}`;
const POOL = `pool/${COMPONENT}`;

/**
 * Writes the repository of these packages into `dir`, and signs it with a key of GnuPG. Returns the
 * line that names it as a source, for `/etc/apt/sources.list.d`, of this URL.
 */
export function buildRepository(
  dir: string,
  packages: readonly string[],
  { key, url, date = new Date() }: { key: string; url: string; date?: Date },
): string {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(join(dir, POOL), { recursive: true });
  for (const path of packages) cpSync(path, join(dir, POOL, basename(path)));
  const entries = packages.map((path) => describePackage(path));
  const indexes = ARCHITECTURES.flatMap(({ debian }) => {
    const text = entries
      .filter((entry) => entry.split("\n").includes(`Architecture: ${debian}`))
      .join("\n");
    const folder = `${COMPONENT}/binary-${debian}`;
    mkdirSync(join(dir, DIST, folder), { recursive: true });
    writeFileSync(join(dir, DIST, folder, "Packages"), text);
    writeFileSync(join(dir, DIST, folder, "Packages.gz"), gzipSync(text));
    return [`${folder}/Packages`, `${folder}/Packages.gz`];
  });
  writeFileSync(join(dir, DIST, "Release"), describeRelease(join(dir, DIST), indexes, date));
  sign(dir, key);
  return `deb [signed-by=/usr/share/keyrings/shorthop.gpg] ${url} ${SUITE} ${COMPONENT}`;
}

/** The paragraph of a package in the index. */
function describePackage(path: string): string {
  const control = run(["dpkg-deb", "--field", path], "/").trimEnd();
  const content = readFileSync(path);
  const [package_ = "", ...others] = control.split("\n");
  return [
    package_,
    `Filename: ${POOL}/${basename(path)}`,
    `Size: ${content.length}`,
    `SHA256: ${sha256(content)}`,
    ...others,
    "",
  ].join("\n");
}

function describeRelease(dir: string, files: readonly string[], date: Date): string {
  const hashes = files.map((name) => {
    const path = join(dir, name);
    return ` ${sha256(readFileSync(path))} ${statSync(path).size} ${name}`;
  });
  return [
    "Origin: Shorthop",
    "Label: Shorthop",
    `Suite: ${SUITE}`,
    `Codename: ${SUITE}`,
    `Date: ${date.toUTCString()}`,
    `Architectures: ${ARCHITECTURES.map(({ debian }) => debian).join(" ")}`,
    `Components: ${COMPONENT}`,
    "SHA256:",
    ...hashes,
    "",
  ].join("\n");
}

/** Signs the list of hashes, and adds the public key. */
function sign(dir: string, key: string): void {
  const gpg = ["gpg", "--batch", "--yes", "--local-user", key];
  const release = join(dir, DIST, "Release");
  run([...gpg, "--clearsign", "--output", join(dir, DIST, "InRelease"), release], dir);
  run([...gpg, "--armor", "--detach-sign", "--output", `${release}.gpg`, release], dir);
  run([...gpg, "--output", join(dir, "shorthop.gpg"), "--export", key], dir);
}

const sha256 = (content: Buffer): string =>
  new Bun.CryptoHasher("sha256").update(content).digest("hex");

/** Makes the repository of the packages in `dist`, by the arguments of the command line. */
function releasePackages(): void {
  const { values } = parseArgs({ options: { key: { type: "string" }, url: { type: "string" } } });
  const { key, url } = values;
  if (key === undefined || url === undefined) {
    console.error("Usage: bun run release:apt --key KEY --url https://packages.example.com/apt");
    process.exit(2);
  }
  const dist = join(import.meta.dir, "../../dist");
  const packages = readdirSync(dist).filter((name) => name.endsWith(".deb"));
  if (packages.length === 0) throw new Error("There are no packages in dist: bun run build.");
  const dir = join(dist, "apt");
  const paths = packages.map((name) => join(dist, name));
  console.log(`${dir}: ${packages.length} packages\n${buildRepository(dir, paths, { key, url })}`);
}

if (import.meta.main) releasePackages();
