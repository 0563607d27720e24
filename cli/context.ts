/** What all commands share: connections to the stores, and printing of results. */
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { connect, type NatsConnection } from "nats";
import * as z from "zod";

import { type Sql, usePostgres } from "../api/postgres.ts";
import { serverOptions } from "../shared/clicks/query.ts";
import { loadConfig } from "../shared/env.ts";
import { natsFileVariables, natsLogin } from "../shared/nats.ts";
import { findSource, findUrl } from "./endpoints.ts";

/** A command can wait longer than a request, so it may connect to a busy database. */
const CONNECT_TIMEOUT_SECONDS = 30;

/** A record to print. */
type Result = Record<string, unknown>;

/** Runs `work` on PostgreSQL, then closes the connection. */
export type WithDatabase = (work: (sql: Sql) => Promise<void>) => Promise<void>;

/** Uses the database of `DATABASE_URL` or of the local stack. */
export const createWithDatabase =
  (env: Record<string, string | undefined>): WithDatabase =>
  async (work) =>
    usePostgres(await findUrl(env, "DATABASE_URL"), work, CONNECT_TIMEOUT_SECONDS);

/** Runs `work` on NATS, then closes the connection. */
export type WithNats = (work: (nats: NatsConnection) => Promise<void>) => Promise<void>;

/** Uses the server of `NATS_URL` or of the local stack. */
export const createWithNats =
  (env: Record<string, string | undefined>): WithNats =>
  async (work) => {
    const { url, variables } = await findSource(env, "NATS_URL");
    const nats = await connect(
      natsLogin(url, loadConfig(z.object(natsFileVariables), variables)),
    ).catch((cause: unknown) => {
      throw new Error(describeUnreachable(url, cause), { cause });
    });
    try {
      await work(nats);
    } finally {
      await nats.close();
    }
  };

/** Names the servers without the passwords in their URLs. */
function describeUnreachable(urls: string, cause: unknown): string {
  const hosts = urls.split(",").map((url) => new URL(url).host);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return `NATS at ${hosts.join(", ")} cannot be used (${reason}): start it, or correct NATS_URL. Without it, shorthop doctor on each host says how its processes are.`;
}

/** Runs `work` on ClickHouse, then closes the connection. */
export type WithClickHouse = (
  work: (clickhouse: ClickHouseClient) => Promise<void>,
) => Promise<void>;

/** Uses the server of `CLICKHOUSE_URL` or of the local stack; statements may take up to an hour. */
export const createWithClickHouse =
  (env: Record<string, string | undefined>): WithClickHouse =>
  async (work) => {
    const client = createClient({
      ...serverOptions(await findUrl(env, "CLICKHOUSE_URL")),
      application: "shorthop-admin",
      request_timeout: STATEMENT_TIMEOUT_MS,
      use_multipart_params_auto: true,
      log: { level: ClickHouseLogLevel.OFF },
    });
    try {
      await work(client);
    } finally {
      await client.close();
    }
  };

const STATEMENT_TIMEOUT_MS = 3_600_000;

/** Prints a record to standard output: as JSON, or one field per line. */
export function print(json: boolean, result: Result): void {
  console.log(json ? JSON.stringify(result) : formatLines(result).join("\n"));
}

/** Prints a list: as a JSON array, or as records separated by empty lines. */
export function printList(json: boolean, results: readonly Result[]): void {
  console.log(
    json
      ? JSON.stringify(results)
      : results.map((result) => formatLines(result).join("\n")).join("\n\n"),
  );
}

const formatLines = (result: Result): string[] =>
  Object.entries(result).map(
    ([name, value]) => `${name}\t${typeof value === "string" ? value : JSON.stringify(value)}`,
  );

/** Throws an error when the object of a command does not exist. */
export function mustExist(found: boolean, noun: string): void {
  if (!found) throw new Error(`The ${noun} does not exist.`);
}
