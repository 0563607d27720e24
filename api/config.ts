/** The API's configuration. */
import * as z from "zod";

import { envBoolean, envInteger, envList, envLogLevel, envPort, envUrl } from "../shared/env.ts";

const variables = z.object({
  LOG_LEVEL: envLogLevel,
  /** Address and port of /v1. */
  API_HOST: z.string().default("0.0.0.0"),
  API_PORT: envPort(3000),
  /** Address and port of health and metrics; never to be reached from outside. */
  API_METRICS_HOST: z.string().default("127.0.0.1"),
  API_METRICS_PORT: envPort(9101),
  DATABASE_URL: envUrl(["postgres", "postgresql"]),
  DATABASE_CONNECTIONS_MAX: envInteger(20, 1, 1_000),
  NATS_URL: envUrl(["nats", "tls"]),
  CLICKHOUSE_URL: envUrl(["http", "https"]),
  /** For how many days single clicks are kept, as the worker's `migrate` was told; 0 for ever. */
  CLICKS_RETENTION_DAYS: envInteger(0, 0, 36_500),
  /** Where short links are served, e.g. https://sho.rt; what short_url is built from. */
  SHORT_URL: envUrl(["http", "https"]),
  /** More host names that mean the default short domain. */
  SHORT_HOSTS: envList(),
  /** Resolvers that custom domains are verified by, `address` or `address:port`; the system's when empty. */
  DNS_SERVERS: envList(),
  /** Whether links may lead to private addresses and localhost. */
  ALLOW_PRIVATE_TARGETS: envBoolean(false),
  /** Where traces are sent, by OTLP over HTTP; none when not set. */
  OTEL_EXPORTER_OTLP_ENDPOINT: envUrl(["http", "https"]).optional(),
  /** Addresses and CIDR blocks of proxies, or how many there are. */
  TRUSTED_PROXIES: envList(),
  /** Where browsers reach the dashboard, e.g. https://app.sho.rt; without it there is none. */
  DASHBOARD_URL: envUrl(["http", "https"]).optional(),
  /** Address and port of the dashboard. */
  DASHBOARD_HOST: z.string().default("0.0.0.0"),
  DASHBOARD_PORT: envPort(3001),
  /** What the cookies of sessions are signed with; the same for all API processes. */
  DASHBOARD_SECRET: z.string().min(32, "must have 32 characters at least").optional(),
  /** The folder of the built dashboard. */
  DASHBOARD_DIR: z.string().default("/opt/shorthop/dashboard"),
});

export const configSchema = variables.refine(
  ({ DASHBOARD_URL, DASHBOARD_SECRET }) =>
    DASHBOARD_URL === undefined || DASHBOARD_SECRET !== undefined,
  { path: ["DASHBOARD_SECRET"], message: "must be set with DASHBOARD_URL" },
);

/** What `migrate` needs. */
export const migrateConfigSchema = variables.pick({ LOG_LEVEL: true, DATABASE_URL: true });
