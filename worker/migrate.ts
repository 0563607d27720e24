/** The command `migrate`: brings ClickHouse's schema and its retention up to date. */
import type { DestinationStream } from "pino";

import { rememberRetention } from "../shared/clicks/whole-clicks.ts";
import { loadConfig } from "../shared/env.ts";
import { createLog } from "../shared/log.ts";
import { MIGRATION_TIMEOUT_MS, openClickHouse } from "./clickhouse.ts";
import { migrateConfigSchema } from "./config.ts";
import { createDatabaseIfMissing } from "./migrations/create-database.ts";
import { migrateClickHouse } from "./migrations/migrate.ts";
import { setRetention } from "./migrations/retention.ts";

/**
 * Creates the database of `CLICKHOUSE_URL` if it is missing, applies pending migrations and sets
 * the retention. Logs to standard output, or to `output`.
 */
export async function migrate(
  env: Record<string, string | undefined>,
  output?: DestinationStream,
): Promise<void> {
  const config = loadConfig(migrateConfigSchema, env);
  await createDatabaseIfMissing(config.CLICKHOUSE_URL);
  const client = openClickHouse(config.CLICKHOUSE_URL, MIGRATION_TIMEOUT_MS);
  const log = createLog("worker", config.LOG_LEVEL, output);
  await migrateClickHouse(client, log);
  // A longer retention does not bring back what the earlier one deleted.
  await rememberRetention(client);
  await setRetention(client, {
    clicksDays: config.CLICKS_RETENTION_DAYS,
    rollupsDays: config.ROLLUPS_RETENTION_DAYS,
  });
  await rememberRetention(client);
  await client.close();
}
