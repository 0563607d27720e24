/** The API's configuration. */
import * as z from "zod";

import { envBoolean, envInteger, envList, envLogLevel, envPort, envUrl } from "../shared/env.ts";

export const configSchema = z.object({
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
});

/** What `migrate` needs. */
export const migrateConfigSchema = configSchema.pick({ LOG_LEVEL: true, DATABASE_URL: true });
