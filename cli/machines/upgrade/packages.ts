/** The packages of an upgrade, and those that it replaces. */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { Host } from "../host.ts";

/** The package of the executable, which migrates before the processes are replaced. */
const BASE = "shorthop";

export type Package = { name: string; version: string; path: string };

/** The files of the base package and of the others. */
export type Release = { version: string; base: Package; others: Package[] };

/** Reads a release. Throws unless it is one version, for this machine, of all that is installed. */
export async function readRelease(host: Host, files: readonly string[]): Promise<Release> {
  const architecture = (await host.read(["dpkg", "--print-architecture"])).trim();
  const packages: Package[] = [];
  for (const file of files) {
    // A name without a slash would mean a package of the repositories to apt-get.
    const path = resolve(file);
    const fields = "--showformat=${Package}\t${Version}\t${Architecture}";
    const shown = (await host.read(["dpkg-deb", "--show", fields, path])).split("\t");
    const [name = "", version = "", own] = shown;
    if (name !== BASE && !name.startsWith(`${BASE}-`))
      throw new Error(`${file} is not a package of Shorthop.`);
    if (own !== architecture)
      throw new Error(`${file} is for ${own}, this machine is ${architecture}.`);
    packages.push({ name, version, path });
  }
  const [base, second] = packages.filter(({ name }) => name === BASE);
  if (base === undefined || second !== undefined)
    throw new Error(`Name the file of the package ${BASE} once, and those of the others.`);
  const { version } = base;
  if (packages.some((one) => one.version !== version))
    throw new Error(
      `The files are of several versions: ${packages.map((one) => one.version).join(", ")}.`,
    );
  const installed = await listInstalled(host);
  const missing = installed.filter((one) => !packages.some(({ name }) => name === one.name));
  if (missing.length > 0)
    throw new Error(
      `The release lacks installed packages: ${missing.map(({ name }) => name).join(", ")}.`,
    );
  // What is not installed stays so.
  const others = packages.filter(
    ({ name }) => name !== BASE && installed.some((one) => one.name === name),
  );
  return { version, base, others };
}

/** Installed packages and their versions. */
export async function listInstalled(host: Host): Promise<Omit<Package, "path">[]> {
  const format = "${db:Status-Abbrev}\t${Package}\t${Version}\n";
  const lines = await host.read(["dpkg-query", "--show", `--showformat=${format}`, `${BASE}*`]);
  return lines
    .split("\n")
    .map((line) => line.split("\t"))
    .flatMap(([status = "", name = "", version = ""]) =>
      status.startsWith("ii") ? [{ name, version }] : [],
    );
}

/** Throws unless a version is later than the one that is installed. */
export async function requireLater(host: Host, installed: string, version: string): Promise<void> {
  await host.read(["dpkg", "--compare-versions", version, "gt", installed]).catch(() => {
    throw new Error(
      `${version} is not later than ${installed}, which is installed. To go back, see "Rolling back" in docs/operations.md.`,
    );
  });
}

const DPKG_INFO = "/var/lib/dpkg/info";
const SCRIPTS = ["preinst", "postinst", "prerm", "postrm", "conffiles", "triggers"];

/** Builds the installed packages again into `dir`, for an upgrade that fails. Returns files. */
export async function savePackages(
  host: Host,
  installed: readonly Omit<Package, "path">[],
  dir: string,
): Promise<string[]> {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const saved: string[] = [];
  for (const { name, version } of installed) {
    const root = join(dir, name);
    const listed = (await host.read(["dpkg-query", "--listfiles", name])).split("\n");
    for (const path of listed.filter((one) => one.startsWith("/")))
      copyEntry(path, join(root, path));
    const control = join(root, "DEBIAN");
    mkdirSync(control, { recursive: true, mode: 0o755 });
    const status = await host.read(["dpkg-query", "--status", name]);
    writeFileSync(join(control, "control"), `${status.replaceAll(ADDED_FIELDS, "").trimEnd()}\n`);
    for (const script of SCRIPTS.filter((one) => existsSync(join(DPKG_INFO, `${name}.${one}`))))
      cpSync(join(DPKG_INFO, `${name}.${script}`), join(control, script));
    keepConffiles(root);
    const path = join(dir, `${name}_${version}.deb`);
    await host.read(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", root, path]);
    rmSync(root, { recursive: true });
    saved.push(path);
  }
  return saved;
}

/** Keeps only those that exist: an operator may have deleted one. */
function keepConffiles(root: string): void {
  const path = join(root, "DEBIAN/conffiles");
  if (!existsSync(path)) return;
  const listed = readFileSync(path, "utf8").split("\n");
  const present = listed.filter((line) => line !== "" && existsSync(join(root, line)));
  writeFileSync(path, present.map((line) => `${line}\n`).join(""));
}

function copyEntry(from: string, to: string): void {
  const entry = lstatSync(from, { throwIfNoEntry: false });
  if (entry === undefined) return;
  if (entry.isDirectory()) mkdirSync(to, { recursive: true, mode: entry.mode & 0o7777 });
  else {
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to, { verbatimSymlinks: true, preserveTimestamps: true });
  }
}

/** What dpkg adds to the control file of a package; further lines of a field begin with a space. */
const ADDED_FIELDS = /^(?:Status|Conffiles|Config-Version):.*\n(?: .*\n)*/gm;

/** Whether `SHA256SUMS` lies beside the files. */
export const findChecksums = (files: readonly string[]): string | undefined =>
  [...new Set(files.map((file) => dirname(resolve(file))))].find((dir) =>
    readdirSync(dir).includes("SHA256SUMS"),
  );
