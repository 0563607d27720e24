/** The connection to ClickHouse, for queries. */
import {
  ClickHouseError,
  ClickHouseLogLevel,
  createClient,
  type ResponseHeaders,
} from "@clickhouse/client";
import { Counter, type Registry } from "prom-client";
import * as z from "zod";

import type { ClickChunks, ClickHouse } from "../shared/clicks/query.ts";
import { serverOptions } from "../shared/clicks/server.ts";
import { type ConcurrencyBounds, createConcurrencyLimit } from "./concurrency-limit.ts";
import { unavailable } from "./http/errors.ts";

/** Maximum time of a query; beyond that, the response is 503 and ClickHouse cancels the query. */
const QUERY_TIMEOUT_MS = 10_000;

/**
 * ClickHouse ends a query by itself before the client gives up: then it is known that it has
 * worked on it, and did not just fail to respond.
 */
const EXECUTION_SECONDS_MAX = 9;

/** Maximum memory of a query; beyond that, the response is 503. */
const QUERY_BYTES_MAX = 2 * 1024 ** 3;

/**
 * Connections to ClickHouse: one for each running query, and some for responses that are still
 * being read.
 */
const CONNECTIONS_MAX = 20;

/**
 * Maximum running and waiting queries, and the maximum wait. Without them, a burst of costly
 * queries would wait for connections indefinitely, since the client's timeout starts only when a
 * query has its connection.
 */
const QUERIES: ConcurrencyBounds = { running: 16, waiting: 256, waitMs: 5_000 };

/** Creates a client, which opens connections when it first needs them. */
export const openClickHouse = (url: string) =>
  createClient({
    ...serverOptions(url),
    application: "shorthop-api",
    request_timeout: QUERY_TIMEOUT_MS,
    max_open_connections: CONNECTIONS_MAX,
    use_multipart_params_auto: true,
    // Errors are logged where they are handled.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: {
      max_execution_time: EXECUTION_SECONDS_MAX,
      max_memory_usage: String(QUERY_BYTES_MAX),
    },
  });

/**
 * Milliseconds that a query and each row it reads can take ClickHouse: what it takes beyond is
 * spent on others.
 */
const QUERY_MS = 1;
const ROW_MS = 0.005;

/**
 * Milliseconds in which ClickHouse writes a mebibyte of rows that are read as they arrive: 4.5 µs
 * for a click (docs/benchmarks.md).
 */
const MS_PER_MEBIBYTE = 10;

const MEBIBYTE = 1024 * 1024;

/** The engine of the local stack does not say what it has read. */
const summary = z.object({
  read_rows: z.coerce.number().optional(),
  read_bytes: z.coerce.number().optional(),
  elapsed_ns: z.coerce.number(),
});

export type MeasuredClickHouse = ClickHouse &
  ClickChunks & {
    /** The same client; calls `onWork` with the milliseconds that each query took ClickHouse. */
    measured(onWork: (ms: number) => void): ClickHouse & ClickChunks;
  };

/**
 * Wraps a client: bounds its concurrent queries, and counts queries and the rows, bytes and time
 * that ClickHouse reports for them. A query throws `unavailable` when too many are already waiting.
 */
export function measureQueries(
  client: ReturnType<typeof openClickHouse>,
  registry: Registry,
): MeasuredClickHouse {
  const counter = (name: string, help: string) =>
    new Counter({ name: `shorthop_api_clickhouse_${name}_total`, help, registers: [registry] });
  const queries = counter("queries", "Queries that ClickHouse executed");
  const rows = counter("read_rows", "Rows that ClickHouse read for them");
  const bytes = counter("read_bytes", "Bytes that ClickHouse read for them");
  const seconds = counter("seconds", "Time that ClickHouse worked on them");
  const limit = createConcurrencyLimit(QUERIES, () =>
    unavailable(new Error("Too many queries wait for ClickHouse.")),
  );

  /** Counts a query; returns the milliseconds that it took ClickHouse until its first rows. */
  function count({ response_headers }: { response_headers: ResponseHeaders }): number {
    queries.inc();
    const header = response_headers["x-clickhouse-summary"];
    const read = summary.safeParse(typeof header === "string" ? JSON.parse(header) : undefined);
    if (!read.success) return 0;
    const { read_rows, read_bytes, elapsed_ns } = read.data;
    const elapsedMs = elapsed_ns / 1e6;
    if (read_rows === undefined) return elapsedMs;
    rows.inc(read_rows);
    bytes.inc(read_bytes);
    return Math.min(elapsedMs, QUERY_MS + read_rows * ROW_MS);
  }

  function measured(onWork: (ms: number) => void): ClickHouse & ClickChunks {
    function work(ms: number): void {
      seconds.inc(ms / 1_000);
      onWork(ms);
    }

    async function* follow(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        work((chunk.length / MEBIBYTE) * MS_PER_MEBIBYTE);
        yield chunk;
      }
    }

    /** Runs a statement when it is its turn; one that ClickHouse gave up is work, too. */
    const run = <Result extends { response_headers: ResponseHeaders }>(
      start: () => Promise<Result>,
    ): Promise<Result> =>
      limit(async () => {
        const startedMs = performance.now();
        try {
          const result = await start();
          work(count(result));
          return result;
        } catch (error) {
          if (isTooMuch(error)) work(performance.now() - startedMs);
          throw error;
        }
      });

    return {
      query: (params) => run(() => client.query(params)),
      async chunks(statement) {
        const { stream } = await run(() => client.exec(statement));
        return follow(stream);
      },
      command: (statement) => client.command(statement),
    };
  }

  return { ...measured(() => undefined), measured };
}

/** Whether ClickHouse ended a query for its time or memory. */
const isTooMuch = (error: unknown): boolean =>
  error instanceof ClickHouseError &&
  // TOO_SLOW, TIMEOUT_EXCEEDED, MEMORY_LIMIT_EXCEEDED
  ["160", "159", "241"].includes(error.code);

/**
 * Whether a query's error means that ClickHouse is unavailable, rather than that the query is
 * invalid.
 */
export const isClickHouseUnavailable = (error: unknown): boolean =>
  error instanceof ClickHouseError
    ? // TOO_MANY_SIMULTANEOUS_QUERIES
      isTooMuch(error) || error.code === "202"
    : error instanceof Error && /timeout|socket|connect|ECONN/i.test(error.message);
