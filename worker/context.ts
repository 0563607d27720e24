/** The context of the worker's parts, made once, in main.ts. */
import type { ClickHouseClient } from "@clickhouse/client";
import type postgres from "postgres";

import type { Lifecycle } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import { type Nats, NatsClient } from "../shared/nats.ts";
import { connectPrimary } from "../shared/postgres.ts";
import { COMPARISON_TIMEOUT_MS, connectClickHouse } from "./clickhouse.ts";
import type { Config } from "./config.ts";
import { Metrics } from "./metrics.ts";

export type Context = {
  config: Config;
  log: Log;
  metrics: Metrics;
  nats: Nats;
  clickhouse: ClickHouseClient;
  /** For the queries of the consistency check, which take long. */
  comparing: ClickHouseClient;
  /** PostgreSQL. Some parts have connections of their own, so that none waits for another. */
  sql: postgres.Sql;
  eventsSql: postgres.Sql;
  webhooksSql: postgres.Sql;
};

/** Longest time of a statement about webhooks: a blocked database must not block for ever. */
const WEBHOOK_STATEMENT_TIMEOUT_MS = 5_000;

/**
 * Connects to the stores, on demand to all but NATS. The connections are closed when the worker
 * stops, after everything that is registered later.
 */
export function connect(config: Config, log: Log, lifecycle: Lifecycle): Context {
  const clickhouse = connectClickHouse(config.CLICKHOUSE_URL);
  const comparing = connectClickHouse(config.CLICKHOUSE_URL, COMPARISON_TIMEOUT_MS);
  lifecycle.onStop("clickhouse", () => Promise.all([clickhouse.close(), comparing.close()]));
  const nats = new NatsClient(config.NATS_URL, "worker", log, config);
  lifecycle.onStop("nats", () => nats.close());
  const connectPostgres = (name: string, max: number, limits: PostgresLimits = {}) => {
    const { idle_timeout, ...statements } = limits;
    const sql = connectPrimary(config.DATABASE_URL, {
      max,
      connect_timeout: 2,
      ...(idle_timeout === undefined ? {} : { idle_timeout }),
      backoff: () => 1,
      onnotice: () => undefined,
      connection: { application_name: name, ...statements },
    });
    lifecycle.onStop(`postgres of ${name}`, () => sql.end({ timeout: 2 }));
    return sql;
  };
  return {
    config,
    log,
    metrics: new Metrics(),
    nats,
    clickhouse,
    comparing,
    sql: connectPostgres("shorthop-worker", 2),
    eventsSql: connectPostgres("shorthop-worker-events", 1),
    webhooksSql: connectPostgres("shorthop-webhooks", 4, {
      idle_timeout: 60,
      statement_timeout: WEBHOOK_STATEMENT_TIMEOUT_MS,
    }),
  };
}

/** Seconds without use until a connection is closed, and milliseconds of a statement. */
type PostgresLimits = { idle_timeout?: number; statement_timeout?: number };
