/** The environment variables of the local stack. */
import { join, resolve } from "node:path";

import * as z from "zod";

import { envPort, envUrl } from "../../shared/env.ts";
import { linksKeyVariables } from "../../shared/links-log/signature.ts";
import { envNatsUrl } from "../../shared/nats.ts";
import { envPostgresUrl } from "../../shared/postgres.ts";

export const PROJECT_DIR = join(import.meta.dir, "../..");

export const configSchema = z.object({
  /** Where all data is stored. */
  SHORTHOP_DATA_DIR: z
    .string()
    .default(join(PROJECT_DIR, ".local"))
    .transform((path) => resolve(path)),
  LOG_LEVEL: z.string().default("info"),
  /** The executable whose processes run, in place of the sources. */
  SHORTHOP_EXECUTABLE: z.string().optional(),
  /** Services that run elsewhere; those not set are started here. */
  DATABASE_URL: envPostgresUrl.optional(),
  NATS_URL: envNatsUrl.optional(),
  CLICKHOUSE_URL: envUrl(["http", "https"]).optional(),
  /** The key with which API processes sign, where NATS runs elsewhere. */
  LINKS_SIGNING_KEY: linksKeyVariables.LINKS_SIGNING_KEY.optional(),
  /** Preferred ports; another one is chosen if one is in use. 0 chooses any. */
  API_PORT: envPort(3000),
  DASHBOARD_PORT: envPort(3001),
  REDIRECTOR_PORT: envPort(8080),
  API_METRICS_PORT: envPort(9101),
  REDIRECTOR_METRICS_PORT: envPort(9102),
  WORKER_METRICS_PORT: envPort(9103),
  POSTGRES_PORT: envPort(54_329),
  NATS_PORT: envPort(4222),
  CLICKHOUSE_PORT: envPort(8123),
});

export type StackConfig = z.output<typeof configSchema>;
