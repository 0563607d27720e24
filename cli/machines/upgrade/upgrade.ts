/**
 * `shorthop upgrade FILE…`, in the order of docs/operations.md: running processes are replaced one
 * by one, so that no redirect fails. If the new ones do not become ready, the programs are put
 * back; the schemas stay, as the version before runs on them.
 */
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
import { basename, dirname, join, resolve } from "node:path";

import type { Command } from "commander";

import type { Installation } from "../../installation.ts";
import { hasProcessRoles } from "../backup/postgres.ts";
import { Host, Units, WORKER } from "../host.ts";

const GRANTS = "/usr/share/shorthop/postgres/grants.sql";

/** Where the packages are kept that an upgrade replaces. */
const SAVED_DIR = "/var/cache/shorthop/before-upgrade";

const SHORTHOP = "/usr/bin/shorthop";
const APT = ["apt-get", "install", "--yes", "-o", "Dpkg::Options::=--force-confold"];

export function addUpgradeCommand(program: Command, installation: Installation): void {
  program
    .command("upgrade")
    .summary("Upgrade this host to the packages of a release, without a failed redirect")
    .description(
      "Upgrade this host to the packages of a release: checks them, makes a backup, migrates, and replaces running " +
        "processes one by one. If the new ones do not become ready, the programs are put back. With several hosts, stop " +
        "all workers first, and begin on the host with migrate.env",
    )
    .argument("<files...>", "the release's .deb files")
    .option("--no-backup", "without a backup before")
    .action(async (files: string[], { backup }: { backup: boolean }) => {
      const host = new Host(installation.env);
      const grant = (): Promise<void> => grantPrivileges(installation);
      const schemas = installation.has("migrate") ? { backup, grant } : undefined;
      const upgrade = new Upgrade(host, new Units(host, installation), schemas);
      await upgrade.run(files, console.log);
      const names = files.map((file) => basename(file));
      await installation.asOwner().recordCommand("upgrade", { files: names });
    });
}

/** Runs `grants.sql` of the new version as the owner, unless the installation has other users. */
async function grantPrivileges(installation: Installation): Promise<void> {
  // Lines that begin with a backslash are commands of psql.
  const statements = readFileSync(GRANTS, "utf8").replaceAll(/^\\.*$/gm, "");
  await installation.asOwner().withDatabase(async (sql) => {
    if (await hasProcessRoles(sql)) await sql.unsafe(statements).simple();
  });
}

/** What the host with `migrate.env` does for the schemas. */
type Schemas = {
  /** Whether a backup is made before. */
  backup: boolean;
  /** Gives the roles of the processes their rights on new tables. */
  grant: () => Promise<void>;
};

export class Upgrade {
  readonly #host: Host;
  readonly #units: Units;
  readonly #schemas: Schemas | undefined;
  readonly #savedDir: string;

  constructor(host: Host, units: Units, schemas: Schemas | undefined, savedDir = SAVED_DIR) {
    this.#host = host;
    this.#units = units;
    this.#schemas = schemas;
    this.#savedDir = savedDir;
  }

  /** Upgrades to the packages in these files. Throws when the version before runs again. */
  async run(files: readonly string[], say: (line: string) => void): Promise<void> {
    const host = this.#host;
    await this.#requireChecksums(files);
    const installed = await listInstalled(host);
    const release = await readRelease(host, files, installed);
    const before = installed.find(({ name }) => name === release.base.name);
    await requireLater(host, before?.version ?? "", release.version);
    const running = await this.#units.listRunning();
    say(
      `From ${before?.version} to ${release.version}; running: ${running.join(", ") || "nothing"}.`,
    );
    await this.#units.waitUntilReady(running);
    if (this.#schemas?.backup === true) {
      say("Backup:");
      await host.show([SHORTHOP, "backup"]);
    }
    const saved = await savePackages(host, installed, this.#savedDir);
    try {
      await this.#replace(release, running);
      say("Waiting until all processes are ready.");
      await this.#units.waitUntilReady(running);
    } catch (error) {
      say(`${error instanceof Error ? error.message : String(error)}\nPutting the programs back:`);
      await this.#putBack(saved, running);
      throw new Error(
        `The upgrade to ${release.version} failed; ${before?.version} runs again. Schemas stay as they are.`,
        { cause: error },
      );
    }
    say(`${release.version} runs.`);
  }

  /** Compares the files with the `SHA256SUMS` beside them, if there is one. */
  async #requireChecksums(files: readonly string[]): Promise<void> {
    const dir = findChecksums(files);
    if (dir === undefined) return;
    const check = 'cd "$1" && sha256sum --check --ignore-missing --quiet SHA256SUMS';
    await this.#host.show(["sh", "-c", check, "sh", dir]);
  }

  /** Installs the executable, migrates, and then replaces what runs. */
  async #replace({ base, others }: Release, running: readonly string[]): Promise<void> {
    const host = this.#host;
    // Clicks wait in JetStream meanwhile.
    if (running.includes(WORKER)) await host.show(["systemctl", "stop", WORKER]);
    await host.show([...APT, base.path]);
    if (this.#schemas !== undefined) {
      await host.show([SHORTHOP, "migrate"]);
      await this.#schemas.grant();
    }
    // Each package restarts its units, one after the other.
    if (others.length > 0) await host.show([...APT, ...others.map(({ path }) => path)]);
    if (running.includes(WORKER)) await host.show(["systemctl", "start", WORKER]);
  }

  async #putBack(saved: readonly string[], running: readonly string[]): Promise<void> {
    const host = this.#host;
    if (running.includes(WORKER)) await host.show(["systemctl", "stop", WORKER]);
    const packages = saved.filter((path) => existsSync(path));
    await host.show([...APT, "--allow-downgrades", ...packages]);
    // What did not start is not replaced with what runs.
    for (const unit of running) await host.show(["systemctl", "start", unit]);
    await this.#units.waitUntilReady(running);
  }
}

/** The package of the executable, which migrates before the processes are replaced. */
const BASE = "shorthop";

type Installed = { name: string; version: string };
type Package = Installed & { path: string };

/** The files of the base package and of the others. */
type Release = { version: string; base: Package; others: Package[] };

/** Reads a release. Throws unless it is one version, for this machine, of all that is installed. */
async function readRelease(
  host: Host,
  files: readonly string[],
  installed: readonly Installed[],
): Promise<Release> {
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
async function listInstalled(host: Host): Promise<Installed[]> {
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
async function requireLater(host: Host, installed: string, version: string): Promise<void> {
  await host.read(["dpkg", "--compare-versions", version, "gt", installed]).catch(() => {
    throw new Error(
      `${version} is not later than ${installed}, which is installed. To go back, see "Rolling back" in docs/operations.md.`,
    );
  });
}

const DPKG_INFO = "/var/lib/dpkg/info";
const SCRIPTS = ["preinst", "postinst", "prerm", "postrm", "conffiles", "triggers"];

/** Builds the installed packages again into `dir`, for an upgrade that fails. Returns files. */
async function savePackages(
  host: Host,
  installed: readonly Installed[],
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

/** Fields that dpkg adds to a control file; further lines of a field begin with a space. */
const ADDED_FIELDS = /^(?:Status|Conffiles|Config-Version):.*\n(?: .*\n)*/gm;

/** The folder of a file that has `SHA256SUMS`; undefined without one. */
const findChecksums = (files: readonly string[]): string | undefined =>
  [...new Set(files.map((file) => dirname(resolve(file))))].find((dir) =>
    readdirSync(dir).includes("SHA256SUMS"),
  );
