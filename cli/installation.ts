/**
 * The installation that the command line works on: the environment files of its processes, and its
 * stores. A store is the one of the environment, else that of an environment file, else that of the
 * running local stack.
 */
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { type ClickHouseClient, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { connect, type NatsConnection } from "nats";
import type { JSONValue } from "postgres";
import * as z from "zod";

import { recordCommand } from "../api/events/record.ts";
import { postgresPool, type Sql, usePostgres } from "../api/postgres.ts";
import { serverOptions } from "../shared/clicks/query.ts";
import { loadConfig } from "../shared/env.ts";
import { natsFileVariables, natsLogin } from "../shared/nats.ts";

export type Env = Record<string, string | undefined>;

/** The directory of an installation's files, unless `SHORTHOP_CONFIG_DIR` is set. */
const CONFIG_DIR = "/etc/shorthop";

/** Processes whose environment files contain URLs of stores, in order of increasing rights. */
const WITH_STORES = ["api", "worker"];

/** Variables that units set; the parent of all journals stands for those of instances. */
const SET_BY_UNITS = { JOURNAL_DIR: "/var/lib" };

/** A command can wait longer than a request, so it may connect to a busy database. */
const CONNECT_TIMEOUT_SECONDS = 30;

/** A statement of a command may read or delete all clicks, or all rows of a large account. */
const STATEMENT_TIMEOUT_MS = 3_600_000;

/** Of a command that reads and writes much: one holds an import, one writes links, others read. */
const CONNECTIONS = 4;

const stackFile = z.record(z.string(), z.unknown());

type Variable =
  | "DATABASE_URL"
  | "NATS_URL"
  | "CLICKHOUSE_URL"
  | "REDIRECTOR_METRICS_URL"
  | "DASHBOARD_URL"
  | "LINKS_SIGNING_KEY"
  | "SHORT_URL";

/** A URL, and the variables beside it, which may say more of how to connect. */
type Source = { url: string; variables: Env };

export class Installation {
  readonly env: Env;

  constructor(env: Env) {
    this.env = env;
  }

  /** The directory of the environment files. */
  get configDir(): string {
    return this.env["SHORTHOP_CONFIG_DIR"] ?? CONFIG_DIR;
  }

  /** The same installation for the owner of the schemas, who may also read all tables. */
  asOwner(): Installation {
    return new Installation({ ...this.read("migrate"), ...this.env });
  }

  /** Whether there is an environment file of this name that the current user may read. */
  has(name: string): boolean {
    try {
      accessSync(this.#pathOf(name), constants.R_OK);
      return true;
    } catch {
      return false;
    }
  }

  /** Returns the variables of an environment file; none if the file does not exist. */
  read(name: string): Record<string, string> {
    return this.has(name) ? parseEnvironment(readFileSync(this.#pathOf(name), "utf8")) : {};
  }

  /** The environment of a process: the file of this name, if it exists, over the command's. */
  environmentOf(name: string): Env {
    return this.has(name) ? { ...SET_BY_UNITS, ...this.env, ...this.read(name) } : this.env;
  }

  #pathOf(name: string): string {
    return join(this.configDir, `${name}.env`);
  }

  /** The URL of a store or a process. Throws an error with the remedy if there is none. */
  async findUrl(variable: Variable): Promise<string> {
    return (await this.findSource(variable)).url;
  }

  /**
   * Finds a URL in the environment, in the environment files, or in the `stack.json` of the running
   * local stack, which has variables in lower case. Throws an error that explains the remedy
   * if there is none.
   */
  async findSource(variable: Variable): Promise<Source> {
    for (const variables of [this.env, ...WITH_STORES.map((name) => this.read(name))]) {
      const url = variables[variable] ?? "";
      if (url !== "") return { url, variables };
    }
    const dataDir = this.env["SHORTHOP_DATA_DIR"] ?? join(import.meta.dir, "../.local");
    const path = join(dataDir, "stack.json");
    if (!existsSync(path)) throw new Error(this.#describeMissing(variable, path));
    const stack = stackFile.parse(await Bun.file(path).json());
    const variables = Object.fromEntries(
      Object.entries(stack).flatMap(([name, value]) =>
        typeof value === "string" ? [[name.toUpperCase(), value]] : [],
      ),
    );
    return { url: z.string().parse(variables[variable]), variables };
  }

  /** How to provide a URL differs between an installation and the source tree. */
  #describeMissing(variable: Variable, stackPath: string): string {
    const dir = this.configDir;
    if (!existsSync(dir))
      return `Set ${variable}, or start the local stack (${stackPath} does not exist).`;
    const names = WITH_STORES.map((name) => `${name}.env`).join(" or ");
    return `No ${names} in ${dir} that this user may read has ${variable}: run this as root, on a host with such a file, or set ${variable}.`;
  }

  /** Runs `work` on PostgreSQL, then closes the connection. */
  async withDatabase<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return await onDatabase(await this.findUrl("DATABASE_URL"), work);
  }

  /** Runs `work` on some connections of PostgreSQL, for as long as a statement takes. */
  async withPool<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const sql = postgresPool(await this.findUrl("DATABASE_URL"), CONNECTIONS, {
      connectTimeoutSeconds: CONNECT_TIMEOUT_SECONDS,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  /**
   * Records a command that is done and concerns no account in the ledger of the installation. Where
   * that is not possible, as on a host of a far region, it says so.
   */
  async recordCommand(command: string, data: Record<string, JSONValue> = {}): Promise<void> {
    try {
      await this.withDatabase((sql) =>
        sql.begin((transaction) => recordCommand(transaction, command, data)),
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      console.error(`The audit log does not have this command: ${reason}`);
    }
  }

  /** Runs `work` on NATS, then closes the connection. */
  async withNats<T>(work: (nats: NatsConnection) => Promise<T>): Promise<T> {
    const { url, variables } = await this.findSource("NATS_URL");
    const login = natsLogin(url, loadConfig(z.object(natsFileVariables), variables));
    const nats = await connect(login).catch((cause: unknown) => {
      throw new Error(describeUnreachable(url, cause), { cause });
    });
    try {
      return await work(nats);
    } finally {
      await nats.close();
    }
  }

  /** Runs `work` on ClickHouse, then closes the connection. */
  async withClickHouse<T>(work: (clickhouse: ClickHouseClient) => Promise<T>): Promise<T> {
    const client = createClient({
      ...serverOptions(await this.findUrl("CLICKHOUSE_URL")),
      application: "shorthop-admin",
      request_timeout: STATEMENT_TIMEOUT_MS,
      use_multipart_params_auto: true,
      log: { level: ClickHouseLogLevel.OFF },
    });
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }
}

/** Runs `work` on a database as commands do, then closes the connection. */
export const onDatabase = <T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> =>
  usePostgres(url, work, CONNECT_TIMEOUT_SECONDS);

/** Names the servers without the passwords in their URLs. */
function describeUnreachable(urls: string, cause: unknown): string {
  const hosts = urls.split(",").map((url) => new URL(url).host);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return `NATS at ${hosts.join(", ")} cannot be used (${reason}): start it, or correct NATS_URL. Without it, shorthop doctor on each host says how its processes are.`;
}

/**
 * Parses lines of `NAME=value` as systemd does (systemd.exec(5), EnvironmentFile=), except for
 * values that span lines. Comments begin with `#` or `;`, and a value may be quoted.
 */
export function parseEnvironment(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim());
  const pairs = lines
    .filter((line) => !line.startsWith("#") && !line.startsWith(";") && line.includes("="))
    .map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals).trim(), unquote(line.slice(equals + 1).trim())];
    });
  return Object.fromEntries(pairs);
}

function unquote(value: string): string {
  const quote = value[0];
  const quoted = value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote);
  return quoted ? value.slice(1, -1) : value;
}
