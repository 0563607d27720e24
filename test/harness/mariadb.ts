/**
 * A MariaDB of the machine (Debian: mariadb-server) with an empty database, for what is imported
 * from one.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { SQL } from "bun";

import { findFreePort } from "../../deploy/local/ports.ts";
import { endWithParent } from "../../deploy/local/supervisor.ts";
import { run } from "../../deploy/packages/run.ts";
import { eventually } from "./eventually.ts";
import { createTemporaryDir } from "./templates.ts";

const START_TIMEOUT_MS = 30_000;

const PROGRAMS = { server: "/usr/sbin/mariadbd", install: "/usr/bin/mariadb-install-db" };

const PASSWORD = "password of this test";

/** Whether MariaDB is installed; warns if not. */
export function hasMariaDb(): boolean {
  const isThere = Object.values(PROGRAMS).every(existsSync);
  if (!isThere) console.warn("\n!!! MariaDB is not installed: imports from it are NOT TESTED\n");
  return isThere;
}

export class TestMariaDb {
  /** With a user who may do anything in the database `yourls`. */
  readonly url: string;
  readonly sql: SQL;
  readonly #dir: string;
  readonly #server: Bun.Subprocess;

  private constructor(url: string, dir: string, server: Bun.Subprocess) {
    this.url = url;
    this.sql = new SQL({ url, adapter: "mysql", max: 2 });
    this.#dir = dir;
    this.#server = server;
  }

  /** Starts a server in a temporary folder. It does not wait for its disk. */
  static async start(): Promise<TestMariaDb> {
    const dir = createTemporaryDir("shorthop-mariadb-");
    const data = `--datadir=${join(dir, "data")}`;
    const user = process.getuid?.() === 0 ? ["--user=root"] : [];
    const options = ["--skip-test-db", "--skip-name-resolve"];
    run([PROGRAMS.install, "--no-defaults", data, ...user, ...options], dir);
    const init = join(dir, "init.sql");
    writeFileSync(
      init,
      `create database yourls;\ncreate user yourls@'%' identified by '${PASSWORD}';\ngrant all on yourls.* to yourls@'%';\n`,
    );
    const port = findFreePort();
    const server = Bun.spawn(
      endWithParent([
        PROGRAMS.server,
        "--no-defaults",
        data,
        ...user,
        `--port=${port}`,
        "--bind-address=127.0.0.1",
        `--socket=${join(dir, "socket")}`,
        `--pid-file=${join(dir, "pid")}`,
        `--init-file=${init}`,
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=256M",
        "--skip-name-resolve",
        "--skip-log-bin",
      ]),
      { stdio: ["ignore", "ignore", Bun.file(join(dir, "log"))] },
    );
    const url = `mysql://yourls:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/yourls`;
    await eventually(async () => {
      await using probe = new SQL({ url, adapter: "mysql", max: 1 });
      await probe`select 1`;
    }, START_TIMEOUT_MS);
    return new TestMariaDb(url, dir, server);
  }

  get pid(): number {
    return this.#server.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.close({ timeout: 1 });
    this.#server.kill("SIGKILL");
    await this.#server.exited;
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
