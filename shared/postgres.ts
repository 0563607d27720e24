/**
 * Connections to PostgreSQL when it runs on several hosts: only the primary is used. The `postgres`
 * library's own list of hosts would wait without end, and without a pause, while no host is
 * primary; here each attempt is bounded.
 */
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";

import postgres from "postgres";
import * as z from "zod";

import { withTimeout } from "./timeout.ts";

const DEFAULT_PORT = 5432;

/** Timeout of one host's response whether it is the primary. */
const PROBE_TIMEOUT_SECONDS = 2;

const SCHEMES = new Set(["postgres:", "postgresql:"]);

type Host = { host: string; port: number };

type PoolSettings = postgres.Options<Record<string, never>>;

/**
 * Splits the list of hosts: returns the URL of the first host, as a URL can have only one, and all
 * hosts.
 */
export function hostsOf(url: string): { base: URL; hosts: Host[] } {
  const authority = url.indexOf("://") + "://".length;
  const end = url.slice(authority).search(/[/?]/);
  const pathAt = end < 0 ? url.length : authority + end;
  const listAt = Math.max(authority, url.lastIndexOf("@", pathAt - 1) + 1);
  const [prefix, list, rest] = [url.slice(0, listAt), url.slice(listAt, pathAt), url.slice(pathAt)];
  const hosts = list.split(",").map((item) => {
    const { hostname, port } = new URL(`postgres://${item}`);
    if (hostname === "") throw new TypeError("must name a host");
    return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || DEFAULT_PORT) };
  });
  return { base: new URL(`${prefix}${list.split(",")[0]}${rest}`), hosts };
}

/**
 * A value of `DATABASE_URL`: one or several hosts,
 * `postgres://user:password@a:5432,b:5432/database`.
 */
export const envPostgresUrl = z
  .string("must be set to a postgres or postgresql URL")
  .refine((value) => {
    try {
      return SCHEMES.has(hostsOf(value).base.protocol);
    } catch {
      return false;
    }
  }, "must be a postgres or postgresql URL, also with several hosts: postgres://user:password@a:5432,b:5432/name");

/** The URL with another database. */
export function withDatabase(url: string, database: string): string {
  const { base, hosts } = hostsOf(url);
  base.pathname = `/${database}`;
  const list = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
  return base.href.replace(base.host, list.join(","));
}

/** The database of a URL. */
export const databaseOf = (url: string): string =>
  decodeURIComponent(hostsOf(url).base.pathname.slice(1));

/** The server's time in milliseconds since the epoch. */
export async function readTime(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<[{ ms: number }]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  return row.ms;
}

/** Creates a pool whose connections go to the primary; they are opened when first needed. */
export function connectPrimary(url: string, options: PoolSettings): postgres.Sql {
  const { base: first, hosts } = hostsOf(url);
  const names = hosts.map(({ host }) => host);
  const { base, tls } = readParameters(first, names);
  const primary = { target_session_attrs: "primary" as const };
  const settings: PoolSettings = { ...options, ...tls, ...primary };
  if (hosts.length === 1) return postgres(base.href, settings);
  const primaries = new PrimaryFinder(base, hosts, tls);
  // Untyped by the library: a function that returns a connected socket.
  const socket = () => connectTo(primaries);
  return postgres(base.href, { ...settings, socket } as PoolSettings);
}

/** Finds the primary by a request to all hosts at once. */
class PrimaryFinder {
  readonly #base: URL;
  readonly #hosts: readonly Host[];
  readonly #tls: PoolSettings;
  #search: Promise<Host> | undefined;

  constructor(base: URL, hosts: readonly Host[], tls: PoolSettings) {
    this.#base = base;
    this.#hosts = hosts;
    this.#tls = tls;
  }

  /** Concurrent calls share one search, as a pool loses all its connections together. */
  find(): Promise<Host> {
    return (this.#search ??= this.#findOnce().finally(() => (this.#search = undefined)));
  }

  async #findOnce(): Promise<Host> {
    try {
      return await Promise.any(
        this.#hosts.map((host) => requirePrimary(this.#base, host, this.#tls)),
      );
    } catch (cause) {
      const errors: unknown[] = cause instanceof AggregateError ? cause.errors : [];
      const rejection = errors.find(isRejection);
      if (rejection !== undefined) throw rejection;
      throw Object.assign(new Error("No PostgreSQL host is a primary that responds.", { cause }), {
        code: "CONNECT_NO_PRIMARY",
      });
    }
  }
}

