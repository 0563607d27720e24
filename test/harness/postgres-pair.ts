/** PostgreSQL with a standby that follows by streaming replication, for tests of a failover. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import postgres from "postgres";

import {
  prepareInstallation,
  removeInstallation,
} from "../../deploy/local/postgres-installation.ts";
import { findPrograms, initialise, postgresService } from "../../deploy/local/postgres.ts";
import { startWatchdog, type Watchdog } from "../../deploy/local/watchdog.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./ports.ts";

const START_TIMEOUT_MS = 30_000;
const PASSWORD = "password-of-this-test";
const USER = "shorthop";

/** Ends the servers if the test runner is killed. */
let watchdog: Watchdog | undefined;

export type PostgresPair = {
  /** `DATABASE_URL` with both hosts; the standby is first, so that a client must look for the primary. */
  url: string;
  /** Kills the primary; the standby stays one. */
  killPrimary(): Promise<void>;
  /** Promotes the standby. */
  promote(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Starts both servers in a temporary directory; `database` need not exist. */
export async function startPostgresPair(database: string): Promise<PostgresPair> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-postgres-"));
  // As root, the servers run as another user, which must be able to traverse the folder.
  chmodSync(dir, 0o755);
  const homes = ["primary", "standby"].map((name) => join(dir, name, "postgres"));
  const [primaryHome = "", standbyHome = ""] = homes;
  for (const home of homes) mkdirSync(dirname(home));
  const programs = await findPrograms();
  const primary = prepareInstallation(programs, primaryHome, () => undefined);
  const standby = prepareInstallation(programs, standbyHome, () => undefined);
  const [primaryPort, standbyPort] = [freePort(), freePort()];
  initialise(primary, PASSWORD);

  const start = (installation: typeof primary, port: number) => {
    const { command, env, user } = postgresService(installation, port, PASSWORD);
    const settings = ["wal_keep_size=256MB", "hot_standby=on", "wal_receiver_timeout=5s"];
    const child = Bun.spawn([...command, ...settings.flatMap((setting) => ["-c", setting])], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "ignore"],
      ...user,
    });
    watchdog ??= startWatchdog();
    watchdog.watch("postgres", child.pid);
    return child;
  };
  const connect = (port: number) =>
    postgres(urlOf([port], "postgres"), { max: 1, connect_timeout: 5, onnotice: () => undefined });

  const primaryServer = start(primary, primaryPort);
  await eventually(postgresService(primary, primaryPort, PASSWORD).isReady, START_TIMEOUT_MS);
  const onPrimary = connect(primaryPort);
  await copyData(onPrimary, join(primary.home, "data"), join(standby.home, "data"), {
    host: "127.0.0.1",
    port: primaryPort,
    user: USER,
    password: PASSWORD,
  });
  const standbyServer = start(standby, standbyPort);
  const onStandby = connect(standbyPort);
  await eventually(async () => {
    const [row] = await onPrimary<[{ state: string }]>`select state from pg_stat_replication`;
    if (row?.state !== "streaming") throw new Error("The standby does not stream.");
  }, START_TIMEOUT_MS);
  // From now on an acknowledged transaction is on both.
  await onPrimary`alter system set synchronous_standby_names = '*'`;
  await onPrimary`select pg_reload_conf()`;
  await eventually(async () => {
    const [row] = await onPrimary<
      [{ sync_state: string }]
    >`select sync_state from pg_stat_replication`;
    if (row?.sync_state !== "sync") throw new Error("The standby is not synchronous.");
  }, START_TIMEOUT_MS);
  await onPrimary.end();

  return {
    url: urlOf([standbyPort, primaryPort], database),
    async killPrimary() {
      // An immediate shutdown, as of a crash: clients' connections just end.
      primaryServer.kill("SIGQUIT");
      await primaryServer.exited;
    },
    async promote() {
      // The configuration was copied before: the new primary has nobody to wait for.
      await onStandby`select pg_promote()`;
    },
    async [Symbol.asyncDispose]() {
      await onStandby.end({ timeout: 1 });
      for (const server of [standbyServer, primaryServer]) {
        server.kill("SIGQUIT");
        await server.exited;
      }
      for (const home of homes) removeInstallation(home);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const urlOf = (ports: readonly number[], database: string): string =>
  `postgres://${USER}:${PASSWORD}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/${database}`;

/** Copies a running server's data with PostgreSQL's backup functions, as pg_basebackup does, and makes it a standby. */
async function copyData(
  sql: postgres.Sql,
  from: string,
  to: string,
  source: Record<string, string | number>,
): Promise<void> {
  await sql`select pg_backup_start('standby', fast => true)`;
  const copied = Bun.spawnSync(["cp", "--archive", from, to]);
  if (copied.exitCode !== 0) throw new Error(copied.stderr.toString());
  const [{ labelfile }] = await sql<
    [{ labelfile: string }]
  >`select labelfile from pg_backup_stop()`;
  rmSync(join(to, "postmaster.pid"));
  const connection = Object.entries(source).map(([name, value]) => `${name}=${value}`);
  writeFileSync(join(to, "backup_label"), labelfile);
  writeFileSync(join(to, "standby.signal"), "");
  writeFileSync(join(to, "postgresql.auto.conf"), `primary_conninfo = '${connection.join(" ")}'\n`);
  const owned = Bun.spawnSync(["chown", "--recursive", "--reference", from, to]);
  if (owned.exitCode !== 0) throw new Error(owned.stderr.toString());
}
