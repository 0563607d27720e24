/**
 * A data directory with all schemas and the demo account: a stack that starts on a copy of it has
 * none to make.
 */
import { appendFileSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";

import { findPrograms, prepareInstallation } from "../../deploy/local/postgres.ts";
import { hashFiles } from "../../shared/make-once.ts";
import { copyFiles, makeTemplate } from "./templates.ts";

const ROOT = join(import.meta.dir, "../..");

/** What writes into a data directory. */
const SOURCES = [
  "{api,worker,redirector,shared}/**/*.{ts,sql}",
  "deploy/local/**/*.ts",
  "deploy/postgres/*.sql",
  "package-lock.json",
];

/**
 * Parts of a data directory that are copied: neither programs nor what describes a running stack.
 */
const PARTS = ["secrets.json", "nats", "clickhouse", "journal"];

/** Tests kill processes, not machines, and what a process has written survives that. */
const POSTGRES_SETTINGS = "fsync = off\nfull_page_writes = off\n";

/** Makes a new data directory, calls `keep` with it when its stack has stopped, and removes it. */
export type MakeDataDir = (keep: (dataDir: string) => void) => Promise<void>;

let found: string | undefined;

/** The folder of the template for the state of the sources, which a process reads once. */
const findTemplate = (): string =>
  (found ??= join(ROOT, ".local/test-stack", hashFiles(ROOT, SOURCES)));

/** Copies the template to `dataDir`. It is made once per state of the sources. */
export async function copyTemplate(dataDir: string, makeDataDir: MakeDataDir): Promise<void> {
  const template = findTemplate();
  await makeTemplate(template, (unfinished) =>
    makeDataDir((made) => {
      mkdirSync(unfinished);
      copyParts(made, unfinished);
      const postgres = join(unfinished, "postgres");
      copyFiles(realpathSync(join(made, "postgres", "data")), postgres);
      appendFileSync(join(postgres, "postgresql.conf"), POSTGRES_SETTINGS);
    }),
  );
  mkdirSync(dataDir, { recursive: true });
  copyParts(template, dataDir);
  // Where PostgreSQL's user cannot reach the data directory, it has its own elsewhere.
  const { home } = prepareInstallation(
    await findPrograms(),
    join(dataDir, "postgres"),
    () => undefined,
  );
  copyFiles(join(template, "postgres"), join(home, "data"));
}

function copyParts(from: string, to: string): void {
  for (const part of PARTS)
    if (existsSync(join(from, part))) copyFiles(join(from, part), join(to, part));
}
