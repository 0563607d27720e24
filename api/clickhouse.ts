/** The connection to ClickHouse, for reading. */
import { ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { Counter, type Registry } from "prom-client";
import * as z from "zod";

import type { ClickHouse } from "../shared/clicks/rollups.ts";

/** A question takes at most this long; beyond, the answer is 503 and ClickHouse stops working on it. */
const QUERY_TIMEOUT_MS = 10_000;

/** A question needs no more memory than this; beyond, the answer is 503. */
const QUERY_BYTES_MAX = 2 * 1024 ** 3;

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
    clickhouse_settings: {
      max_execution_time: QUERY_TIMEOUT_MS / 1_000,
      max_memory_usage: String(QUERY_BYTES_MAX),
    },
  });

const summary = z.object({ read_rows: z.coerce.number(), read_bytes: z.coerce.number() });

/** A client whose questions are counted, with what ClickHouse says it had to read for them. */
export function countReads(
  client: ReturnType<typeof openClickHouse>,
  registry: Registry,
): ClickHouse {
  const counter = (name: string, help: string) =>
    new Counter({ name: `shorthop_api_clickhouse_${name}_total`, help, registers: [registry] });
  const queries = counter("queries", "Questions that ClickHouse answered");
  const rows = counter("read_rows", "Rows it read for them");
  const bytes = counter("read_bytes", "Bytes it read for them");
  return {
    async query(question) {
      const result = await client.query(question);
      queries.inc();
      const told = result.response_headers["x-clickhouse-summary"];
      const read = summary.safeParse(typeof told === "string" ? JSON.parse(told) : undefined);
      if (read.success) {
        rows.inc(read.data.read_rows);
        bytes.inc(read.data.read_bytes);
      }
      return result;
    },
    command: (statement) => client.command(statement),
  };
}

/** Whether an error of a query says that ClickHouse cannot answer now, rather than that we erred. */
export const isClickHouseUnavailable = (error: unknown): boolean =>
  error instanceof ClickHouseError
    ? // TOO_SLOW, TIMEOUT_EXCEEDED, MEMORY_LIMIT_EXCEEDED, TOO_MANY_SIMULTANEOUS_QUERIES
      ["160", "159", "241", "202"].includes(error.code)
    : error instanceof Error && /timeout|socket|connect|ECONN/i.test(error.message);
