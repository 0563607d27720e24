/** The local stack: `npm start` runs all of Shorthop on this machine. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import { createDemoKey, ensureDemoUser } from "../../api/demo.ts";
import { migrate as migratePostgres } from "../../api/migrate.ts";
import { loadConfig } from "../../shared/env.ts";
import { runMain } from "../../shared/lifecycle.ts";
import { tryLock } from "../../shared/process-lock.ts";
import { migrate as migrateClickHouse } from "../../worker/migrate.ts";
import { configSchema } from "./config.ts";
import { buildDashboard } from "./dashboard.ts";
import { banner, canSignIn, DEMO_EMAIL, keyWorks } from "./demo.ts";
import { createLogger } from "./logger.ts";
import { removeInstallation } from "./postgres-installation.ts";
import { makePrivate, PRIVATE_UMASK } from "./private-files.ts";
import {
  endOrphan,
  openProcessRegistry,
  type ProcessEntry,
  readOrphans,
} from "./process-registry.ts";
import { watchCode, withReload } from "./reload.ts";
import { loadSecrets, saveSecrets, writePrivate } from "./secrets.ts";
import { choosePortsFor, startServices } from "./services.ts";
import { appServices, metricsUrl, type StackFile, STOP_ORDER } from "./stack.ts";
import { createSupervisor, seconds } from "./supervisor.ts";
import { startWatchdog } from "./watchdog.ts";

/** Folders of the data directory that `--fresh` removes. */
const DATA_FOLDERS = ["postgres", "nats", "clickhouse", "journal", "links", "images", "logs"];

const ORPHAN_GRACE_MS = 10_000;

/** A second signal within this time is a duplicate: npm forwards the signal that the terminal sends to the whole group. */
const SAME_SIGNAL_MS = 500;

/** How often the stack checks whether its parent process is still running. */
const PARENT_POLL_MS = 1_000;

