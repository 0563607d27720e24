/** The ClickHouse server of a URL, as its client takes it. */
import { readFileSync } from "node:fs";

const AUTHORITIES = "ca_cert";

type ServerOptions = { url: string; tls?: { ca_cert: Buffer } };

/**
 * Splits the parameter `ca_cert` from a URL: the file with the authorities that the server's
 * certificate is verified with, in place of the system's. Throws when it cannot be read.
 */
export function serverOptions(url: string): ServerOptions {
  const server = new URL(url);
  const file = server.searchParams.get(AUTHORITIES);
  if (file === null) return { url };
  server.searchParams.delete(AUTHORITIES);
  return { url: server.href, tls: { ca_cert: readFileSync(file) } };
}
