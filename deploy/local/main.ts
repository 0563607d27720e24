/** The local stack: `npm start` runs all of Shorthop on this machine. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import { migrate as migratePostgres } from "../../api/migrations/migrate.ts";
import { cachedFolder } from "../../dashboard/cache.ts";
import { loadConfig } from "../../shared/env.ts";
import { runMain } from "../../shared/lifecycle.ts";
import { tryLock } from "../../shared/process-lock.ts";
import { CLIENT_FILE } from "../../shared/version.ts";
import { migrate as migrateClickHouse } from "../../worker/migrations/migrate.ts";
import { configSchema, PROJECT_DIR } from "./config.ts";
import { findFreePort } from "./ports.ts";
import { makeRoles, removeInstallation } from "./postgres.ts";
import type { DemoProvider } from "./provider.ts";
import { watchCode, withReload } from "./reload.ts";
import { loadSecrets, makePrivate, PRIVATE_UMASK, saveSecrets, type Secrets } from "./secrets.ts";
import {
  ALLOW_PRIVATE_TARGETS,
  appServices,
  bunScript,
  filesOf,
  LocalStack,
  metricsUrl,
  SHORT_HOSTS,
  type StackFile,
  type StackInfo,
  type StackUrls,
} from "./stack.ts";
import { choosePortsFor, type Ports, Stores } from "./stores.ts";
import { endWithParent, seconds } from "./supervisor.ts";

/** Folders of the data directory that `--fresh` removes. */
const DATA_FOLDERS = ["postgres", "nats", "clickhouse", "journal", "links", "logs"];

async function run(): Promise<void> {
  // Before anything is written: only the user may read links, clicks and secrets.
  process.umask(PRIVATE_UMASK);
  const { fresh, remove, watch, oidc } = new Command("npm start --")
    .description("Run all of Shorthop on this machine.")
    .option("--fresh", "start empty: remove all stored data", false)
    .option("--remove", "remove all stored data, wherever it is, and end", false)
    .option("--watch", "reload processes and the dashboard when their code changes", false)
    .option("--oidc", "also start a provider of OpenID Connect, to try signing in with one", false)
    .parse()
    .opts<{ fresh: boolean; remove: boolean; watch: boolean; oidc: boolean }>();
  const config = loadConfig(configSchema, process.env);
  const dataDir = config.SHORTHOP_DATA_DIR;
  const files = filesOf(dataDir);
  const started = Date.now();
  takeDataDir(dataDir);
  if (fresh || remove) removeData(dataDir);
  if (remove) {
    console.log(`Removed all stored data (${dataDir}).`);
    process.exit(0);
  }
  rmSync(files.stack, { force: true });
  makePrivate(dataDir, DATA_FOLDERS);

  const secrets = loadSecrets(files.secrets);
  secrets.linksSigningKey = config.LINKS_SIGNING_KEY ?? secrets.linksSigningKey;
  const stack = new LocalStack(config, secrets);
  stack.stopOnSignals();
  try {
    const ports = choosePortsFor(config, stack.logger);
    const provider = oidc ? await startProvider(ports, secrets) : undefined;
    const info = await runAll(stack, ports, watch, provider);
    stack.onReady(info);
    stack.logger.log(`Ready after ${seconds(Date.now() - started)}.`);
    console.log(banner(info, provider));
  } catch (error) {
    await stack.stop(error instanceof Error ? error.message : String(error));
  }
}

/** Takes the data directory; exits if it is taken. */
function takeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true });
  if (tryLock("local-stack", dataDir) !== undefined) return;
  console.error(`Shorthop is already running here (data in ${dataDir}).`);
  process.exit(1);
}

