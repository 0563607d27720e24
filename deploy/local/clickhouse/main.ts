/**
 * The ClickHouse gateway: the real engine as a library (chDB) behind ClickHouse's HTTP interface,
 * so that a stack without a ClickHouse server runs the same statements through the same client.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { envLogLevel, envPort, loadConfig } from "../../../shared/env.ts";
import { ProcessLifecycle, runMain } from "../../../shared/lifecycle.ts";
import { processLog } from "../../../shared/log.ts";
import { configure, Engine } from "./engine.ts";
import { Gateway } from "./gateway.ts";

/** Files are readable only by their owner. */
const UMASK = 0o077;

const USER = "shorthop";

/** Shorter passwords could be guessed; the local stack generates 32 random characters. */
const PASSWORD_LENGTH_MIN = 16;

const configSchema = z.object({
  LOG_LEVEL: envLogLevel,
  CLICKHOUSE_GATEWAY_HOST: z.string().default("127.0.0.1"),
  CLICKHOUSE_GATEWAY_PORT: envPort(8123),
  /** The directory of the tables; only one process may use it at a time. */
  CLICKHOUSE_GATEWAY_DATA_DIR: z.string("must be set to a directory"),
  /** Of the user {@link USER}, in every request except `/ping`. */
  CLICKHOUSE_GATEWAY_PASSWORD: z
    .string("must be set")
    .min(PASSWORD_LENGTH_MIN, `must have at least ${PASSWORD_LENGTH_MIN} characters`),
});

async function run(): Promise<void> {
  process.umask(UMASK);
  const config = loadConfig(configSchema, process.env);
  const log = processLog("clickhouse", config.LOG_LEVEL);
  const lifecycle = new ProcessLifecycle(log);
  const dataDir = config.CLICKHOUSE_GATEWAY_DATA_DIR;
  mkdirSync(dataDir, { recursive: true });
  const engine = new Engine(dataDir, configure(join(dataDir, "configuration")));
  lifecycle.onStop("engine", () => engine.close());
  const credentials = `${USER}:${config.CLICKHOUSE_GATEWAY_PASSWORD}`;
  const gateway = new Gateway(engine, credentials, {
    host: config.CLICKHOUSE_GATEWAY_HOST,
    port: config.CLICKHOUSE_GATEWAY_PORT,
  });
  lifecycle.onStop("server", () => gateway.stop());
  log.info({ url: gateway.url.origin }, "listening");
}

await runMain({ "": run }, []);
