/**
 * Parameters of a PostgreSQL URL that are for the client and not for the server: `sslrootcert` and
 * `sslmode` as in libpq, and `pgbouncer=true` as in other clients.
 */
import { readFileSync } from "node:fs";
import { checkServerIdentity, type PeerCertificate } from "node:tls";

import type postgres from "postgres";

export type PoolOptions = postgres.Options<Record<string, never>>;

const POOLER = "pgbouncer";
const AUTHORITIES = "sslrootcert";
const MODE = "sslmode";

/** Whether the URL leads to a pooler in transaction mode. */
export const isPooler = ({ searchParams }: URL): boolean => searchParams.get(POOLER) === "true";

/**
 * Returns the URL with the parameters for the server, and the settings that the others mean. Throws
 * when the file of authorities cannot be read.
 */
export function readParameters(
  url: URL,
  hosts: readonly string[],
  options: PoolOptions,
): { base: URL; settings: PoolOptions } {
  const pooler = isPooler(url) ? forPooler(options) : {};
  const settings = { ...options, ...readTls(url, hosts), ...pooler };
  const base = new URL(url);
  const own = base.searchParams.has(AUTHORITIES) ? [POOLER, AUTHORITIES, MODE] : [POOLER];
  for (const name of own) base.searchParams.delete(name);
  return { base, settings };
}

/**
 * A pooler in transaction mode gives each transaction any of its connections: no statement stays
 * prepared. It rejects settings at the start of a connection, except a name.
 */
const forPooler = ({ connection }: PoolOptions): PoolOptions => ({
  prepare: false,
  connection: { application_name: connection?.application_name ?? "shorthop" },
});

/** The authorities that the server's certificate is verified with; nothing without `sslrootcert`. */
function readTls({ searchParams }: URL, hosts: readonly string[]): PoolOptions {
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

/** Undefined if the certificate is for one of the hosts; the library does not know which is used. */
function findMismatch(hosts: readonly string[], certificate: PeerCertificate): Error | undefined {
  const mismatches = hosts.map((host) => checkServerIdentity(host, certificate));
  return mismatches.includes(undefined) ? undefined : mismatches[0];
}