/**
 * Whether a server rejects the user (class 28) or lacks the database (class 3D): then all hosts
 * will.
 */
const isRejection = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && /^(28|3D)/.test(error.code);

async function requirePrimary(base: URL, { host, port }: Host, tls: PoolSettings): Promise<Host> {
  const sql = postgres(base.href, {
    host,
    port,
    ...tls,
    max: 1,
    connect_timeout: PROBE_TIMEOUT_SECONDS,
    fetch_types: false,
    onnotice: () => undefined,
  });
  try {
    // The connection may be lost after it was opened, without a word.
    const [row] = await withTimeout(
      sql<[{ standby: boolean }]>`select pg_is_in_recovery() as standby`,
      PROBE_TIMEOUT_SECONDS * 1_000,
    );
    if (row.standby) throw new Error(`${host}:${port} is a standby.`);
    return { host, port };
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/**
 * Opens a socket to the primary. Without a primary, returns a socket that fails: if this function
 * threw, the library would lose a connection slot for ever.
 */
async function connectTo(primaries: PrimaryFinder): Promise<Socket> {
  const socket = new Socket();
  try {
    const { host, port } = await primaries.find();
    const connecting = new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(port, host, () => {
        socket.off("error", reject);
        resolve();
      });
    });
    await withTimeout(connecting, PROBE_TIMEOUT_SECONDS * 1_000);
    // The library reads it to verify the host name of the certificate.
    return Object.assign(socket, { host, port });
  } catch (error) {
    socket.destroy();
    const failure = error instanceof Error ? error : new Error(String(error));
    const failed = new Socket();
    setImmediate(() => failed.destroy(failure));
    return failed;
  }
}

/** Encryption of connections; empty if the library's own parameters say so. */
type Tls = { ssl?: object | "verify-full" };

const AUTHORITIES = "sslrootcert";
const MODE = "sslmode";

/**
 * Parameters that providers have in their URLs for libpq, or for other clients. The library would
 * send them to the server, which refuses a setting that it does not know.
 */
const FOREIGN = [
  "channel_binding",
  "gssencmode",
  "keepalives",
  "keepalives_count",
  "keepalives_idle",
  "keepalives_interval",
  "load_balance_hosts",
  "pgbouncer",
  "target_session_attrs",
  "tcp_user_timeout",
];

/**
 * Returns the URL with the parameters for the server, and what the others mean for encryption.
 * Throws when the file of authorities cannot be read.
 */
function readParameters(url: URL, hosts: readonly string[]): { base: URL; tls: Tls } {
  const base = new URL(url);
  const own = base.searchParams.has(AUTHORITIES) ? [AUTHORITIES, MODE] : [];
  for (const name of [...FOREIGN, ...own]) base.searchParams.delete(name);
  return { base, tls: readTls(url, hosts) };
}

/** The authorities that verify the server's certificate; nothing without `sslrootcert`. */
function readTls({ searchParams }: URL, hosts: readonly string[]): Tls {
  const file = searchParams.get(AUTHORITIES);
  if (file === null) return {};
  if (file === "system") return { ssl: "verify-full" };
  const mode = searchParams.get(MODE) ?? "verify-full";
  // As in libpq, other modes accept any name that the authorities have signed.
  const names = mode === "verify-full" ? hosts : undefined;
  const verify = (_: string, certificate: PeerCertificate) =>
    names === undefined ? undefined : findMismatch(names, certificate);
  return { ssl: { ca: readFileSync(file, "utf8"), checkServerIdentity: verify } };
}

/** Undefined if the certificate is for one of the hosts: the library does not say which is used. */
function findMismatch(hosts: readonly string[], certificate: PeerCertificate): Error | undefined {
  const mismatches = hosts.map((host) => checkServerIdentity(host, certificate));
  return mismatches.includes(undefined) ? undefined : mismatches[0];
}
