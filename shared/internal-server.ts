/** The health of a process, and the internal HTTP server that reports it with the metrics. */
import { Gauge, type Registry } from "prom-client";

import { EventLoopWatch } from "./event-loop.ts";
import { readOrUndefined } from "./metrics.ts";

/** Optional parts of an internal server. */
type Further = {
  /** Stops with the server; by default it is made here. */
  eventLoop?: EventLoopWatch;
  /** Handlers by path. */
  routes?: Record<string, (request: Request) => Promise<Response>>;
};

/**
 * Serves `/healthz`, `/readyz` and `/metrics`, for the operator's own network only. The metrics
 * include those of the event loop and the health.
 */
export class InternalServer {
  readonly #eventLoop: EventLoopWatch;
  readonly #server: Bun.Server<undefined>;

  /** `port` 0 lets the system choose. */
  constructor(
    { host, port }: { host: string; port: number },
    registry: Registry,
    health: HealthSource,
    { eventLoop = new EventLoopWatch(registry), routes }: Further = {},
  ) {
    this.#eventLoop = eventLoop;
    registerHealth(registry, health);
    this.#server = Bun.serve({
      hostname: host,
      port,
      development: false,
      // Outside development, Bun shares ports silently: a scrape would get the metrics of either
      // process.
      reusePort: false,
      routes: {
        ...routes,
        "/healthz": () => Response.json({ status: "ok" }),
        "/readyz": async () => {
          const state = await readHealth(health);
          return Response.json(state, { status: state.status === "ready" ? 200 : 503 });
        },
        "/metrics": async () =>
          new Response(await registry.metrics(), {
            headers: { "content-type": registry.contentType },
          }),
      },
      fetch: () =>
        Response.json({ error: { code: "not_found", message: "Not found." } }, { status: 404 }),
    });
  }

  get url(): URL {
    return this.#server.url;
  }

  stop(): Promise<void> {
    this.#eventLoop.stop();
    return this.#server.stop(true);
  }
}

function registerHealth(registry: Registry, health: HealthSource): void {
  const ready = new Gauge({
    name: "shorthop_ready",
    help: "1 for each part of the process that is ready, else 0; the parts are those of /readyz",
    labelNames: ["part"],
    registers: [],
    async collect() {
      const parts = (await readOrUndefined(health.readiness)) ?? { readiness: "timed out" };
      this.reset();
      for (const [part, state] of Object.entries(parts)) this.set({ part }, state === "ok" ? 1 : 0);
    },
  });
  registry.registerMetric(ready);
  const warning = new Gauge({
    name: "shorthop_warning",
    help: "1 for each part of the process that warns, else 0; the warnings are those of /readyz",
    labelNames: ["part"],
    registers: [],
    async collect() {
      const warnings = (await readOrUndefined(async () => await health.warnings?.())) ?? {};
      this.reset();
      for (const [part, text] of Object.entries(warnings))
        this.set({ part }, text === undefined ? 0 : 1);
    },
  });
  registry.registerMetric(warning);
}

/**
 * The parts whose health processes report; `shorthop doctor` has a remedy for each
 * (preflight.ts).
 */
export type PartName =
  | "process"
  | "readiness"
  | "postgres"
  | "links_feed"
  | "links_log"
  | "links_snapshots"
  | "outbox"
  | "replicas"
  | "streams"
  | "clickhouse"
  | "links_store"
  | "disk"
  | "clicks"
  | "counters"
  | "geoip"
  | "click_limits"
  | "webhooks"
  | "provider";

/** The state of each part: `ok`, or the reason why it is not ready. */
type Readiness = Partial<Record<PartName, string>>;

/** Warnings to the operator of a process that is ready; undefined without one. */
type Warnings = { [Part in PartName]?: string | undefined };

/** Reports the health of a process. */
export type HealthSource = {
  /** Returns the state of each part; the process is ready when all are `ok`. */
  readiness: () => Readiness | Promise<Readiness>;
  warnings?: () => Warnings | Promise<Warnings>;
};

export type Health = {
  status: "ready" | "not_ready";
  parts: Readiness;
  /** JSON has no member for an undefined one. */
  warnings: Warnings;
};

export async function readHealth({ readiness, warnings }: HealthSource): Promise<Health> {
  const parts = await readiness();
  const ready = Object.values(parts).every((state) => state === "ok");
  return { status: ready ? "ready" : "not_ready", parts, warnings: (await warnings?.()) ?? {} };
}
