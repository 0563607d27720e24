/**
 * `bun run build`: builds the executable, the dashboard's files with the packed client beside them,
 * and, unless `--only-binaries` is given, Debian packages, a tarball, the documentation site and
 * all clients, with their checksums. `--revision N` is the packages' Debian revision, 1 by default.
 * `--arch amd64|arm64` builds for another architecture, `--arch all` for both. Files have the time
 * of the commit, so that a commit has the same bytes in each build.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { formatUuid } from "../shared/ids.ts";
import { CLIENT_FILE, version } from "../shared/version.ts";
import { buildExecutable } from "./build-executable.ts";
import { buildSite } from "./docs-site/build.ts";
import { packClient, packClients } from "./pack-clients.ts";
import {
  type Architecture,
  ARCHITECTURES,
  findArchitecture,
  findRuntime,
} from "./packages/architectures.ts";
import { manPage } from "./packages/man-page.ts";
import { buildPackages } from "./packages/packages.ts";
import { archive, readCommitTime, run } from "./packages/run.ts";

const ROOT = join(import.meta.dir, "..");
const DIST = join(ROOT, "dist");
const CLIENTS = "clients";

/** Names of the executable under which it runs a process. */
const LINKS = ["shorthop-api", "shorthop-redirector", "shorthop-worker"];

const SHIPPED = [
  "deploy/systemd",
  "deploy/postgres",
  "deploy/nats",
  "deploy/clickhouse",
  "deploy/caddy",
  "deploy/certbot",
  "deploy/haproxy",
  "deploy/monitoring",
];

/** In a bill of materials. */
const SERIAL_NUMBER = /"serialNumber": "[^"]*"/;

const { values: options } = parseArgs({
  options: {
    "only-binaries": { type: "boolean", default: false },
    revision: { type: "string", default: "1" },
    arch: { type: "string", default: process.arch },
  },
});
if (!/^\d+$/.test(options.revision)) throw new Error("--revision must be a number.");

/** In seconds, under the name by which programs that build know it (reproducible-builds.org). */
const SOURCE_DATE = process.env["SOURCE_DATE_EPOCH"] ?? readCommitTime(ROOT);
process.env["SOURCE_DATE_EPOCH"] = SOURCE_DATE;

rmSync(DIST, { recursive: true, force: true });
run([process.execPath, join(ROOT, "dashboard/build.ts"), join(DIST, "dashboard")], ROOT);
await packClient(join(DIST, "dashboard", CLIENT_FILE));
await buildBinaries(join(DIST, "bin"), findArchitecture());
if (!options["only-binaries"]) await pack();

/** Builds the executable, with its other names and scripts beside it. */
async function buildBinaries(dir: string, architecture: Architecture): Promise<void> {
  const runtime = await findRuntime(architecture);
  buildExecutable(join(dir, "shorthop"), architecture.name === process.arch ? {} : { runtime });
  for (const name of LINKS) symlinkSync("shorthop", join(dir, name));
  for (const name of ["shorthop-restart", "shorthop-tls-restart"])
    cpSync(join(ROOT, "deploy/packages", name), join(dir, name));
}

async function pack(): Promise<void> {
  const architectures = options.arch === "all" ? ARCHITECTURES : [findArchitecture(options.arch)];
  const files: string[] = [];
  for (const architecture of architectures) {
    const tree = await buildTree(architecture);
    const tarball = archive(tree, DIST, SOURCE_DATE);
    const packages = buildPackages(DIST, {
      tree: join(DIST, tree),
      version: `${version}-${options.revision}`,
      architecture: architecture.debian,
      date: new Date(Number(SOURCE_DATE) * 1_000),
    });
    files.push(tarball, ...packages);
  }
  if (await buildSite()) files.push(archive("docs", DIST, SOURCE_DATE, `shorthop-${version}-docs`));
  // Among themselves: the source archive of Python has the product's name.
  mkdirSync(join(DIST, CLIENTS));
  const clients = await packClients(join(DIST, CLIENTS), SOURCE_DATE);
  files.push(...clients.map((name) => join(CLIENTS, name)));
  writeFileSync(join(DIST, "SHA256SUMS"), run(["sha256sum", ...files], DIST));
  console.log([...files, "SHA256SUMS"].map((name) => join(DIST, name)).join("\n"));
}

/** Collects what an installation consists of in a folder of its own; returns the folder's name. */
async function buildTree(architecture: Architecture): Promise<string> {
  const name = `shorthop-${version}-linux-${architecture.name}`;
  const folder = join(DIST, name);
  mkdirSync(folder);
  // Links of the executable stay relative.
  const copying = { recursive: true, verbatimSymlinks: true };
  if (architecture.name === process.arch) cpSync(join(DIST, "bin"), join(folder, "bin"), copying);
  else await buildBinaries(join(folder, "bin"), architecture);
  cpSync(join(DIST, "dashboard"), join(folder, "dashboard"), copying);
  for (const path of [...SHIPPED, "docs"])
    cpSync(join(ROOT, path), join(folder, path.replace("deploy/", "")), copying);
  for (const file of ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"])
    cpSync(join(ROOT, file), join(folder, file));
  writeFileSync(
    join(folder, "shorthop.1"),
    manPage(version, (words) => run([join(DIST, "bin/shorthop"), ...words, "--help"], ROOT)),
  );
  const sbom = ["sbom", "--package-lock-only", "--omit=dev", "--sbom-format=cyclonedx"];
  writeFileSync(join(folder, "sbom.cdx.json"), atSourceDate(run(["npm", ...sbom], ROOT)));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
  writeFileSync(join(folder, "SHA256SUMS"), run(["sha256sum", ...files], folder));
  return name;
}

/** A bill of materials with the time of the commit, and a serial number of its text. */
function atSourceDate(sbom: string): string {
  const timestamp = new Date(Number(SOURCE_DATE) * 1_000).toISOString();
  const text = sbom
    .replace(/"timestamp": "[^"]*"/, `"timestamp": "${timestamp}"`)
    // npm calls the product like the folder of the sources.
    .replace(`"name": "${basename(ROOT)}"`, '"name": "shorthop"');
  const digits = createHash("sha256").update(text.replace(SERIAL_NUMBER, "")).digest("hex");
  const uuid = formatUuid(digits.slice(0, 32));
  return text.replace(SERIAL_NUMBER, `"serialNumber": "urn:uuid:${uuid}"`);
}
