/**
 * The ClickHouse gateway: the real engine as a library (chDB) behind ClickHouse's HTTP interface, so
 * that a stack without a ClickHouse server runs the same statements through the same client.
 */
import { mkdirSync } from "node:fs";

import { loadConfig } from "../../../shared/env.ts";
import { createLifecycle, runMain } from "../../../shared/lifecycle.ts";
import { createLog } from "../../../shared/log.ts";
import { configSchema } from "./config.ts";
import { openEngine } from "./engine.ts";
import { startGateway } from "./server.ts";

async function run(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("clickhouse", config.LOG_LEVEL);
  const lifecycle = createLifecycle(log);
  mkdirSync(config.CLICKHOUSE_GATEWAY_DATA_DIR, { recursive: true });
  const engine = openEngine(config.CLICKHOUSE_GATEWAY_DATA_DIR);
  lifecycle.onStop("engine", () => engine.close());
  const gateway = startGateway(
    config.CLICKHOUSE_GATEWAY_HOST,
    config.CLICKHOUSE_GATEWAY_PORT,
    engine,
  );
  lifecycle.onStop("server", () => gateway.stop());
  log.info({ url: gateway.url.origin }, "listening");
}

await runMain({ "": run }, []);
