/** The public server: listens on a port, which several processes may share. */
import type { Connection } from "./connection.ts";
import { type ConnectionsDeps, createConnections } from "./connections.ts";

export type ServerOptions = {
  host: string;
  port: number;
  /** Files of a certificate and its key, for TLS without a proxy. */
  tls: { cert: string; key: string } | undefined;
};

/**
 * Suites of TLS 1.2 with authenticated encryption and forward secrecy; all of TLS 1.3 are such. The
 * library's own list has CBC as well.
 */
const TLS12_CIPHERS = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/** How long connections may stay open after a stop. */
const DRAIN_MS = 2_000;

export function startServer({ host, port, tls }: ServerOptions, deps: ConnectionsDeps) {
  const connections = createConnections(deps);
  const options = {
    hostname: host,
    port,
    // Supported by Bun, but missing in its types.
    reusePort: port !== 0,
    allowHalfOpen: true,
    socket: connections.handlers,
    ...(tls === undefined
      ? {}
      : { tls: { cert: Bun.file(tls.cert), key: Bun.file(tls.key), ciphers: TLS12_CIPHERS } }),
  };
  const listener = Bun.listen<Connection>(options);
  const scheme = tls === undefined ? "http" : "https";
  return {
    url: new URL(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${listener.port}`),
    connections: connections.stats,
    async stop(): Promise<void> {
      listener.stop();
      await connections.drain(DRAIN_MS);
    },
  };
}