/** Removes all stored data. Downloaded programs are not data and stay. */
function removeData(dataDir: string): void {
  removeInstallation(join(dataDir, "postgres"));
  for (const name of [...DATA_FOLDERS, "secrets.json"]) {
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

/** Starts a provider that knows one person; its package takes a while to load. */
async function startProvider(
  { DASHBOARD_PORT: { port } }: Ports,
  { demoPassword }: Secrets,
): Promise<DemoProvider> {
  const { DemoProvider } = await import("./provider.ts");
  const provider = new DemoProvider(findFreePort(), `http://localhost:${port}`, demoPassword);
  await provider.listen();
  return provider;
}

/** Starts stores and processes, and creates the demo account; returns where all of them are. */
async function runAll(
  stack: LocalStack,
  ports: Ports,
  watch: boolean,
  provider: DemoProvider | undefined,
): Promise<StackInfo> {
  const { config, secrets, logger, supervisor } = stack;
  const dashboard = buildDashboard();
  const stores = new Stores(stack, ports);
  const { urls } = stores;
  const schemas = migrateStores(stack, stores);
  const metrics = {
    api: ports.API_METRICS_PORT.port,
    redirector: ports.REDIRECTOR_METRICS_PORT.port,
    worker: ports.WORKER_METRICS_PORT.port,
  };
  const services = appServices({
    urls,
    metrics,
    dataDir: config.SHORTHOP_DATA_DIR,
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
  await Promise.all(
    (watch ? withReload(services) : services).map(async (service) => {
      await needs[service.name];
      if (service.name === "api" && provider !== undefined)
        Object.assign(service.env, provider.settingsOf(await findDemoAccount(urls)));
      await supervisor.start(service);
      // A redirector is ready once it has all links, and the links log begins with an account.
      if (service.name === "api") await ensureDemo(stack, urls);
    }),
  );
  if (watch) watchCode(supervisor, logger);
  packClient(dashboard.folder);
  return {
    api_url: urls.api,
    short_url: urls.short,
    api_key: secrets.demoKeys?.live ?? "",
    test_api_key: secrets.demoKeys?.test ?? "",
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
    short_hosts: SHORT_HOSTS,
    allow_private_targets: ALLOW_PRIVATE_TARGETS,
  };
}

/**
 * Migrates each store once it runs; ClickHouse after PostgreSQL, which its migrations need. Makes
 * the roles of the processes in a PostgreSQL of the stack's own.
 */
function migrateStores(
  { config, secrets, logger }: LocalStack,
  { urls, postgres, clickhouse }: Stores,
): { postgres: Promise<void>; clickhouse: Promise<void> } {
  const env = { ...process.env, DATABASE_URL: urls.database, CLICKHOUSE_URL: urls.clickhouse };
  const output = { write: (line: string) => logger.logProcess("migrate", line.trimEnd()) };
  const schema = postgres.then(() => migratePostgres(env, output));
  const withRoles = schema.then(async () => {
    if (config.DATABASE_URL !== undefined) return;
    await makeRoles(urls.database, {
      shorthop_api: secrets.apiPostgresPassword,
      shorthop_worker: secrets.workerPostgresPassword,
    });
  });
  const clickhouseSchema = Promise.all([schema, clickhouse]).then(() =>
    migrateClickHouse(env, output),
  );
  return { postgres: withRoles, clickhouse: clickhouseSchema };
}

// The dashboard: rebuilt when its sources change, shared by all stacks of this checkout.

/** Returns the dashboard's folder, and builds it if necessary, in a process of its own. */
function buildDashboard(): { folder: string; built: Promise<void> } {
  const cache = join(PROJECT_DIR, ".local", "dashboard");
  const folder = cachedFolder(cache);
  return { folder, built: existsSync(folder) ? Promise.resolve() : build(cache) };
}

async function build(cache: string): Promise<void> {
  const code = await runScript(bunScript("dashboard/build.ts", "--cached", cache)).exited;
  if (code !== 0) throw new Error(`The dashboard could not be built (exit code ${code}).`);
}

/** Packs the TypeScript client, which the API serves, unless it is there. Nothing waits for it. */
function packClient(folder: string): void {
  const file = join(folder, CLIENT_FILE);
  if (!existsSync(file)) runScript(bunScript("deploy/pack-clients.ts", file));
}

const runScript = (command: readonly string[]) =>
  Bun.spawn(endWithParent(command), { stdio: ["ignore", "ignore", "inherit"] });

// The demo account and user.

/** What makes accounts and users takes a third of a second to load, and most starts have both. */
const loadDemo = () => import("../../api/demo.ts");

const findDemoAccount = async ({ database }: StackUrls): Promise<string> =>
  (await loadDemo()).ensureDemoAccount(database);

/** Creates the demo account's keys and user, unless they work. */
async function ensureDemo({ config, secrets }: LocalStack, urls: StackUrls): Promise<void> {
  const known = secrets.demoKeys;
  if (known === undefined || !(await keyWorks(urls.api, known.live))) {
    const { addDemoKeys } = await loadDemo();
    secrets.demoKeys = await addDemoKeys(urls.database);
    saveSecrets(filesOf(config.SHORTHOP_DATA_DIR).secrets, secrets);
  }
  if (await canSignIn(urls.dashboard, secrets.demoPassword)) return;
  const { ensureDemoUser } = await loadDemo();
  await ensureDemoUser(urls.database, DEMO_EMAIL, secrets.demoPassword);
}

/** Attempts to have the API check the key, which needs PostgreSQL, and the pause between two. */
const ATTEMPTS_MAX = 60;
const RETRY_MS = 500;

/** Whether the API accepts the key, which may be of another database. Throws if it cannot say. */
async function keyWorks(apiUrl: string, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` };
  let status = 0;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    ({ status } = await fetch(`${apiUrl}/v1/limits`, { headers }));
    // A rate-limited key is valid.
    if (status === 200 || status === 429) return true;
    if (status === 401 || status === 403) return false;
    await Bun.sleep(RETRY_MS);
  }
  throw new Error(
    `The API does not say whether the demo key is valid: it responds with ${status}.`,
  );
}

const DEMO_EMAIL = "demo@example.com";

/** Whether the demo user can sign in; the password may be of another database. */
async function canSignIn(dashboardUrl: string, password: string): Promise<boolean> {
  const response = await fetch(`${dashboardUrl}/auth/sign-in`, {
    method: "POST",
    headers: { origin: dashboardUrl, "content-type": "application/json" },
    body: JSON.stringify({ email: DEMO_EMAIL, password }),
  });
  return response.ok;
}

/** The text printed when the stack is ready; `provider` is one to sign in with. */
const banner = (stack: Omit<StackFile, "pids">, provider: DemoProvider | undefined): string => `
  Shorthop is ready.

    API           ${stack.api_url}/v1
    Short links   ${stack.short_url}
    Live key      ${stack.api_key}
    Test key      ${stack.test_api_key}
    Dashboard     ${stack.dashboard_url}
                  sign in as ${stack.dashboard_email}, password ${stack.dashboard_password}${describeProvider(stack, provider)}

  Create a short link:

    curl -X POST ${stack.api_url}/v1/links \\
      -H 'Authorization: Bearer ${stack.api_key}' \\
      -H 'Content-Type: application/json' \\
      -d '{"url": "https://example.com/hello", "alias": "hello"}'

  Follow it, then look at its clicks (LINK_ID is the "id" above):

    curl -i ${stack.short_url}/hello
    curl '${stack.api_url}/v1/analytics/LINK_ID?period=24h' \\
      -H 'Authorization: Bearer ${stack.api_key}'

  Ctrl-C stops everything; links and clicks are kept.
`;

const describeProvider = (
  { dashboard_password }: Omit<StackFile, "pids">,
  provider: DemoProvider | undefined,
): string =>
  provider === undefined
    ? ""
    : `
    Provider      ${provider.issuer}
                  sign in as ${provider.email}, password ${dashboard_password}`;

await runMain({ "": run }, []);
