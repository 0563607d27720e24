/**
 * The steps of an upgrade, in the order of docs/operations.md: running processes are replaced one
 * by one, so that no redirect fails. If the new ones do not become ready, the programs are put
 * back; the schemas stay, as the version before runs on them.
 */
import { existsSync } from "node:fs";

import {
  findChecksums,
  listInstalled,
  readRelease,
  requireLater,
  savePackages,
} from "./packages.ts";
import { listRunning, WORKER } from "./services.ts";
import type { System } from "./system.ts";

/** Where the packages are kept that an upgrade replaces. */
const SAVED_DIR = "/var/cache/shorthop/before-upgrade";

const SHORTHOP = "/usr/bin/shorthop";
const APT = ["apt-get", "install", "--yes", "-o", "Dpkg::Options::=--force-confold"];

export type UpgradeDeps = {
  system: System;
  /** Whether this host has `migrate.env`. */
  migrates: boolean;
  backup: boolean;
  savedDir?: string;
  /** Gives the roles of the processes their rights on new tables. */
  grant: () => Promise<void>;
  waitUntilReady: (units: readonly string[]) => Promise<void>;
  say: (line: string) => void;
};

export async function upgrade(files: readonly string[], deps: UpgradeDeps): Promise<void> {
  const { system, say, savedDir = SAVED_DIR } = deps;
  const sums = findChecksums(files);
  if (sums !== undefined)
    await system.run([
      "sh",
      "-c",
      'cd "$1" && sha256sum --check --ignore-missing --quiet SHA256SUMS',
      "sh",
      sums,
    ]);
  const release = await readRelease(system, files);
  const installed = await listInstalled(system);
  const before = installed.find(({ name }) => name === release.base.name);
  await requireLater(system, before?.version ?? "", release.version);
  const units = await listRunning(system);
  say(`From ${before?.version} to ${release.version}; running: ${units.join(", ") || "nothing"}.`);
  await deps.waitUntilReady(units);
  if (deps.migrates && deps.backup) {
    say("Backup:");
    await system.run([SHORTHOP, "backup"]);
  }
  const saved = await savePackages(system, installed, savedDir);
  try {
    await replace(release, units, deps);
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\nPutting the programs back:`);
    await putBack(saved, units, deps);
    throw new Error(
      `The upgrade to ${release.version} failed; ${before?.version} runs again. Schemas stay as they are.`,
      { cause: error },
    );
  }
  say(`${release.version} runs.`);
}

/** Installs the executable, migrates, and then replaces what runs. */
async function replace(
  { base, others }: Awaited<ReturnType<typeof readRelease>>,
  units: readonly string[],
  { system, migrates, grant, waitUntilReady, say }: UpgradeDeps,
): Promise<void> {
  // Clicks wait in JetStream meanwhile.
  if (units.includes(WORKER)) await system.run(["systemctl", "stop", WORKER]);
  await system.run([...APT, base.path]);
  if (migrates) {
    await system.run([SHORTHOP, "migrate"]);
    await grant();
  }
  // Each package restarts its units, one after the other.
  if (others.length > 0) await system.run([...APT, ...others.map(({ path }) => path)]);
  if (units.includes(WORKER)) await system.run(["systemctl", "start", WORKER]);
  say("Waiting until all processes are ready.");
  await waitUntilReady(units);
}

async function putBack(
  saved: readonly string[],
  units: readonly string[],
  { system, waitUntilReady }: UpgradeDeps,
): Promise<void> {
  if (units.includes(WORKER)) await system.run(["systemctl", "stop", WORKER]);
  const packages = saved.filter((path) => existsSync(path));
  await system.run([...APT, "--allow-downgrades", ...packages]);
  // What did not start is not replaced with what runs.
  for (const unit of units) await system.run(["systemctl", "start", unit]);
  await waitUntilReady(units);
}
