/**
 * The development loop (`bun run dev`): restarts our processes when their code changes, while
 * PostgreSQL, NATS and ClickHouse keep running. A development server serves the dashboard and
 * replaces modules and styles in the open page.
 */
import { watch } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "./config.ts";
import type { Logger } from "./logger.ts";
import { findFreePort } from "./ports.ts";
import { bunScript, DASHBOARD_SERVICE } from "./stack.ts";
import { respondsOk, type Service, type Supervisor } from "./supervisor.ts";

/** Processes to restart when a folder's code changes; none imports another's. */
const PROCESSES_OF: Record<string, readonly string[]> = {
  api: ["api"],
  redirector: ["redirector"],
  worker: ["worker"],
  shared: ["api", "redirector", "worker"],
};

/** Source files except tests, and catalogues of languages. */
const CODE = /(?<!\.test)\.(tsx?|css|sql|html|json)$/;

/** Debounce: editors write a file in several steps, and a checkout writes many files. */
const DEBOUNCE_MS = 50;

/**
 * Adapts the services for development. The API's dashboard moves to another port, and the
 * development server takes over the dashboard's public one.
 */
export function withReload(services: readonly Service[]): Service[] {
  const watched = services.map((service) => ({ ...service, waitsForReload: true }));
  const api = watched.find(({ name }) => name === "api");
  const url = api?.env["DASHBOARD_URL"];
  if (api === undefined || url === undefined) return watched;
  const apiDashboardPort = findFreePort();
  api.env = { ...api.env, DASHBOARD_PORT: String(apiDashboardPort) };
  const { port } = new URL(url);
  const server: Service = {
    name: DASHBOARD_SERVICE,
    command: bunScript("dashboard/dev.ts", port, `http://127.0.0.1:${apiDashboardPort}`),
    env: {},
    waitsForReload: true,
    isReady: () => respondsOk(url),
  };
  return [...watched, server];
}

/** Restarts processes when their code changes, until this process ends. */
export function watchCode(supervisor: Supervisor, logger: Logger): void {
  const changed = new Set<string>();
  let debounce: NodeJS.Timeout | undefined;
  let reloading = Promise.resolve();

  async function reload(): Promise<void> {
    const names = [...changed];
    changed.clear();
    if (names.length === 0) return;
    logger.log(`Reloading ${names.join(", ")} …`);
    await Promise.all(names.map((name) => supervisor.reload(name)));
  }

  for (const [folder, names] of Object.entries(PROCESSES_OF)) {
    watch(join(PROJECT_DIR, folder), { recursive: true }, (_, path) => {
      if (path === null || !CODE.test(path)) return;
      for (const name of names) changed.add(name);
      clearTimeout(debounce);
      // Reloads run one after the other: a change during a reload triggers the next one.
      debounce = setTimeout(() => {
        reloading = reloading.then(reload);
      }, DEBOUNCE_MS);
    });
  }
}
