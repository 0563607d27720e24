/** The internal port of a process: is it alive, is it ready and if not why, and its metrics. */
import type { Registry } from "prom-client";

/** What readiness found: `ok`, or the reason why a part is not ready. */
type Readiness = Record<string, string>;

export type InternalServerOptions = {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  registry: Registry;
  /** Names each part a ready process needs; every part must say `ok`. */
  readiness: () => Readiness | Promise<Readiness>;
  /** What else is answered there, by path. */
  routes?: Record<string, (request: Request) => Promise<Response>>;
};

/** Serves `/healthz`, `/readyz` and `/metrics`; for the operator's own network alone. */
export function startInternalServer(options: InternalServerOptions) {
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    development: false,
    routes: {
      ...options.routes,
      "/healthz": () => Response.json({ status: "ok" }),
      "/readyz": async () => {
        const parts = await options.readiness();
        const ready = Object.values(parts).every((state) => state === "ok");
        return Response.json(
          { status: ready ? "ready" : "not_ready", parts },
          { status: ready ? 200 : 503 },
        );
      },
      "/metrics": async () =>
        new Response(await options.registry.metrics(), {
          headers: { "content-type": options.registry.contentType },
        }),
    },
    fetch: () =>
      Response.json({ error: { code: "not_found", message: "Not found." } }, { status: 404 }),
  });
  return { url: server.url, stop: () => server.stop(true) };
}
