/** The ClickHouse client for writing, and which of its errors are permanent. */
import { ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";

import { serverOptions } from "../shared/clicks/query.ts";
import { COMPARISON_SECONDS_MAX } from "../shared/clicks/rollups.ts";
import { HOUR_MS } from "../shared/durations.ts";

/** A longer insert is retried; its deduplication token makes that safe. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Filling a table from all clicks takes long, and goes on after its request timed out. */
export const MIGRATION_TIMEOUT_MS = 6 * HOUR_MS;

/** A comparison of the consistency check may take long; ClickHouse gives it up before this. */
export const COMPARISON_TIMEOUT_MS = (COMPARISON_SECONDS_MAX + 10) * 1_000;

export const connectClickHouse = (url: string, requestTimeoutMs = REQUEST_TIMEOUT_MS) =>
  createClient({
    ...serverOptions(url),
    application: "shorthop-worker",
    request_timeout: requestTimeoutMs,
    max_open_connections: 10,
    use_multipart_params_auto: true,
    // Callers classify and log errors.
    log: { level: ClickHouseLogLevel.OFF },
  });

/**
 * ClickHouse's error codes for data that it will never accept: 6, 26, 27, 38, 41, 72 cannot parse;
 * 53 type mismatch; 117 incorrect data; 321, 349 null or value out of range; 376 not a UUID.
 */
const REJECTED = new Set(["6", "26", "27", "38", "41", "53", "72", "117", "321", "349", "376"]);

/** Whether the database of the URL does not exist: UNKNOWN_DATABASE. */
export const isUnknownDatabase = (error: unknown): boolean =>
  error instanceof ClickHouseError && error.code === "81";

/** NOT_ENOUGH_SPACE; or the system's own words, when a write found no room. */
const NOT_ENOUGH_SPACE = "243";

/** Whether an error says that ClickHouse's disk is full. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof ClickHouseError &&
  (error.code === NOT_ENOUGH_SPACE || error.message.includes("No space left on device"));

/** Whether an insert can never succeed. A missing table or a memory limit may be temporary. */
export const isRejected = (error: unknown): boolean =>
  error instanceof ClickHouseError && REJECTED.has(error.code);
