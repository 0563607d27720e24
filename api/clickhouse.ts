/** The connection to ClickHouse, for queries. */
import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  createClient,
  type ResponseHeaders,
} from "@clickhouse/client";
import { Counter, type Registry } from "prom-client";
import * as z from "zod";

import type { StatisticsBudget } from "../shared/budgets.ts";
import { type ClickChunks, type ClickHouse, serverOptions } from "../shared/clicks/query.ts";
import { FairQueue, type FairQueueBounds } from "../shared/fair-queue.ts";
import type { AccountScope } from "./http/principal.ts";
import { type Budgets, budgets, type Payer } from "./limits/budgets.ts";

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
 * Running and waiting queries, of all accounts and of one, and the longest wait. Without them, a
 * burst of costly queries would wait for connections indefinitely, since the client's timeout
 * starts only when a query has its connection.
 */
const QUERIES: FairQueueBounds = {
  running: 16,
  runningEach: 4,
  waiting: 1_024,
  waitingEach: 64,
  waitMs: 5_000,
};

/**
 * Milliseconds that are reserved from a budget until the cost of a query is known. Queries of a
 * page of the dashboard fit into what a free account may take at once.
 */
const RESERVED_MS = 200;

/** Creates a client, which opens connections when it first needs them. */
export const clickHouseClient = (url: string): ClickHouseClient =>
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
 * The most milliseconds that are charged for a query and for each row that it reads: beyond that,
 * it waited for the queries of others.
 */
const QUERY_MS = 1;
const ROW_MS = 0.005;

/** Milliseconds in which ClickHouse writes a mebibyte of rows that are read as they arrive. */
const MS_PER_MEBIBYTE = 10;

const MEBIBYTE = 1024 * 1024;

const paidByNobody = (): void => undefined;

const SERVICE = "service";

/** The engine of the local stack does not say what it has read. */
const summary = z.object({
  read_rows: z.coerce.number().optional(),
  read_bytes: z.coerce.number().optional(),
  elapsed_ns: z.coerce.number(),
});

/** ClickHouse as a client that returns rows, or chunks of them as they arrive. */
export type ClicksClient = ClickHouse & ClickChunks;

/** The account that reads. Its own budget pays, unless `paysWith` names another one. */
export type ClicksReader = AccountScope & Payer & { paysWith?: StatisticsBudget };

/** Where accounts read clicks. */
export type ClicksSource = { for(reader: ClicksReader): ClicksClient };

/**
 * ClickHouse for accounts. Each pays for what its queries take from a budget, and accounts take
 * turns. Counts queries and the rows, bytes and time that ClickHouse reports for them.
 */
export class MeasuredClickHouse implements ClicksSource {
  readonly #client: ClickHouseClient;
  readonly #budgets: Budgets;
  readonly #queue = new FairQueue("ClickHouse", QUERIES);
  readonly #queries: Counter;
  readonly #rows: Counter;
  readonly #bytes: Counter;
  readonly #seconds: Counter;

  constructor(client: ClickHouseClient, registry: Registry, of = budgets) {
    this.#client = client;
    this.#budgets = of;
    const counter = (name: string, help: string) =>
      new Counter({ name: `shorthop_api_clickhouse_${name}_total`, help, registers: [registry] });
    this.#queries = counter("queries", "Queries that ClickHouse executed");
    this.#rows = counter("read_rows", "Rows that ClickHouse read for them");
    this.#bytes = counter("read_bytes", "Bytes that ClickHouse read for them");
    this.#seconds = counter("seconds", "Time that ClickHouse worked on them");
  }

  /**
   * ClickHouse for a reader. Throws `rate_limited` while its account has nothing left of the
   * budget, and so does each query; a query also throws {@link QueueFull}.
   */
  for(reader: ClicksReader): ClicksClient {
    const budget = reader.paysWith ?? "statistics";
    this.#budgets.require(reader, budget);
    const { accountId } = reader;
    const spend = (ms: number): void => this.#budgets.spend(reader, budget, ms);
    return this.#clientWith(spend, async (start) => {
      let reserved = 0;
      const reserve = (ms: number): void => {
        this.#budgets.spend(reader, budget, ms - reserved);
        reserved = ms;
      };
      this.#budgets.require(reader, budget);
      reserve(RESERVED_MS);
      try {
        return await this.#queue.run(accountId, async () => {
          // Others that ran meanwhile may have used up the rest.
          reserve(0);
          this.#budgets.require(reader, budget);
          reserve(RESERVED_MS);
          return await this.#measure(start, spend);
        });
      } finally {
        reserve(0);
      }
    });
  }

  /** ClickHouse for work that the service does for all accounts at once. */
  forService(): ClicksClient {
    return this.#clientWith(paidByNobody, (start) =>
      this.#queue.run(SERVICE, () => this.#measure(start, paidByNobody)),
    );
  }

  /** `run` runs a statement in its turn; `spend` gets the milliseconds of chunks that follow. */
  #clientWith(
    spend: (ms: number) => void,
    run: <T extends { response_headers: ResponseHeaders }>(start: () => Promise<T>) => Promise<T>,
  ): ClicksClient {
    const client = this.#client;
    return {
      query: (params) => run(() => client.query(params)),
      chunks: async (statement) => {
        const { stream } = await run(() => client.exec(statement));
        return this.#follow(stream, spend);
      },
      command: (statement) => client.command(statement),
    };
  }

  /** Runs a statement. Its time counts also when ClickHouse has ended it for its time or memory. */
  async #measure<T extends { response_headers: ResponseHeaders }>(
    start: () => Promise<T>,
    onWork: (ms: number) => void,
  ): Promise<T> {
    const startedMs = performance.now();
    try {
      const result = await start();
      this.#work(this.#count(result), onWork);
      return result;
    } catch (error) {
      if (isTooMuch(error)) this.#work(performance.now() - startedMs, onWork);
      throw error;
    }
  }

  async *#follow(
    chunks: AsyncIterable<Uint8Array>,
    spend: (ms: number) => void,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#work((chunk.length / MEBIBYTE) * MS_PER_MEBIBYTE, spend);
      yield chunk;
    }
  }

  #work(ms: number, onWork: (ms: number) => void): void {
    this.#seconds.inc(ms / 1_000);
    onWork(ms);
  }

  /** Counts a query; returns the milliseconds that it took ClickHouse until its first rows. */
  #count({ response_headers }: { response_headers: ResponseHeaders }): number {
    this.#queries.inc();
    const header = response_headers["x-clickhouse-summary"];
    const read = summary.safeParse(typeof header === "string" ? JSON.parse(header) : undefined);
    if (!read.success) return 0;
    const { read_rows, read_bytes, elapsed_ns } = read.data;
    const elapsedMs = elapsed_ns / 1e6;
    if (read_rows === undefined) return elapsedMs;
    this.#rows.inc(read_rows);
    this.#bytes.inc(read_bytes);
    return Math.min(elapsedMs, QUERY_MS + read_rows * ROW_MS);
  }
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
