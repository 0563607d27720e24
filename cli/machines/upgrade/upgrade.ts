/**
 * `shorthop upgrade FILE…`, in the order of docs/operations.md: running processes are replaced one
 * by one, so that no redirect fails. If the new ones do not become ready, the programs are put
 * back; the schemas stay, as the version before runs on them.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";

import type { Command } from "commander";

import type { Sql } from "../../../api/postgres.ts";
import type { Installation } from "../../installation.ts";
import { Host } from "../host.ts";
import { Units, WORKER } from "../units.ts";
import {
  findChecksums,
  listInstalled,
  readRelease,
  type Release,
  requireLater,
  savePackages,
} from "./packages.ts";

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

/** Runs `grants.sql` of the new version as the owner; its lines that begin with `\` are psql's. */
async function grantPrivileges(installation: Installation): Promise<void> {
  const statements = readFileSync(GRANTS, "utf8").replaceAll(/^\\.*$/gm, "");
  await installation.asOwner().withDatabase((sql) => runGrants(sql, statements));
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
    const release = await readRelease(host, files);
    const installed = await listInstalled(host);
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

/** Runs the statements of `grants.sql`, unless the installation has users of its own. */
async function runGrants(sql: Sql, statements: string): Promise<void> {
  const roles = await sql`
    select from pg_roles where rolname in ('shorthop_api', 'shorthop_worker')`;
  if (roles.length === 2) await sql.unsafe(statements).simple();
}
