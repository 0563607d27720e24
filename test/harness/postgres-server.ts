/**
 * A PostgreSQL server with all migrations applied. Starts in a fraction of a second, without
 * durability, which tests of SQL do not need; a run of many tests shares one, and each has a
 * database of its own there.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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
import { connectPrimary, databaseOf, withDatabase } from "../../shared/postgres.ts";
import { hashFiles } from "../../shared/process-lock.ts";
import { eventually } from "./eventually.ts";
import { listTree } from "./process-usage.ts";
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

/** A server with a temporary data directory. */
export class PostgresServer implements AsyncDisposable {
  readonly url: string;
  readonly #dir: string;
  readonly #data: string;
  readonly #server: Bun.Subprocess;

  /** Starts a server in which all migrations are applied. */
  static start(): Promise<PostgresServer> {
    return PostgresServer.#start(copyTemplate);
  }

  /** Starts an empty server of other programs: see {@link findDebianPostgres}. */
  static startEmpty(programs: string): Promise<PostgresServer> {
    return PostgresServer.#start(initialiseEarlier, programs);
  }

  /** Starts a server in a temporary folder; `prepare` creates its database cluster. */
  static async #start(
    prepare: (installation: PostgresInstallation) => void | Promise<void>,
    programs?: string,
  ): Promise<PostgresServer> {
    const dir = createTemporaryDir("shorthop-postgres-");
    // As root, the server runs as another user, which must be able to traverse the folder.
    chmodSync(dir, 0o755);
    const home = homeIn(dir);
    mkdirSync(dirname(home));
    const installation = prepareInstallation(
      programs ?? (await findPrograms()),
      home,
      () => undefined,
    );
    await prepare(installation);
    const port = findFreePort();
    const service = postgresService(installation, port, PASSWORD);
    const [program, ...args] = service.command;
    const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
    const server = Bun.spawn([program, ...args, ...settings], {
      env: { ...process.env, ...service.env },
      stdio: ["ignore", "ignore", "ignore"],
      ...service.user,
    });
    await eventually(service.isReady, START_TIMEOUT_MS);
    return new PostgresServer(dir, installation, databaseUrl(port, PASSWORD), server);
  }

  /** Makes the cluster that all servers copy; its data directory becomes `to`. */
  static async makeCluster(to: string): Promise<void> {
    await using server = await PostgresServer.#start((installation) =>
      initialise(installation, PASSWORD),
    );
    // Loaded only here: the whole schema of the API, which a run of the tests does not need.
    const { migratePostgres } = await import("../../api/migrations/migrate.ts");
    const { usePostgres } = await import("../../api/postgres.ts");
    await usePostgres(server.url, (sql) => migratePostgres(sql, processLog("test", "silent")));
    await server.#stop();
    copyFiles(server.#data, to);
  }

  private constructor(
    dir: string,
    { home }: PostgresInstallation,
    url: string,
    server: Bun.Subprocess,
  ) {
    this.#dir = dir;
    this.#data = join(home, "data");
    this.url = url;
    this.#server = server;
  }

  /** Sends a signal to its processes (Linux). */
  signal(signal: NodeJS.Signals): void {
    for (const pid of listTree(this.#server.pid)) process.kill(pid, signal);
  }

  async #stop(): Promise<void> {
    this.#server.kill("SIGINT");
    await this.#server.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    removeInstallation(homeIn(this.#dir));
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** What a server in a temporary folder asks for as its home; it may get another one. */
const homeIn = (dir: string): string => join(dir, "data", "postgres");

/**
 * Copies a cluster with all migrations to where `installation` has its own. The first caller on
 * this machine makes it, for each version of its sources: copying takes a tenth of that time.
 */
async function copyTemplate({ home }: PostgresInstallation): Promise<void> {
  const template = join(ROOT, ".local/test-postgres", hashFiles(ROOT, SOURCES));
  await makeTemplate(template, PostgresServer.makeCluster);
  copyFiles(template, join(home, "data"));
}

const VERSIONS = "/usr/lib/postgresql";

/**
 * The folder of the machine's latest PostgreSQL with `pg_dump`, which that of npm does not have,
 * and which refuses a server that is later than itself; undefined, with a warning, without any.
 */
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

/** Creates a cluster also with a PostgreSQL before 17, which has no locale of its own. */
function initialiseEarlier({ programs, home, user }: PostgresInstallation): void {
  const passwordFile = join(home, "..", "password");
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  const { exitCode, stderr } = Bun.spawnSync(
    [
      join(programs, "bin", "initdb"),
      `--pgdata=${join(home, "data")}`,
      "--username=shorthop",
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
      "--no-sync",
    ],
    { cwd: home, ...user },
  );
  if (exitCode !== 0) throw new Error(stderr.toString());
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
