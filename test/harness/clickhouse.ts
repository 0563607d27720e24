/**
 * Only ClickHouse, as the local stack has it, with all migrations applied: for tests of the API in
 * this process. Its tables are made once for each version of what they are made from, and copied.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";

import { findFreePort } from "../../deploy/local/ports.ts";
import { clickhouseService, clickhouseUrl } from "../../deploy/local/stack.ts";
import { endWithParent } from "../../deploy/local/supervisor.ts";
import { hashFiles } from "../../shared/process-lock.ts";
import { migrate } from "../../worker/migrations/migrate.ts";
import { eventually } from "./eventually.ts";
import { copyFiles, createTemporaryDir, makeTemplate } from "./templates.ts";

const ROOT = join(import.meta.dir, "../..");

const START_TIMEOUT_MS = 30_000;

const PASSWORD = "password of this test";

/** What the tables are made from, and by. */
const SOURCES = [
  "package-lock.json",
  "worker/migrations/*",
  "shared/clicks/*.ts",
  "deploy/local/clickhouse/*.ts",
  "test/harness/clickhouse.ts",
];

export class TestClickHouse {
  readonly url: string;
  readonly #dir: string;
  readonly #server: Bun.Subprocess;

  private constructor(dir: string, port: number, server: Bun.Subprocess) {
    this.url = clickhouseUrl(port, encodeURIComponent(PASSWORD));
    this.#dir = dir;
    this.#server = server;
  }

  /** Starts a server with all tables; migrations read links from this PostgreSQL. */
  static async start(databaseUrl: string): Promise<TestClickHouse> {
    const dir = createTemporaryDir("shorthop-clickhouse-");
    const template = join(ROOT, ".local/test-clickhouse", hashFiles(ROOT, SOURCES));
    await makeTemplate(template, async (unfinished) => {
      const made = await TestClickHouse.#open(createTemporaryDir("shorthop-clickhouse-"));
      await migrate({
        LOG_LEVEL: "fatal",
        CLICKHOUSE_URL: made.url,
        DATABASE_URL: databaseUrl,
      });
      await made.stop();
      copyFiles(join(made.#dir, "clickhouse"), unfinished);
      rmSync(made.#dir, { recursive: true });
    });
    copyFiles(template, join(dir, "clickhouse"));
    return await TestClickHouse.#open(dir);
  }

  /** Starts a server on what a data directory of a stack has; {@link stop} leaves its files. */
  static startIn(dataDir: string): Promise<TestClickHouse> {
    return TestClickHouse.#open(dataDir);
  }

  static async #open(dir: string): Promise<TestClickHouse> {
    const port = findFreePort();
    const service = clickhouseService(dir, port, PASSWORD);
    const server = Bun.spawn(endWithParent(service.command), {
      env: { ...process.env, ...service.env },
      stdio: ["ignore", "ignore", "inherit"],
    });
    await eventually(service.isReady, START_TIMEOUT_MS);
    return new TestClickHouse(dir, port, server);
  }

  async stop(): Promise<void> {
    this.#server.kill("SIGTERM");
    await this.#server.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
