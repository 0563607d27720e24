/** PostgreSQL with a standby that follows by streaming replication, for tests of a failover. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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

type Node = { installation: PostgresInstallation; port: number; server?: Bun.Subprocess };

export class PostgresPair implements AsyncDisposable {
  /**
   * `DATABASE_URL` with both hosts; the standby is first, so that a client must look for the
   * primary.
   */
  readonly url: string;
  readonly #dir: string;
  #primary: Node;
  #standby: Node;

  /** Starts both servers in a temporary directory; `database` need not exist. */
  static async start(database: string): Promise<PostgresPair> {
    const dir = mkdtempSync(join(tmpdir(), "shorthop-postgres-"));
    // As root, the servers run as another user, which must be able to traverse the folder.
    chmodSync(dir, 0o755);
    const programs = await findPrograms();
    const prepare = (name: string): Node => {
      mkdirSync(join(dir, name));
      const installation = prepareInstallation(programs, homeOf(dir, name), () => undefined);
      return { installation, port: findFreePort() };
    };
    const pair = new PostgresPair(dir, prepare("a"), prepare("b"), database);
    const { installation, port } = pair.#primary;
    await initialise(installation, PASSWORD);
    start(pair.#primary);
    await eventually(postgresService(installation, port, PASSWORD).isReady, START_TIMEOUT_MS);
    await pair.rejoin();
    return pair;
  }

  private constructor(dir: string, primary: Node, standby: Node, database: string) {
    this.#dir = dir;
    this.#primary = primary;
    this.#standby = standby;
    this.url = urlOf([standby.port, primary.port], database);
  }

  /** Kills the primary; the standby stays one. */
  killPrimary(): Promise<void> {
    return kill(this.#primary);
  }

  /** Promotes the standby. */
  async promote(): Promise<void> {
    await withSql(this.#standby, (sql) => sql`select pg_promote()`);
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
  }

  /**
   * Makes a standby of the server that is none yet, or was killed, as an operator would after a
   * failover, and waits until it is synchronous.
   */
  rejoin(): Promise<void> {
    return withSql(this.#primary, async (sql) => {
      await copyData(sql, this.#primary, this.#standby);
      start(this.#standby);
      // From now on an acknowledged transaction is on both.
      await sql`alter system set synchronous_standby_names = '*'`;
      await sql`select pg_reload_conf()`;
      await eventually(async () => {
        const [row] = await sql<[{ state: string }?]>`
          select sync_state as state from pg_stat_replication`;
        if (row?.state !== "sync") throw new Error("The standby does not follow.");
      }, START_TIMEOUT_MS);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of [this.#standby, this.#primary]) await kill(node);
    for (const name of ["a", "b"]) removeInstallation(homeOf(this.#dir, name));
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

const homeOf = (dir: string, name: string): string => join(dir, name, "postgres");

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

async function withSql<T>({ port }: Node, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const url = urlOf([port], "postgres");
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

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
