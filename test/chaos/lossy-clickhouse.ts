/** A proxy to ClickHouse that fails requests, or executes them and discards the responses. */

import { replaceHost } from "../harness/tcp-proxy.ts";

/** `error`: requests fail without effect. `lose_response`: requests take effect, but the client gets an error. */
type Mode = "normal" | "error" | "lose_response";

export type LossyClickHouse = { url: string; setMode(mode: Mode): void; stop(): Promise<void> };

/** Forwards requests to `target()`, whose port may change. */
export function startLossyClickHouse(target: () => string): LossyClickHouse {
  let mode: Mode = "normal";
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      if (mode === "error") return new Response("Code: 241. Out of order.", { status: 500 });
      const { pathname, search } = new URL(request.url);
      const response = await fetch(new URL(pathname + search, target()), {
        method: request.method,
        headers: request.headers,
        body: request.method === "GET" ? null : await request.arrayBuffer(),
      });
      const body = await response.arrayBuffer();
      if (mode === "lose_response")
        return new Response("Code: 209. Response lost.", { status: 500 });
      const headers = new Headers(response.headers);
      headers.delete("content-encoding");
      headers.delete("content-length");
      return new Response(body, { status: response.status, headers });
    },
    error: () => new Response("Code: 210. ClickHouse is not reachable.", { status: 502 }),
  });
  return {
    // The URL has ClickHouse's credentials, because requests are forwarded with those they carry.
    url: replaceHost(target(), "127.0.0.1", Number(server.url.port)),
    setMode: (next) => void (mode = next),
    stop: () => server.stop(true),
  };
}
