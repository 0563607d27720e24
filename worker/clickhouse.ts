/** The connection to ClickHouse, for writing, and which of its failures are worth another try. */
import { ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";

/** An insert that takes longer is tried again; its token makes that safe. */
const REQUEST_TIMEOUT_MS = 30_000;

export const openClickHouse = (url: string) =>
  createClient({
    url,
    application: "shorthop-worker",
    request_timeout: REQUEST_TIMEOUT_MS,
    max_open_connections: 10,
    use_multipart_params_auto: true,
    // Failures are judged and logged where they are handled.
    log: { level: ClickHouseLogLevel.OFF },
  });

/**
 * ClickHouse's codes for data it will never take, as sent: 6, 26, 27, 38, 41, 72 cannot parse;
 * 53 type mismatch; 117 incorrect data; 321, 349 null or value out of range.
 */
const REJECTED = new Set(["6", "26", "27", "38", "41", "53", "72", "117", "321", "349"]);

/** Whether a page will never be accepted. Anything else may pass: a missing table, a full memory. */
export const isRejected = (error: unknown): boolean =>
  error instanceof ClickHouseError && REJECTED.has(error.code);
