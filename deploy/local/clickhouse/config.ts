/** The gateway's configuration. */
import * as z from "zod";

import { envLogLevel, envPort } from "../../../shared/env.ts";

/** Shorter passwords could be guessed; the local stack generates 32 random characters. */
const PASSWORD_LENGTH_MIN = 16;

export const configSchema = z.object({
  LOG_LEVEL: envLogLevel,
  CLICKHOUSE_GATEWAY_HOST: z.string().default("127.0.0.1"),
  CLICKHOUSE_GATEWAY_PORT: envPort(8123),
  /** The directory of the tables; only one process may use it at a time. */
  CLICKHOUSE_GATEWAY_DATA_DIR: z.string("must be set to a directory"),
  /** The credentials that every request except `/ping` must carry. */
  CLICKHOUSE_GATEWAY_USER: z.string().min(1).default("shorthop"),
  CLICKHOUSE_GATEWAY_PASSWORD: z
    .string("must be set")
    .min(PASSWORD_LENGTH_MIN, `must have at least ${PASSWORD_LENGTH_MIN} characters`),
});
