/** The ports of a stack's listeners. */
import type { SharedStack } from "../harness/stack.ts";
import type { Surface } from "./routes.ts";

const port = (url: string): number => Number(new URL(url).port);

export function readPorts(stack: SharedStack): Record<Surface, number> {
  const info = stack.info();
  return {
    api: port(info.api_url),
    dashboard: port(info.dashboard_url),
    redirector: port(info.short_url),
    "api internal": port(info.api_metrics_url),
    "redirector internal": port(info.redirector_metrics_url),
    "worker internal": port(info.worker_metrics_url),
    clickhouse: port(info.clickhouse_url),
  };
}
