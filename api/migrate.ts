/** The command `migrate`: brings PostgreSQL's schema up to date. */
import type { DestinationStream } from "pino";

import { loadConfig } from "../shared/env.ts";
import { processLog } from "../shared/log.ts";
import { migrateConfigSchema } from "./config.ts";
import { ensureDatabase, migratePostgres } from "./migrations/migrate.ts";
import { usePostgres } from "./postgres.ts";

/**
 * Creates the database of `DATABASE_URL` if it is missing, and applies pending migrations. Logs to
 * standard output, or to `output`.
 */
export async function migrate(
  env: Record<string, string | undefined>,
  output?: DestinationStream,
): Promise<void> {
  const config = loadConfig(migrateConfigSchema, env);
  const log = processLog("api", config.LOG_LEVEL, output);
  await ensureDatabase(config.DATABASE_URL, log);
  await usePostgres(config.DATABASE_URL, (sql) => migratePostgres(sql, log));
}
