/** The API's figures for Prometheus. */
import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

import type { Observe } from "./http/metrics-plugin.ts";
import type { Sql } from "./postgres.ts";

/** Registers the figures; what waits in the database is asked when they are. */
export function createMetrics(sql: Sql): { registry: Registry; observe: Observe } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const seconds = new Histogram({
    name: "shorthop_api_request_seconds",
    help: "Time from a request to its answer",
    labelNames: ["method", "route", "status"],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const outbox = new Gauge({
    name: "shorthop_api_outbox_waiting",
    help: "States of links that redirectors have not been told of; -1 when PostgreSQL is away",
    registers,
    async collect() {
      const [row] = await sql<[{ count: number }]>`
        select count(*)::int as count from link_outbox`.catch(() => [{ count: -1 }]);
      outbox.set(row.count);
    },
  });
  return {
    registry,
    observe: ({ request: { method }, route, status, seconds: taken }) =>
      seconds.observe({ method, route: route || "none", status: String(status) }, taken),
  };
}
