/**
 * A PostgreSQL server with all migrations applied. Starts in a fraction of a second, without
 * durability, which tests of SQL do not need; a run of many tests shares one, and each has a
 * database of its own there.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { findFreePort } from "../../deploy/local/ports.ts";
import {
  databaseUrl,
  findPrograms,
  initialise,
  type PostgresInstallation,
  postgresService,
  prepareInstallation,
  removeInstallation,
} from "../../deploy/local/postgres.ts";
import { newUuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { hashFiles } from "../../shared/make-once.ts";
import { connectPrimary, databaseOf, withDatabase } from "../../shared/postgres.ts";
import { eventually } from "./eventually.ts";
import { copyFiles, createTemporaryDir, makeTemplate } from "./templates.ts";

/**
 * Environment variable with the URL of the server that a run shares. Nobody connects to the
 * database of that URL: it is copied.
 */
export const SHARED_POSTGRES = "SHORTHOP_TEST_POSTGRES";

const START_TIMEOUT_MS = 30_000;

/** Of the cluster's superuser. */
const PASSWORD = "password of this test";

const ROOT = join(import.meta.dir, "../..");

/** What the cluster is made from, and by. */
const SOURCES = [
  "package-lock.json",
  "api/migrations/*",
  "deploy/local/postgres.ts",
  "test/harness/postgres*.ts",
];

/** Tests do not need durability, so they do not pay for it; all tests of a run may connect. */
const SETTINGS = [
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  "max_connections=400",
];

export type PostgresServer = {
  url: string;
  /** Sends a signal to its processes (Linux). */
  signal(signal: NodeJS.Signals): void;
} & AsyncDisposable;

/** Starts a server with a temporary data directory, in which all migrations are applied. */
export async function startMigratedServer(): Promise<PostgresServer> {
  const server = await startServer((installation) => copyTemplate(installation, makeCluster));
  return {
    url: server.url,
    signal: server.signal,
    async [Symbol.asyncDispose]() {
      await server.stop();
      server.remove();
    },
  };
}

/** Makes the cluster, and calls `keep` with its data directory when its server has ended. */
type MakeCluster = (keep: (data: string) => void) => Promise<void>;

/**
 * Copies a cluster with all migrations to where `installation` has its own. The first caller on
 * this machine makes it, for each version of its sources: copying takes a tenth of that time.
 */
async function copyTemplate(
  installation: PostgresInstallation,
  makeCluster: MakeCluster,
): Promise<void> {
  const template = join(ROOT, ".local/test-postgres", hashFiles(ROOT, SOURCES));
  await makeTemplate(template, (unfinished) => makeCluster((data) => copyFiles(data, unfinished)));
  copyFiles(template, join(installation.home, "data"));
}

/** Makes a copy of the database of a server; returns its URL. It goes with the server. */
export async function createDatabase(url: string): Promise<string> {
  const name = `test_${newUuid()}`;
  const sql = connectPrimary(withDatabase(url, "postgres"), { max: 1, connect_timeout: 30 });
  try {
    // A copy of the files takes a third of the time of one through the log.
    await sql.unsafe(`create database "${name}" template "${databaseOf(url)}" strategy file_copy`);
  } finally {
    await sql.end({ timeout: 1 });
  }
  return withDatabase(url, name);
}

/** Makes the cluster that all servers copy. */
async function makeCluster(keep: (data: string) => void): Promise<void> {
  const server = await startServer((installation) => initialise(installation, PASSWORD));
  try {
    // Loaded only here: the whole schema of the API, which a run of the tests does not need.
    const { migratePostgres } = await import("../../api/migrations/migrate.ts");
    const { usePostgres } = await import("../../api/postgres.ts");
    await usePostgres(server.url, (sql) => migratePostgres(sql, processLog("test", "silent")));
    await server.stop();
    keep(server.data);
  } finally {
    await server.stop();
    server.remove();
  }
}

/** Starts a server in a temporary folder; `prepare` creates its database cluster. */
async function startServer(prepare: (installation: PostgresInstallation) => void | Promise<void>) {
  const dir = createTemporaryDir("shorthop-postgres-");
  // As root, the server runs as another user, which must be able to traverse the folder.
  chmodSync(dir, 0o755);
  const home = join(dir, "data", "postgres");
  mkdirSync(dirname(home));
  const installation = prepareInstallation(await findPrograms(), home, () => undefined);
  await prepare(installation);
  const port = findFreePort();
  const service = postgresService(installation, port, PASSWORD);
  const [program, ...args] = service.command;
  const server = Bun.spawn([program, ...args, ...SETTINGS.flatMap((setting) => ["-c", setting])], {
    env: { ...process.env, ...service.env },
    stdio: ["ignore", "ignore", "ignore"],
    ...service.user,
  });
  await eventually(service.isReady, START_TIMEOUT_MS);
  return {
    url: databaseUrl(port, PASSWORD),
    data: join(installation.home, "data"),
    signal(signal: NodeJS.Signals) {
      const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8");
      const pids = children.split(" ").map(Number);
      for (const pid of [server.pid, ...pids.filter((child) => child > 0)])
        process.kill(pid, signal);
    },
    async stop() {
      server.kill("SIGINT");
      await server.exited;
    },
    /** Removes its files. */
    remove() {
      removeInstallation(home);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
