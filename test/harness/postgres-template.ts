/**
 * A database cluster with all migrations applied, made once for each version of what it is made from: copying it takes
 * a tenth of the time of making it.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import type { PostgresInstallation } from "../../deploy/local/postgres-installation.ts";
import { makeOnce } from "../../shared/make-once.ts";

/** Of the cluster's superuser. */
export const PASSWORD = "password of this test";

const ROOT = join(import.meta.dir, "../..");
const MIGRATIONS = join(ROOT, "api/migrations");
const FOLDER = join(ROOT, ".local/test-postgres");

/** Makes the cluster, and calls `keep` with its data directory when its server has ended. */
export type MakeCluster = (keep: (data: string) => void) => Promise<void>;

/** Copies the cluster to where `installation` has its own; the first caller on this machine makes it. */
export async function copyTemplate(
  installation: PostgresInstallation,
  makeCluster: MakeCluster,
): Promise<void> {
  const template = join(FOLDER, versionOf(installation.programs));
  await makeOnce(template, async (unfinished) => {
    // Those of former versions.
    for (const name of readdirSync(FOLDER)) rmSync(join(FOLDER, name), { recursive: true });
    await makeCluster((data) => copy(data, unfinished));
  });
  copy(template, join(installation.home, "data"));
}

/** With its owner: as root, the server runs as another user. */
const copy = (from: string, to: string): void => void execFileSync("cp", ["-a", from, to]);

/** Hash of the server's version, the migrations, and how both are applied. */
function versionOf(programs: string): string {
  const hash = new Bun.CryptoHasher("sha256");
  const files = [
    join(dirname(programs), "package.json"),
    join(ROOT, "deploy/local/postgres.ts"),
    import.meta.path,
    ...readdirSync(MIGRATIONS).map((name) => join(MIGRATIONS, name)),
  ];
  for (const file of files.toSorted()) hash.update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}