async function run(): Promise<void> {
  // Before anything is written, here or by a child: links, clicks and secrets are readable only by the user.
  process.umask(PRIVATE_UMASK);
  const options = new Command("npm start --")
    .description("Run all of Shorthop on this machine.")
    .option("--fresh", "start empty: remove all stored data", false)
    .option("--watch", "reload processes and the dashboard when their code changes", false)
    .parse()
    .opts<{ fresh: boolean; watch: boolean }>();
  const config = loadConfig(configSchema, process.env);
  const dataDir = config.SHORTHOP_DATA_DIR;
  const paths = {
    processes: join(dataDir, "processes.json"),
    stack: join(dataDir, "stack.json"),
    secrets: join(dataDir, "secrets.json"),
    postgres: join(dataDir, "postgres"),
  };
  const started = Date.now();
  const orphans = readOrphans(paths.processes);
  if (orphans.supervisor !== undefined) {
    console.error(
      `Shorthop is already running here (process ${orphans.supervisor}, data in ${dataDir}).`,
    );
    process.exit(1);
  }
  mkdirSync(dataDir, { recursive: true });
  if (tryLock("local-stack", dataDir) === undefined) {
    console.error(`Shorthop is already starting here (data in ${dataDir}).`);
    process.exit(1);
  }
  for (const orphan of inStopOrder(orphans.children)) {
    console.log(`Ending ${orphan.name} (process ${orphan.pid}), left running by an earlier start.`);
    await endOrphan(orphan, ORPHAN_GRACE_MS);
  }
  if (options.fresh) {
    removeInstallation(paths.postgres);
    // Downloaded programs are not data and stay.
    for (const name of [...DATA_FOLDERS, "secrets.json"]) {
      rmSync(join(dataDir, name), { recursive: true, force: true });
    }
  }
  rmSync(paths.stack, { force: true });
  makePrivate(dataDir, DATA_FOLDERS);

  const colour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
  const logger = createLogger({ logDir: join(dataDir, "logs"), colour });
  const processes = openProcessRegistry(paths.processes);
  const secrets = loadSecrets(paths.secrets);
  const watchdog = startWatchdog();
  const supervisor = createSupervisor({
    logger,
    processes,
    watchdog,
    onRestart: writeStackFile,
    onFatal: (reason) => void stop(reason),
  });
  let stack: Omit<StackFile, "pids"> | undefined;
  let stopping = false;

  /** Writes the stack file when the stack is ready, and again whenever a restarted process has a new pid. */
  function writeStackFile(): void {
    if (stack === undefined) return;
    const pids = {
      api: supervisor.pidOf("api"),
      worker: supervisor.pidOf("worker"),
      redirector: supervisor.pidOf("redirector"),
      postgres: supervisor.pidOf("postgres"),
      nats: supervisor.pidOf("nats"),
      clickhouse: supervisor.pidOf("clickhouse"),
    };
    const file: StackFile = { ...stack, pids };
    writePrivate(paths.stack, `${JSON.stringify(file, undefined, 2)}\n`);
  }

  async function stop(reason: string, code = 1): Promise<void> {
    if (stopping) return;
    stopping = true;
    logger.log(`Stopping: ${reason}`);
    await supervisor.stop(STOP_ORDER);
    rmSync(paths.stack, { force: true });
    processes.clear();
    logger.log("Stopped; no process is left running.");
    process.exit(code);
  }

  let signalledAt = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // A second signal means: do not wait. The watchdog ends the remaining processes.
      if (stopping && Date.now() - signalledAt > SAME_SIGNAL_MS) process.exit(1);
      signalledAt = Date.now();
      void stop(signal, 0);
    });
  }
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) void stop("the parent process has ended", 0);
  }, PARENT_POLL_MS).unref();

  try {
    const dashboard = buildDashboard(watchdog);
    const ports = choosePortsFor(config, logger);
    const { urls, postgres, nats, clickhouse } = startServices({
      config,
      ports,
      dataDir,
      postgresHome: paths.postgres,
      secrets,
      supervisor,
      logger,
    });
    const env = { ...process.env, DATABASE_URL: urls.database, CLICKHOUSE_URL: urls.clickhouse };
    const output = { write: (line: string) => logger.logProcess("migrate", line.trimEnd()) };
    const postgresSchema = postgres.then(() => migratePostgres(env, output));
    const clickhouseSchema = Promise.all([postgresSchema, clickhouse]).then(() =>
      migrateClickHouse(env, output),
    );
    const metrics = {
      api: ports.API_METRICS_PORT.port,
      redirector: ports.REDIRECTOR_METRICS_PORT.port,
      worker: ports.WORKER_METRICS_PORT.port,
    };
    const services = appServices({
      urls,
      metrics,
      dataDir,
      logLevel: config.LOG_LEVEL,
      secrets,
      dashboardDir: dashboard.folder,
      executable: config.SHORTHOP_EXECUTABLE,
    });
    const needs: Record<string, Promise<unknown>> = {
      api: Promise.all([postgresSchema, nats, dashboard.built]),
      worker: Promise.all([clickhouseSchema, nats]),
      redirector: nats,
    };
    await Promise.all(
      (options.watch ? withReload(services) : services).map(async (service) => {
        await needs[service.name];
        await supervisor.start(service);
      }),
    );
    if (options.watch) watchCode({ supervisor, logger });
    const { demoPassword } = secrets;
    if (secrets.demoKey === undefined || !(await keyWorks(urls.api, secrets.demoKey))) {
      secrets.demoKey = await createDemoKey(urls.database);
      saveSecrets(paths.secrets, secrets);
    }
    if (!(await canSignIn(urls.dashboard, demoPassword)))
      await ensureDemoUser(urls.database, DEMO_EMAIL, demoPassword);
    stack = {
      api_url: urls.api,
      short_url: urls.short,
      api_key: secrets.demoKey,
      dashboard_url: urls.dashboard,
      dashboard_email: DEMO_EMAIL,
      dashboard_password: demoPassword,
      api_metrics_url: metricsUrl(metrics.api),
      redirector_metrics_url: metricsUrl(metrics.redirector),
      worker_metrics_url: metricsUrl(metrics.worker),
      database_url: urls.database,
      nats_url: urls.nats,
      clickhouse_url: urls.clickhouse,
    };
    writeStackFile();
    logger.log(`Ready after ${seconds(Date.now() - started)}.`);
    console.log(banner(stack));
  } catch (error) {
    await stop(error instanceof Error ? error.message : String(error));
  }
}

/** Orders processes for stopping: databases last, so that the others can finish their work. */
function inStopOrder(orphans: readonly ProcessEntry[]): ProcessEntry[] {
  return STOP_ORDER.flat().flatMap((name) => orphans.filter((orphan) => orphan.name === name));
}

await runMain({ "": run }, []);
