/** The worker's configuration. */
import * as z from "zod";

import { envHosts, envInteger, envList, envLogLevel, envPort, envUrl } from "../shared/env.ts";
import { envNatsReplicas, envNatsUrl, natsFileVariables } from "../shared/nats.ts";
import { envPostgresUrl } from "../shared/postgres.ts";
import { webhookVariables } from "../shared/webhooks.ts";

export const configSchema = z.object({
  LOG_LEVEL: envLogLevel,
  /** Address and port of health checks and metrics. They must not be reachable from outside. */
  WORKER_METRICS_HOST: z.string().default("127.0.0.1"),
  WORKER_METRICS_PORT: envPort(9103),
  DATABASE_URL: envPostgresUrl,
  NATS_URL: envNatsUrl,
  ...natsFileVariables,
  NATS_REPLICAS: envNatsReplicas,
  /** The path is the database; `default` without one. */
  CLICKHOUSE_URL: envUrl(["http", "https"]),
  /** Days for which clicks and rollups are retained; 0 is forever. `migrate` applies them. */
  CLICKS_RETENTION_DAYS: envInteger(0, 0, 36_500),
  ROLLUPS_RETENTION_DAYS: envInteger(0, 0, 36_500),
  /** Base URL of short links. A referrer on its host counts as direct. */
  SHORT_URL: envUrl(["http", "https"]),
  /** Further host names of the default short domain. */
  SHORT_HOSTS: envHosts(),
  /** City databases in MMDB format; the first with a record for an address is used. */
  GEOIP_DATABASES: envList(),
  /** Where `geoip-update` downloads each of them from. */
  GEOIP_URLS: envList(),
  /**
   * Effect of `Sec-GPC: 1` and `DNT: 1` besides hiding city and referrer path: with `anonymous`
   * each such click counts as a separate visitor.
   */
  PRIVACY_SIGNAL: z.enum(["honour", "anonymous"]).default("honour"),
  /** Key of the visitor hashes. After a change every visitor counts as new. */
  VISITOR_HASH_SECRET: z.string("must be set").min(16, "must have 16 characters at least"),
  ...webhookVariables,
  /** Resolvers of receivers of webhooks, `address` or `address:port`; the system's when empty. */
  DNS_SERVERS: envList(),
  /** Maximum bytes of clicks waiting in JetStream for a worker. */
  CLICKS_BYTES_MAX: envInteger(8 * 1024 ** 3, 1024 ** 2, 2 ** 50),
});

export type Config = z.output<typeof configSchema>;

/** The configuration of `geoip-update`. */
export const geoipConfigSchema = configSchema
  .pick({ GEOIP_DATABASES: true, GEOIP_URLS: true })
  .refine((config) => config.GEOIP_URLS.length === config.GEOIP_DATABASES.length, {
    path: ["GEOIP_URLS"],
    message: "must have a URL for each file of GEOIP_DATABASES",
  })
  .refine((config) => config.GEOIP_URLS.every((url) => URL.canParse(url)), {
    path: ["GEOIP_URLS"],
    message: "must be http or https URLs",
  });

/** The configuration of `migrate`. */
export const migrateConfigSchema = configSchema.pick({
  LOG_LEVEL: true,
  DATABASE_URL: true,
  CLICKHOUSE_URL: true,
  CLICKS_RETENTION_DAYS: true,
  ROLLUPS_RETENTION_DAYS: true,
});
