/**
 * A database cluster with all migrations applied, made once for each version of what it is made
 * from: copying it takes a tenth of the time of making it.
 */
import { join } from "node:path";

import type { PostgresInstallation } from "../../deploy/local/postgres.ts";
import { hashFiles } from "../../shared/make-once.ts";
import { copyFiles, makeTemplate } from "./templates.ts";

/** Of the cluster's superuser. */
export const PASSWORD = "password of this test";

const ROOT = join(import.meta.dir, "../..");

/** What the cluster is made from, and by. */
const SOURCES = [
  "package-lock.json",
  "api/migrations/*",
  "deploy/local/postgres.ts",
  "test/harness/postgres*.ts",
];

/** Makes the cluster, and calls `keep` with its data directory when its server has ended. */
export type MakeCluster = (keep: (data: string) => void) => Promise<void>;

/**
 * Copies the cluster to where `installation` has its own; the first caller on this machine makes
 * it.
 */
export async function copyTemplate(
  installation: PostgresInstallation,
  makeCluster: MakeCluster,
): Promise<void> {
  const template = join(ROOT, ".local/test-postgres", hashFiles(ROOT, SOURCES));
  await makeTemplate(template, (unfinished) => makeCluster((data) => copyFiles(data, unfinished)));
  copyFiles(template, join(installation.home, "data"));
}
