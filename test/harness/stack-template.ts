/** A data directory with applied migrations and the demo account: a stack that starts on a copy of it has none to make. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { prepareInstallation } from "../../deploy/local/postgres-installation.ts";
import { findPrograms } from "../../deploy/local/postgres.ts";
import { hashFiles } from "../../shared/file-hash.ts";
import { makeOnce } from "../../shared/make-once.ts";

const ROOT = join(import.meta.dir, "../..");

/** What writes into a data directory. */
const SOURCES = [
  "{api,worker,redirector,shared}/**/*.{ts,sql}",
  "deploy/local/**/*.ts",
  "package-lock.json",
];

/** Parts of a data directory: neither programs nor what describes a running stack. */
const PARTS = ["secrets.json", "nats", "clickhouse", "journal"];

/** Tests kill processes, not machines, and what a process has written survives that. */
const POSTGRES_SETTINGS = "fsync = off\nfull_page_writes = off\n";

/**
 * Copies the template to `dataDir`. `start` runs a new stack to readiness and stops it; returns its data directory. That
 * happens once per state of the sources.
 */
export async function copyTemplate(dataDir: string, start: () => Promise<string>): Promise<void> {
  const cache = join(ROOT, ".local", "stack-template");
  const template = join(cache, hashFiles(ROOT, SOURCES));
  await makeOnce(template, async (unfinished) => {
    const made = await start();
    for (const old of readdirSync(cache)) rmSync(join(cache, old), { recursive: true });
    mkdirSync(unfinished);
    for (const part of PARTS) copy(join(made, part), join(unfinished, part));
    const postgres = join(unfinished, "postgres");
    copy(realpathSync(join(made, "postgres", "data")), postgres);
    appendFileSync(join(postgres, "postgresql.conf"), POSTGRES_SETTINGS);
  });
  mkdirSync(dataDir, { recursive: true });
  for (const part of PARTS) copy(join(template, part), join(dataDir, part));
  const home = join(dataDir, "postgres");
  const installation = prepareInstallation(await findPrograms(), home, () => undefined);
  copy(join(template, "postgres"), join(installation.home, "data"));
}

/** Copies a file or folder with its owners: PostgreSQL's belong to another user when root runs the stack. */
function copy(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(dirname(to), { recursive: true });
  const { exitCode, stderr } = Bun.spawnSync(["cp", "-a", from, to]);
  if (exitCode !== 0) throw new Error(stderr.toString());
}
