/** The context of a worker's parts in tests: what a test does not need leads nowhere. */
import type { ClickHouseClient } from "@clickhouse/client";
import postgres from "postgres";

import type { ClickHouse, ClickHouseReader } from "../../shared/clicks/query.ts";
import { loadConfig } from "../../shared/env.ts";
import { processLog } from "../../shared/log.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { configSchema } from "../../worker/config.ts";
import type { Context } from "../../worker/context.ts";
import { Metrics } from "../../worker/metrics.ts";
import { AWAY } from "./nats.ts";

const NOWHERE = "127.0.0.1:1";

const ENVIRONMENT = {
  DATABASE_URL: `postgres://${NOWHERE}/none`,
  NATS_URL: `nats://${NOWHERE}`,
  CLICKHOUSE_URL: `http://${NOWHERE}`,
  SHORT_URL: "https://sho.rt",
  VISITOR_HASH_SECRET: "a secret of this installation",
};

/** Clients connect when they are first used; `env` changes the configuration. */
export function workerContext(
  parts: Partial<Context> = {},
  env: Record<string, string> = {},
): Context {
  const config = loadConfig(configSchema, { ...ENVIRONMENT, ...env });
  const sql = parts.sql ?? postgres(config.DATABASE_URL);
  const clickhouse = parts.clickhouse ?? connectClickHouse(config.CLICKHOUSE_URL);
  return {
    config,
    log: processLog("test", "silent"),
    metrics: new Metrics(),
    nats: AWAY,
    comparing: clickhouse,
    eventsSql: sql,
    webhooksSql: sql,
    ...parts,
    sql,
    clickhouse,
  };
}

/** A fake of the methods that a test's part uses. */
export const asClient = (fake: ClickHouse | ClickHouseReader): ClickHouseClient =>
  fake as ClickHouseClient;
