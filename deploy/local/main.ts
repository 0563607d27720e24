/** The local stack: `npm start` runs all of Shorthop on this machine. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import { migrate as migratePostgres } from "../../api/migrate.ts";
import { loadConfig } from "../../shared/env.ts";
import { runMain } from "../../shared/lifecycle.ts";
import { tryLock } from "../../shared/process-lock.ts";
import { migrate as migrateClickHouse } from "../../worker/migrations/migrate.ts";
import { configSchema } from "./config.ts";
import { buildDashboard, packClient } from "./dashboard.ts";
import { banner, canSignIn, DEMO_EMAIL, keyWorks } from "./demo.ts";
import { createLogger } from "./logger.ts";
import { removeInstallation } from "./postgres-installation.ts";
import { makeRoles } from "./postgres.ts";
import { makePrivate, PRIVATE_UMASK } from "./private-files.ts";
import type { ProcessEntry } from "./process-entry.ts";
import { endOrphan, openProcessRegistry, readOrphans } from "./process-registry.ts";
import { watchCode, withReload } from "./reload.ts";
import { loadSecrets, saveSecrets, writePrivate } from "./secrets.ts";
import { choosePortsFor, type Starting, startServices } from "./services.ts";
import { appServices, metricsUrl, type StackFile, STOP_ORDER } from "./stack.ts";
import { createSupervisor, seconds } from "./supervisor.ts";
import { startWatchdog } from "./watchdog.ts";

/** Folders of the data directory that `--fresh` removes. */
const DATA_FOLDERS = ["postgres", "nats", "clickhouse", "journal", "links", "logs"];

const ORPHAN_GRACE_MS = 10_000;

/** A second signal within this time is npm's copy of the one that the terminal sent to all. */
const SAME_SIGNAL_MS = 500;

/** How often the stack checks whether its parent process is still running. */
const PARENT_POLL_MS = 1_000;

type Options = { fresh: boolean; remove: boolean; watch: boolean };

type Config = ReturnType<typeof readConfig>;

type Paths = Record<"processes" | "stack" | "secrets" | "postgres", string>;

async function run(): Promise<void> {
  // Before anything is written: only the user may read links, clicks and secrets.
  process.umask(PRIVATE_UMASK);
  const options = new Command("npm start --")
    .description("Run all of Shorthop on this machine.")
    .option("--fresh", "start empty: remove all stored data", false)
    .option("--remove", "remove all stored data, wherever it is, and end", false)
    .option("--watch", "reload processes and the dashboard when their code changes", false)
    .parse()
    .opts<Options>();
  const config = readConfig();
  const dataDir = config.SHORTHOP_DATA_DIR;
  const paths = {
    processes: join(dataDir, "processes.json"),
    stack: join(dataDir, "stack.json"),
    secrets: join(dataDir, "secrets.json"),
    postgres: join(dataDir, "postgres"),
  };
  const started = Date.now();
  await takeDataDir(dataDir, paths);
  if (options.fresh || options.remove) removeData(dataDir, paths);
  if (options.remove) {
    console.log(`Removed all stored data (${dataDir}).`);
    process.exit(0);
  }
  rmSync(paths.stack, { force: true });
  makePrivate(dataDir, DATA_FOLDERS);

  const secrets = loadSecrets(paths.secrets);
  secrets.linksSigningKey = config.LINKS_SIGNING_KEY ?? secrets.linksSigningKey;
  const stack = createStack(dataDir, paths);
  stopOnSignals(stack);
  try {
    const info = await startStack({ config, options, paths, secrets, stack });
    stack.onReady(info);
    stack.logger.log(`Ready after ${seconds(Date.now() - started)}.`);
    console.log(banner(info));
  } catch (error) {
    await stack.stop(error instanceof Error ? error.message : String(error));
  }
}

const readConfig = () => loadConfig(configSchema, process.env);

/** Takes the data directory, and ends what an earlier start left running; exits if it is taken. */
async function takeDataDir(dataDir: string, paths: Paths): Promise<void> {
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
}

/** Removes all stored data. Downloaded programs are not data and stay. */
function removeData(dataDir: string, paths: Paths): void {
  removeInstallation(paths.postgres);
  for (const name of [...DATA_FOLDERS, "secrets.json"]) {
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

type StackInfo = Omit<StackFile, "pids">;

type Stack = ReturnType<typeof createStack>;

/** Creates what supervises the processes of the stack, and stops them. */
function createStack(dataDir: string, paths: Paths) {
  const colour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
  const logger = createLogger({ logDir: join(dataDir, "logs"), colour });
  const processes = openProcessRegistry(paths.processes);
  const watchdog = startWatchdog();
  const supervisor = createSupervisor({
    logger,
    processes,
    watchdog,
    onRestart: writeStackFile,
    onFatal: (reason) => void stop(reason),
  });
  let info: StackInfo | undefined;
  let stopping = false;

  /** Writes the stack file when the stack is ready, and for the new pid of a restarted process. */
  function writeStackFile(): void {
    if (info === undefined) return;
    const pids = {
      api: supervisor.pidOf("api"),
      worker: supervisor.pidOf("worker"),
      redirector: supervisor.pidOf("redirector"),
      postgres: supervisor.pidOf("postgres"),
      nats: supervisor.pidOf("nats"),
      clickhouse: supervisor.pidOf("clickhouse"),
    };
    const file: StackFile = { ...info, pids };
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

  return {
    logger,
    watchdog,
    supervisor,
    stop,
    stopping: () => stopping,
    onReady(ready: StackInfo): void {
      info = ready;
      writeStackFile();
    },
  };
}

/** Stops the stack on a signal, and when the parent process has ended. */
function stopOnSignals({ stop, stopping }: Stack): void {
  let signalledAt = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // A second signal means: do not wait. The watchdog ends the remaining processes.
      if (stopping() && Date.now() - signalledAt > SAME_SIGNAL_MS) process.exit(1);
      signalledAt = Date.now();
      void stop(signal, 0);
    });
  }
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) void stop("the parent process has ended", 0);
  }, PARENT_POLL_MS).unref();
}

