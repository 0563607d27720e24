/** A way to ClickHouse on which requests fail, or are done and their answers lost. */

/** `error`: nothing is done. `lost`: all is done, and nobody is told. */
type Mode = "sound" | "error" | "lost";

export type LossyClickHouse = { url: string; set(mode: Mode): void; stop(): Promise<void> };

/** Passes requests on to `target()`, which may move. */
export function startLossyClickHouse(target: () => string): LossyClickHouse {
  let mode: Mode = "sound";
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      if (mode === "error") return new Response("Code: 241. Out of order.", { status: 500 });
      const { pathname, search } = new URL(request.url);
      const answer = await fetch(new URL(pathname + search, target()), {
        method: request.method,
        headers: request.headers,
        body: request.method === "GET" ? null : await request.arrayBuffer(),
      });
      const body = await answer.arrayBuffer();
      if (mode === "lost") return new Response("Code: 209. Nobody knows.", { status: 500 });
      const headers = new Headers(answer.headers);
      headers.delete("content-encoding");
      headers.delete("content-length");
      return new Response(body, { status: answer.status, headers });
    },
    error: () => new Response("Code: 210. Nobody there.", { status: 502 }),
  });
  return {
    url: server.url.origin,
    set: (next) => void (mode = next),
    stop: () => server.stop(true),
  };
}
