/**
 * `bun run build`: builds the executable, the dashboard's files, and, unless `--only-binaries` is
 * given, Debian packages and a tarball with their checksums. `--revision N` is the packages' Debian
 * revision, 1 by default.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { version } from "../shared/version.ts";
import { buildExecutable } from "./build-executable.ts";
import { createManPage } from "./packages/man-page.ts";
import { buildPackages } from "./packages/packages.ts";
import { run } from "./packages/run.ts";

const ROOT = join(import.meta.dir, "..");
const DIST = join(ROOT, "dist");

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

rmSync(DIST, { recursive: true, force: true });
buildBinaries(join(DIST, "bin"));
run([process.execPath, join(ROOT, "dashboard/build.ts"), join(DIST, "dashboard")], ROOT);
if (!process.argv.includes("--only-binaries")) pack();

/** Builds the executable, with its other names and scripts beside it. */
function buildBinaries(dir: string): void {
  buildExecutable(join(dir, "shorthop"));
  for (const name of LINKS) symlinkSync("shorthop", join(dir, name));
  for (const name of ["shorthop-restart", "shorthop-tls-restart"])
    cpSync(join(ROOT, "deploy/packages", name), join(dir, name));
}

function pack(): void {
  const revision = /^\d+$/.exec(process.argv[process.argv.indexOf("--revision") + 1] ?? "");
  const tree = buildTree();
  const tarball = `${tree}.tar.gz`;
  run(["tar", "--create", "--gzip", "--file", tarball, tree], DIST);
  const packages = buildPackages(DIST, {
    tree: join(DIST, tree),
    version: `${version}-${revision?.[0] ?? "1"}`,
  });
  writeFileSync(join(DIST, "SHA256SUMS"), run(["sha256sum", tarball, ...packages], DIST));
  console.log([tarball, ...packages, "SHA256SUMS"].map((name) => join(DIST, name)).join("\n"));
}

/** Collects what an installation consists of in a folder of its own; returns the folder's name. */
function buildTree(): string {
  const name = `shorthop-${version}-linux-${process.arch}`;
  const folder = join(DIST, name);
  mkdirSync(folder);
  // Links of the executable stay relative.
  const options = { recursive: true, verbatimSymlinks: true };
  for (const built of ["bin", "dashboard"]) cpSync(join(DIST, built), join(folder, built), options);
  for (const path of [...SHIPPED, "docs"])
    cpSync(join(ROOT, path), join(folder, path.replace("deploy/", "")), options);
  for (const file of ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"])
    cpSync(join(ROOT, file), join(folder, file));
  writeFileSync(
    join(folder, "shorthop.1"),
    createManPage(version, (words) => run([join(DIST, "bin/shorthop"), ...words, "--help"], ROOT)),
  );
  const sbom = ["sbom", "--package-lock-only", "--omit=dev", "--sbom-format=cyclonedx"];
  writeFileSync(join(folder, "sbom.cdx.json"), run(["npm", ...sbom], ROOT));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
  writeFileSync(join(folder, "SHA256SUMS"), run(["sha256sum", ...files], folder));
  return name;
}