type Secrets = ReturnType<typeof loadSecrets>;

type StackOptions = {
  config: Config;
  options: Options;
  paths: Paths;
  secrets: Secrets;
  stack: Stack;
};

/** Starts stores and processes, and creates the demo account; returns where all of them are. */
async function startStack({
  config,
  options,
  paths,
  secrets,
  stack: { logger, supervisor, watchdog },
}: StackOptions): Promise<StackInfo> {
  const dataDir = config.SHORTHOP_DATA_DIR;
  const dashboard = buildDashboard(watchdog);
  const ports = choosePortsFor(config, logger);
  const { urls, ...stores } = startServices({
    config,
    ports,
    dataDir,
    postgresHome: paths.postgres,
    secrets,
    supervisor,
    logger,
  });
  const makesRoles = config.DATABASE_URL === undefined;
  const schemas = migrateStores(urls, stores, makesRoles ? secrets : undefined, logger);
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
    api: Promise.all([schemas.postgres, stores.nats, dashboard.built]),
    worker: Promise.all([schemas.postgres, schemas.clickhouse, stores.nats]),
    redirector: stores.nats,
  };
  let demo: Awaited<ReturnType<typeof ensureDemo>> | undefined;
  await Promise.all(
    (options.watch ? withReload(services) : services).map(async (service) => {
      await needs[service.name];
      await supervisor.start(service);
      // A redirector is ready once it has all links, and the links log begins with an account.
      if (service.name === "api") demo = await ensureDemo(urls, secrets, paths);
    }),
  );
  if (options.watch) watchCode({ supervisor, logger });
  packClient(dashboard.folder, watchdog);
  return {
    api_url: urls.api,
    short_url: urls.short,
    ...(demo ?? { api_key: "", test_api_key: "" }),
    dashboard_url: urls.dashboard,
    dashboard_email: DEMO_EMAIL,
    dashboard_password: secrets.demoPassword,
    api_metrics_url: metricsUrl(metrics.api),
    redirector_metrics_url: metricsUrl(metrics.redirector),
    worker_metrics_url: metricsUrl(metrics.worker),
    database_url: urls.database,
    nats_url: urls.nats,
    clickhouse_url: urls.clickhouse,
    links_signing_key: secrets.linksSigningKey,
  };
}

type Services = ReturnType<typeof startServices>;

/**
 * Migrates each store once it runs; ClickHouse after PostgreSQL, which its migrations need. With
 * secrets, makes the roles of the processes in PostgreSQL.
 */
function migrateStores(
  urls: Services["urls"],
  { postgres, clickhouse }: Omit<Starting, "urls">,
  secrets: Secrets | undefined,
  logger: Stack["logger"],
) {
  const env = { ...process.env, DATABASE_URL: urls.database, CLICKHOUSE_URL: urls.clickhouse };
  const output = { write: (line: string) => logger.logProcess("migrate", line.trimEnd()) };
  const schema = postgres.then(() => migratePostgres(env, output));
  const postgresSchema = schema.then(async () => {
    if (secrets === undefined) return;
    await makeRoles(urls.database, {
      shorthop_api: secrets.apiPostgresPassword,
      shorthop_worker: secrets.workerPostgresPassword,
    });
  });
  const clickhouseSchema = Promise.all([schema, clickhouse]).then(() =>
    migrateClickHouse(env, output),
  );
  return { postgres: postgresSchema, clickhouse: clickhouseSchema };
}

/** What makes accounts and users takes a third of a second to load, and most starts have both. */
const loadDemo = () => import("../../api/demo.ts");

/** Creates the demo account's keys and user, unless they work; returns the keys. */
async function ensureDemo(
  urls: Services["urls"],
  secrets: Secrets,
  paths: Paths,
): Promise<Pick<StackFile, "api_key" | "test_api_key">> {
  const known = secrets.demoKeys;
  if (known === undefined || !(await keyWorks(urls.api, known.live))) {
    const { addDemoAccount } = await loadDemo();
    secrets.demoKeys = await addDemoAccount(urls.database);
    saveSecrets(paths.secrets, secrets);
  }
  const { demoKeys, demoPassword } = secrets;
  if (!(await canSignIn(urls.dashboard, demoPassword))) {
    const { ensureDemoUser } = await loadDemo();
    await ensureDemoUser(urls.database, DEMO_EMAIL, demoPassword);
  }
  return { api_key: demoKeys?.live ?? "", test_api_key: demoKeys?.test ?? "" };
}

/** Orders processes for stopping: databases last, so that the others can finish their work. */
function inStopOrder(orphans: readonly ProcessEntry[]): ProcessEntry[] {
  return STOP_ORDER.flat().flatMap((name) => orphans.filter((orphan) => orphan.name === name));
}

await runMain({ "": run }, []);
