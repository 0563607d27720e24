/** The gateway's configuration. */
import * as z from "zod";

import { envLogLevel, envPort } from "../../../shared/env.ts";

export const configSchema = z.object({
  LOG_LEVEL: envLogLevel,
  CLICKHOUSE_GATEWAY_HOST: z.string().default("127.0.0.1"),
  CLICKHOUSE_GATEWAY_PORT: envPort(8123),
  /** The directory of the tables; one process at a time. */
  CLICKHOUSE_GATEWAY_DATA_DIR: z.string("must be set to a directory"),
});
