/** The connection to ClickHouse, for reading. */
import { ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";

/** A question takes at most this long; beyond, the answer is 503 and ClickHouse stops working on it. */
const QUERY_TIMEOUT_MS = 10_000;

/** Opens a client; connections are made when first needed. */
export const openClickHouse = (url: string) =>
  createClient({
    url,
    application: "shorthop-api",
    request_timeout: QUERY_TIMEOUT_MS,
    max_open_connections: 20,
    use_multipart_params_auto: true,
    // Failures are judged and logged where they are handled.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: { max_execution_time: QUERY_TIMEOUT_MS / 1_000 },
  });

/** Whether an error of a query says that ClickHouse cannot answer now, rather than that we erred. */
export const isClickHouseUnavailable = (error: unknown): boolean =>
  error instanceof ClickHouseError
    ? // TOO_SLOW, TIMEOUT_EXCEEDED, MEMORY_LIMIT_EXCEEDED, TOO_MANY_SIMULTANEOUS_QUERIES
      ["160", "159", "241", "202"].includes(error.code)
    : error instanceof Error && /timeout|socket|connect|ECONN/i.test(error.message);
