/**
 * PostgreSQL of the machine, with its client programs: that of npm has none, and `pg_dump` refuses
 * a server that is later than itself.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { endWithParent } from "../../deploy/local/end-with-parent.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import {
  databaseUrl,
  postgresService,
  prepareInstallation,
  removeInstallation,
} from "../../deploy/local/postgres.ts";
import { eventually } from "./eventually.ts";
import { createTemporaryDir } from "./templates.ts";

const START_TIMEOUT_MS = 30_000;
const PASSWORD = "password-of-this-test";
const VERSIONS = "/usr/lib/postgresql";

export type DebianPostgres = {
  url: string;
  /** The folder of the client programs. */
  bin: string;
  [Symbol.asyncDispose](): Promise<void>;
};

/** The folder of the latest version with a server and `pg_dump`; undefined, with a warning. */
export function findDebianPostgres(): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).map(Number) : [];
  const found = versions
    .toSorted((a, b) => b - a)
    .map((version) => join(VERSIONS, String(version)))
    .find((path) => ["postgres", "pg_dump"].every((name) => existsSync(join(path, "bin", name))));
  if (found === undefined)
    console.warn("\n!!! PostgreSQL with pg_dump is not installed: backups are NOT TESTED\n");
  return found;
}

/** Starts an empty server in a temporary folder. */
export async function startDebianPostgres(programs: string): Promise<DebianPostgres> {
  const dir = createTemporaryDir("shorthop-postgres-");
  // As root, the server runs as another user, which must be able to traverse the folder.
  chmodSync(dir, 0o755);
  const home = join(dir, "data", "postgres");
  mkdirSync(join(dir, "data"));
  const installation = prepareInstallation(programs, home, () => undefined);
  const passwordFile = join(dir, "password");
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  const initdb = Bun.spawnSync(
    [
      join(programs, "bin", "initdb"),
      `--pgdata=${join(installation.home, "data")}`,
      "--username=shorthop",
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
      "--no-sync",
    ],
    { cwd: dir, ...installation.user },
  );
  if (initdb.exitCode !== 0) throw new Error(initdb.stderr.toString());
  const port = findFreePort();
  const service = postgresService(installation, port, PASSWORD);
  const server = Bun.spawn(endWithParent([...service.command, "-c", "fsync=off"], "QUIT"), {
    env: { ...process.env, ...service.env },
    stdio: ["ignore", "ignore", "ignore"],
    ...service.user,
  });
  await eventually(service.isReady, START_TIMEOUT_MS);
  return {
    url: databaseUrl(port, PASSWORD),
    bin: join(programs, "bin"),
    async [Symbol.asyncDispose]() {
      server.kill("SIGINT");
      await server.exited;
      removeInstallation(home);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
