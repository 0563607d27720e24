/**
 * The ClickHouse gateway: the real engine as a library (chDB) behind ClickHouse's HTTP interface,
 * so that a stack without a ClickHouse server runs the same statements through the same client.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { loadConfig } from "../../../shared/env.ts";
import { ProcessLifecycle, runMain } from "../../../shared/lifecycle.ts";
import { processLog } from "../../../shared/log.ts";
import { configSchema } from "./config.ts";
import { confine } from "./confinement.ts";
import { openEngine } from "./engine.ts";
import { startGateway } from "./server.ts";

/** Files are readable only by their owner. */
const UMASK = 0o077;

async function run(): Promise<void> {
  process.umask(UMASK);
  const config = loadConfig(configSchema, process.env);
  const log = processLog("clickhouse", config.LOG_LEVEL);
  const lifecycle = new ProcessLifecycle(log);
  const dataDir = config.CLICKHOUSE_GATEWAY_DATA_DIR;
  mkdirSync(dataDir, { recursive: true });
  const engine = await openEngine(dataDir, confine(join(dataDir, "configuration")));
  lifecycle.onStop("engine", () => engine.close());
  const gateway = startGateway({
    host: config.CLICKHOUSE_GATEWAY_HOST,
    port: config.CLICKHOUSE_GATEWAY_PORT,
    credentials: {
      user: config.CLICKHOUSE_GATEWAY_USER,
      password: config.CLICKHOUSE_GATEWAY_PASSWORD,
    },
    engine,
  });
  lifecycle.onStop("server", () => gateway.stop());
  log.info({ url: gateway.url.origin }, "listening");
}

await runMain({ "": run }, []);
