/**
 * A whole redundant fleet: three NATS servers from the shipped files, PostgreSQL with a standby,
 * two redirectors, two workers and two API processes. A killed process is started again at the same
 * address, as systemd does.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { clickhouseService, clickhouseUrl } from "../../deploy/local/stack.ts";
import { startWatchdog } from "../../deploy/local/watchdog.ts";
import { BULK_LIMITS } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { type NatsCluster, startNatsCluster } from "../harness/nats-cluster.ts";
import type { NatsProgram } from "../harness/nats-versions.ts";
import { freePort } from "../harness/ports.ts";
import { type PostgresPair, startPostgresPair } from "../harness/postgres-pair.ts";
import {
  type ExtraProcess,
  type Services,
  startApi,
  startRedirector,
  startWorker,
} from "../harness/processes.ts";
import { runProgram } from "../harness/run-program.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const START_TIMEOUT_MS = 60_000;

/** What a process that ended by itself said last. */
const OUTPUT_LENGTH_MAX = 4_000;
const REPLICAS = "3";
/** Webhooks may have receivers of tests. */
const WEBHOOK_ENV = {
  WEBHOOKS_SECRET: "secret of the webhooks of this test",
  WEBHOOK_NETWORKS_ALLOWED: "127.0.0.0/8",
  WEBHOOK_PORTS_ALLOWED: "*",
};

const CLICKHOUSE_PASSWORD = "password-of-this-test";

/** A process that is started again, at the same address, when it is killed. */
export type Member = { url: string; kill(): Promise<void> };

export type Fleet = {
  nats: NatsCluster;
  postgres: PostgresPair;
  clickhouseUrl: string;
  redirectors: (Member & { linksDir: string })[];
  workers: Member[];
  apis: Member[];
  /** API keys of two accounts without tight limits. */
  key: string;
  otherKey: string;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function startFleet(program: NatsProgram): Promise<Fleet> {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = mkdtempSync(join(tmpdir(), "shorthop-fleet-"));
  cleanup.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const [nats, postgres, clickhouse] = await Promise.all([
    startNatsCluster(program).then((started) => cleanup.use(started)),
    startPostgresPair("shorthop").then((started) => cleanup.use(started)),
    startClickHouse(dataDir).then((started) => cleanup.use(started)),
  ]);
  const env = { DATABASE_URL: postgres.url, CLICKHOUSE_URL: clickhouse.url };
  await runProgram(["api", "migrate"], env);
  await runProgram(["worker", "migrate"], env);

  const services: Services = {
    dataDir,
    info: () => ({
      nats_url: nats.url("operator"),
      short_url: "http://localhost",
      database_url: postgres.url,
      clickhouse_url: clickhouse.url,
    }),
  };
  const settingsOf = (user: "api" | "redirector" | "worker") => ({
    ...nats.env,
    ...WEBHOOK_ENV,
    NATS_URL: nats.url(user),
    NATS_REPLICAS: REPLICAS,
  });
  const add = (start: () => Promise<ExtraProcess>) => addMember(start, cleanup);
  const limits = ["--limits", JSON.stringify(BULK_LIMITS)];
  const createKey = async (name: string): Promise<string> => {
    const account = ["accounts", "create", "--name", name, "--plan", "enterprise", "--key"];
    return JSON.parse(await runProgram([...account, ...limits, "--json"], env)).key;
  };
  const [apis, workers, redirectors, key, otherKey] = await Promise.all([
    two(() => {
      const API_PORT = String(freePort());
      return add(() => startApi(services, { ...settingsOf("api"), API_PORT }));
    }),
    two(() => add(() => startWorker(services, settingsOf("worker")))),
    two(async (i) => {
      const JOURNAL_DIR = join(dataDir, `journal-${i}`);
      mkdirSync(JOURNAL_DIR);
      const own = { JOURNAL_DIR, REDIRECTOR_PORT: String(freePort()) };
      const member = await add(() =>
        startRedirector(services, { ...settingsOf("redirector"), ...own }),
      );
      return { ...member, linksDir: join(JOURNAL_DIR, "links") };
    }),
    createKey("Fleet"),
    createKey("Events"),
  ]);
  const kept = cleanup.move();
  return {
    nats,
    postgres,
    clickhouseUrl: clickhouse.url,
    redirectors,
    workers,
    apis,
    key,
    otherKey,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Starts a process that is started again when it is killed, and stopped by `cleanup`. */
async function addMember(
  start: () => Promise<ExtraProcess>,
  cleanup: AsyncDisposableStack,
): Promise<Member> {
  let current = await start();
  cleanup.defer(() => current.stop());
  return {
    url: current.url,
    async kill() {
      try {
        process.kill(current.pid, "SIGKILL");
      } catch (cause) {
        const output = current.output().slice(-OUTPUT_LENGTH_MAX);
        throw new Error(`A process had ended by itself:\n${output}`, { cause });
      }
      current = await eventually(start, START_TIMEOUT_MS);
    },
  };
}

const two = <T>(start: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all([start(1), start(2)]);

/** Runs a command of the product; returns what it printed. */
async function startClickHouse(dataDir: string) {
  const port = freePort();
  const { command, env, isReady } = clickhouseService(dataDir, port, CLICKHOUSE_PASSWORD);
  const child = Bun.spawn([...command], {
    cwd: PROJECT_DIR,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  startWatchdog().watch("clickhouse", child.pid);
  await eventually(async () => {
    if (!(await isReady())) throw new Error("ClickHouse is not ready.");
  }, START_TIMEOUT_MS);
  return {
    url: clickhouseUrl(port, CLICKHOUSE_PASSWORD),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}
