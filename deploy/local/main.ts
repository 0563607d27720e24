/** The local stack: `npm start` runs the whole of Shorthop on this machine. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import { loadConfig } from "../../shared/env.ts";
import { runMain } from "../../shared/lifecycle.ts";
import { configSchema } from "./config.ts";
import { buildDashboard } from "./dashboard.ts";
import { banner, createDemoKey, DEMO_EMAIL, keyWorks, prepareDemoUser } from "./demo.ts";
import { createOutput } from "./output.ts";
import { choosePortsFor, startParts } from "./parts.ts";
import { removePlace } from "./postgres-place.ts";
import { endLeftover, openProcessFile, type ProcessEntry, readLeftovers } from "./processes.ts";
import { loadSecrets, saveSecrets, writePrivate } from "./secrets.ts";
import { appServices, metricsUrl, migrationRuns, type StackFile, STOP_ORDER } from "./stack.ts";
import { createSupervisor, seconds } from "./supervisor.ts";

const LEFTOVER_PATIENCE_MS = 10_000;

/** Within this a signal is the same one again: npm passes on what the terminal has told everybody. */
const SAME_SIGNAL_MS = 500;

/** How often the stack looks whether whoever started it is still there. */
const PARENT_POLL_MS = 1_000;

async function run(): Promise<void> {
  const options = new Command("npm start --")
    .description("Run the whole of Shorthop on this machine.")
    .option("--fresh", "start empty: remove everything that was kept", false)
    .parse()
    .opts<{ fresh: boolean }>();
  const config = loadConfig(configSchema, process.env);
  const dataDir = config.SHORTHOP_DATA_DIR;
  const paths = {
    processes: join(dataDir, "processes.json"),
    stack: join(dataDir, "stack.json"),
    secrets: join(dataDir, "secrets.json"),
    postgres: join(dataDir, "postgres"),
  };
  const started = Date.now();
  const leftovers = readLeftovers(paths.processes);
  if (leftovers.supervisor !== undefined) {
    console.error(
      `Shorthop is already running here (process ${leftovers.supervisor}, data in ${dataDir}).`,
    );
    process.exit(1);
  }
  for (const leftover of inStopOrder(leftovers.children)) {
    console.log(
      `Ending ${leftover.name} (process ${leftover.pid}), left running by an earlier start.`,
    );
    await endLeftover(leftover, LEFTOVER_PATIENCE_MS);
  }
  if (options.fresh) {
    removePlace(paths.postgres);
    // The programs that were fetched are no data.
    for (const name of ["postgres", "nats", "clickhouse", "journal", "logs", "secrets.json"]) {
      rmSync(join(dataDir, name), { recursive: true, force: true });
    }
  }
  rmSync(paths.stack, { force: true });
  mkdirSync(dataDir, { recursive: true });

  const colour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
  const output = createOutput({ logDir: join(dataDir, "logs"), colour });
  const processes = openProcessFile(paths.processes);
  const secrets = loadSecrets(paths.secrets);
  const supervisor = createSupervisor({
    output,
    processes,
    onRestart: writeStackFile,
    onFatal: (reason) => void stop(reason),
  });
  let stack: Omit<StackFile, "pids"> | undefined;
  let stopping = false;

  /** Written when the stack is ready, and again whenever a process has got another number. */
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
    output.say(`Stopping: ${reason}`);
    await supervisor.stop(STOP_ORDER);
    rmSync(paths.stack, { force: true });
    processes.clear();
    output.say("Stopped; nothing is left running.");
    process.exit(code);
  }

  let signalledAt = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // A second one is from somebody who will not wait; the next start ends what is left.
      if (stopping && Date.now() - signalledAt > SAME_SIGNAL_MS) process.exit(1);
      signalledAt = Date.now();
      void stop(signal, 0);
    });
  }
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) void stop("whoever started this has ended", 0);
  }, PARENT_POLL_MS).unref();

  try {
    const dashboard = buildDashboard();
    const ports = await choosePortsFor(config, output);
    const urls = await startParts({
      config,
      ports,
      dataDir,
      postgresHome: paths.postgres,
      secrets,
      supervisor,
      output,
    });
    for (const run of migrationRuns(urls)) await supervisor.runOnce(run);
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
      dashboardDir: await dashboard,
    });
    await Promise.all(services.map((service) => supervisor.start(service)));
    if (secrets.demoKey === undefined || !(await keyWorks(urls.api, secrets.demoKey))) {
      secrets.demoKey = await createDemoKey(urls.database);
      saveSecrets(paths.secrets, secrets);
    }
    await prepareDemoUser(urls, secrets.demoPassword);
    stack = {
      api_url: urls.api,
      short_url: urls.short,
      api_key: secrets.demoKey,
      dashboard_url: urls.dashboard,
      dashboard_email: DEMO_EMAIL,
      dashboard_password: secrets.demoPassword,
      api_metrics_url: metricsUrl(metrics.api),
      redirector_metrics_url: metricsUrl(metrics.redirector),
      worker_metrics_url: metricsUrl(metrics.worker),
      database_url: urls.database,
      nats_url: urls.nats,
      clickhouse_url: urls.clickhouse,
    };
    writeStackFile();
    output.say(`Ready after ${seconds(Date.now() - started)}.`);
    console.log(banner(stack));
  } catch (error) {
    await stop(error instanceof Error ? error.message : String(error));
  }
}

/** Whoever is to finish work must find its databases still running. */
function inStopOrder(leftovers: readonly ProcessEntry[]): ProcessEntry[] {
  return STOP_ORDER.flatMap((name) => leftovers.filter((leftover) => leftover.name === name));
}

await runMain({ "": run }, []);
