/** What every command does: connect, work, print, disconnect. */
import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { connect, type NatsConnection } from "nats";

import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import { natsLogin } from "../../shared/nats.ts";
import { openPostgres, type Sql } from "../postgres.ts";
import { findUrl } from "./surroundings.ts";

/** What a command prints: one record, or a list of them. */
type Result = Record<string, unknown>;

/** Runs `work` on the database, and closes it whatever happens. */
export type WithDatabase = (work: (sql: Sql) => Promise<void>) => Promise<void>;

/** On the database that the environment names. */
export const createWithDatabase =
  (env: Record<string, string | undefined>): WithDatabase =>
  async (work) => {
    const sql = openPostgres(await findUrl(env, "DATABASE_URL"), 1);
    try {
      await work(sql);
    } finally {
      await sql.end({ timeout: 2 });
    }
  };

/** Runs `work` on NATS, and closes the connection whatever happens. */
export type WithNats = (work: (nats: NatsConnection) => Promise<void>) => Promise<void>;

/** On the NATS that the environment names. */
export const createWithNats =
  (env: Record<string, string | undefined>): WithNats =>
  async (work) => {
    const nats = await connect(natsLogin(await findUrl(env, "NATS_URL")));
    try {
      await work(nats);
    } finally {
      await nats.close();
    }
  };

/** Runs `work` on ClickHouse, and closes the connection whatever happens. */
export type WithClickHouse = (work: (clickhouse: ClickHouse) => Promise<void>) => Promise<void>;

/** On the ClickHouse that the environment names; a statement may take as long as it takes. */
export const createWithClickHouse =
  (env: Record<string, string | undefined>): WithClickHouse =>
  async (work) => {
    const client = createClient({
      url: await findUrl(env, "CLICKHOUSE_URL"),
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

/** Prints to standard output: JSON, or a line a field. */
export function print(json: boolean, result: Result): void {
  console.log(json ? JSON.stringify(result) : lines(result).join("\n"));
}

/** Prints a list: a JSON array, or the records with an empty line between them. */
export function printList(json: boolean, results: readonly Result[]): void {
  console.log(
    json ? JSON.stringify(results) : results.map((result) => lines(result).join("\n")).join("\n\n"),
  );
}

const lines = (result: Result): string[] =>
  Object.entries(result).map(
    ([name, value]) => `${name}\t${typeof value === "string" ? value : JSON.stringify(value)}`,
  );

/** Fails a command whose subject does not exist. */
export function mustExist(found: boolean, what: string): void {
  if (!found) throw new Error(`The ${what} does not exist.`);
}
