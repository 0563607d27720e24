/** PostgreSQL with a standby that follows by streaming replication, for tests of a failover. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import postgres from "postgres";

import { findFreePort } from "../../deploy/local/ports.ts";
import {
  findPrograms,
  initialise,
  type PostgresInstallation,
  postgresService,
  prepareInstallation,
  removeInstallation,
} from "../../deploy/local/postgres.ts";
import { endWithParent } from "../../deploy/local/supervisor.ts";
import { eventually } from "./eventually.ts";

const START_TIMEOUT_MS = 30_000;
const PASSWORD = "password-of-this-test";
const USER = "shorthop";

export type PostgresPair = {
  /**
   * `DATABASE_URL` with both hosts; the standby is first, so that a client must look for the
   * primary.
   */
  url: string;
  /** Kills the primary; the standby stays one. */
  killPrimary(): Promise<void>;
  /** Promotes the standby. */
  promote(): Promise<void>;
  /** Makes a new standby of the killed server, as an operator would after a failover. */
  rejoin(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

type Node = { installation: PostgresInstallation; port: number; server?: Bun.Subprocess };

/** Starts both servers in a temporary directory; `database` need not exist. */
export async function startPostgresPair(database: string): Promise<PostgresPair> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-postgres-"));
  // As root, the servers run as another user, which must be able to traverse the folder.
  chmodSync(dir, 0o755);
  const homes = ["a", "b"].map((name) => join(dir, name, "postgres"));
  const programs = await findPrograms();
  const prepare = (home: string): Node => {
    mkdirSync(dirname(home));
    const installation = prepareInstallation(programs, home, () => undefined);
    return { installation, port: findFreePort() };
  };
  let [primary, standby] = [prepare(homes[0] ?? ""), prepare(homes[1] ?? "")];
  const url = urlOf([standby.port, primary.port], database);
  await initialise(primary.installation, PASSWORD);
  start(primary);
  await eventually(
    postgresService(primary.installation, primary.port, PASSWORD).isReady,
    START_TIMEOUT_MS,
  );

  /** Makes the standby from the primary's data, and waits until it is synchronous. */
  async function follow(): Promise<void> {
    const sql = connect(primary);
    try {
      await copyData(sql, primary, standby);
      start(standby);
      // From now on an acknowledged transaction is on both.
      await sql`alter system set synchronous_standby_names = '*'`;
      await sql`select pg_reload_conf()`;
      await eventually(async () => {
        const [row] = await sql<
          [{ sync_state: string }?]
        >`select sync_state from pg_stat_replication`;
        if (row?.sync_state !== "sync") throw new Error("The standby does not follow.");
      }, START_TIMEOUT_MS);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  await follow();
  return {
    url,
    killPrimary: () => kill(primary),
    async promote() {
      const sql = connect(standby);
      await sql`select pg_promote()`;
      await sql.end({ timeout: 1 });
      [primary, standby] = [standby, primary];
    },
    rejoin: follow,
    async [Symbol.asyncDispose]() {
      for (const node of [standby, primary]) await kill(node);
      for (const home of homes) removeInstallation(home);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function start(node: Node): void {
  const { command, env, user } = postgresService(node.installation, node.port, PASSWORD);
  const settings = ["wal_keep_size=256MB", "hot_standby=on", "wal_receiver_timeout=5s"];
  const configured = [...command, ...settings.flatMap((setting) => ["-c", setting])];
  node.server = Bun.spawn(endWithParent(configured, "QUIT"), {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "ignore"],
    ...user,
  });
}

/** An immediate shutdown, as of a crash: clients' connections just end. */
async function kill({ server }: Node): Promise<void> {
  server?.kill("SIGQUIT");
  await server?.exited;
}

const connect = ({ port }: Node): postgres.Sql =>
  postgres(urlOf([port], "postgres"), { max: 1, connect_timeout: 5, onnotice: () => undefined });

const urlOf = (ports: readonly number[], database: string): string =>
  `postgres://${USER}:${PASSWORD}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/${database}`;

/**
 * Copies a running server's data with PostgreSQL's backup functions, as pg_basebackup does, and
 * makes it a standby.
 */
async function copyData(sql: postgres.Sql, primary: Node, standby: Node): Promise<void> {
  const from = join(primary.installation.home, "data");
  const to = join(standby.installation.home, "data");
  rmSync(to, { recursive: true, force: true });
  await sql`select pg_backup_start('standby', fast => true)`;
  // Files that the server removes meanwhile are not needed. Asynchronous: this process measures
  // gaps of redirects.
  await Bun.spawn(["cp", "--archive", from, to], { stdio: ["ignore", "ignore", "ignore"] }).exited;
  const [{ labelfile }] = await sql<[{ labelfile: string }]>`
    select labelfile from pg_backup_stop(wait_for_archive => false)`;
  rmSync(join(to, "postmaster.pid"));
  const source = `host=127.0.0.1 port=${primary.port} user=${USER} password=${PASSWORD}`;
  writeFileSync(join(to, "backup_label"), labelfile);
  writeFileSync(join(to, "standby.signal"), "");
  writeFileSync(join(to, "postgresql.auto.conf"), `primary_conninfo = '${source}'\n`);
  const chown = Bun.spawn(["chown", "--recursive", "--reference", from, to], { stderr: "pipe" });
  const errors = await new Response(chown.stderr).text();
  if ((await chown.exited) !== 0) throw new Error(errors);
}
