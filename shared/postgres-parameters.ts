/**
 * Parameters of a PostgreSQL URL that are for the client and not for the server: `sslrootcert` and
 * `sslmode`, as in libpq.
 */
import { readFileSync } from "node:fs";
import { checkServerIdentity, type PeerCertificate } from "node:tls";

/** How connections are encrypted; nothing if the library's own parameters say so. */
type Tls = { ssl?: object | "verify-full" };

const AUTHORITIES = "sslrootcert";
const MODE = "sslmode";

/**
 * Returns the URL with the parameters for the server, and what the others mean for encryption.
 * Throws when the file of authorities cannot be read.
 */
export function readParameters(url: URL, hosts: readonly string[]): { base: URL; tls: Tls } {
  const base = new URL(url);
  if (base.searchParams.has(AUTHORITIES))
    for (const name of [AUTHORITIES, MODE]) base.searchParams.delete(name);
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
