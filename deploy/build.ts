/**
 * `bun run build`: builds a self-contained executable of each process, the dashboard's files, and, unless
 * `--only-binaries` is given, a tarball with systemd units, example configurations, documents, a bill of
 * materials and checksums.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { version } from "../shared/version.ts";

const ROOT = join(import.meta.dir, "..");
const DIST = join(ROOT, "dist");

/** Entry points of each executable; the second one is a worker thread's. */
const EXECUTABLES: Record<string, string[]> = {
  shorthop: ["api/cli/main.ts"],
  "shorthop-api": ["api/main.ts"],
  "shorthop-redirector": ["redirector/main.ts", "redirector/journal/publisher.worker.ts"],
  "shorthop-worker": ["worker/main.ts"],
};

const SHIPPED = [
  "deploy/systemd",
  "deploy/nats",
  "deploy/clickhouse",
  "deploy/caddy",
  "deploy/monitoring",
];

rmSync(DIST, { recursive: true, force: true });
/**
 * Some libraries put more details into their errors unless NODE_ENV is "production". Some read it at build
 * time, which needs the definition; others read it at run time, which needs the banner.
 */
const PRODUCTION = [
  "--define=process.env.NODE_ENV='production'",
  '--banner=process.env["NODE_" + "ENV"] ??= "production";',
];

for (const [name, entries] of Object.entries(EXECUTABLES)) {
  const outfile = join(DIST, "bin", name);
  run([process.execPath, "build", "--compile", ...PRODUCTION, ...entries, "--outfile", outfile]);
}
run([process.execPath, join(ROOT, "dashboard/build.ts"), join(DIST, "dashboard")]);
if (!process.argv.includes("--only-binaries")) pack();

function pack(): void {
  const name = `shorthop-${version}-linux-${process.arch}`;
  const folder = join(DIST, name);
  mkdirSync(folder);
  cpSync(join(DIST, "bin"), join(folder, "bin"), { recursive: true });
  cpSync(join(DIST, "dashboard"), join(folder, "dashboard"), { recursive: true });
  for (const path of SHIPPED) {
    cpSync(join(ROOT, path), join(folder, path.replace("deploy/", "")), { recursive: true });
  }
  cpSync(join(ROOT, "docs"), join(folder, "docs"), { recursive: true });
  for (const file of ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"])
    cpSync(join(ROOT, file), join(folder, file));
  const sbom = run(["npm", "sbom", "--package-lock-only", "--omit=dev", "--sbom-format=cyclonedx"]);
  writeFileSync(join(folder, "sbom.cdx.json"), sbom);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
  const sums = run(["sha256sum", ...files], folder);
  writeFileSync(join(folder, "SHA256SUMS"), sums);
  run(["tar", "--create", "--gzip", "--file", `${folder}.tar.gz`, "--directory", DIST, name]);
  console.log(`${folder}.tar.gz`);
}

/** Runs a command and returns its standard output; throws if it fails. */
function run([command = "", ...args]: string[], cwd = ROOT): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([command, ...args], { cwd });
  if (exitCode !== 0) throw new Error(`${command} ${args.join(" ")}:\n${stderr.toString()}`);
  return stdout.toString();
}
