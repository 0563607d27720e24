/** The worker's configuration. */
import * as z from "zod";

import { envInteger, envList, envLogLevel, envPort, envUrl } from "../shared/env.ts";

export const configSchema = z.object({
  LOG_LEVEL: envLogLevel,
  /** Address and port of health and metrics; never to be reached from outside. */
  WORKER_METRICS_HOST: z.string().default("127.0.0.1"),
  WORKER_METRICS_PORT: envPort(9103),
  DATABASE_URL: envUrl(["postgres", "postgresql"]),
  NATS_URL: envUrl(["nats", "tls"]),
  /** The path names the database; without one it is `default`. */
  CLICKHOUSE_URL: envUrl(["http", "https"]),
  /** For how many days single clicks, and rollups, are kept; 0 for ever. `migrate` sets it. */
  CLICKS_RETENTION_DAYS: envInteger(0, 0, 36_500),
  ROLLUPS_RETENTION_DAYS: envInteger(0, 0, 36_500),
  /** Where short links are served: a referrer there counts as none. */
  SHORT_URL: envUrl(["http", "https"]),
  /** More host names that mean the default short domain. */
  SHORT_HOSTS: envList(),
  /** City databases in MMDB form; the first that knows an address answers. */
  GEOIP_DATABASES: envList(),
  /**
   * What `Sec-GPC: 1` and `DNT: 1` do beside hiding city and referrer path: `anonymous` makes each such
   * click a visitor of its own.
   */
  PRIVACY_SIGNAL: z.enum(["honour", "anonymous"]).default("honour"),
  /** Key of the visitor hashes. Changing it makes every visitor a new one. */
  VISITOR_HASH_SECRET: z.string("must be set").min(16, "must have 16 characters at least"),
  /** The most bytes of clicks that wait in JetStream for a worker. */
  CLICKS_BYTES_MAX: envInteger(8 * 1024 ** 3, 1024 ** 2, 2 ** 50),
});

/** What `migrate` needs. */
export const migrateConfigSchema = configSchema.pick({
  LOG_LEVEL: true,
  CLICKHOUSE_URL: true,
  CLICKS_RETENTION_DAYS: true,
  ROLLUPS_RETENTION_DAYS: true,
});
