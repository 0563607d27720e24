/** The running units of this host, and whether they are ready. */
import { METRICS_PORTS as API_PORTS } from "../../../api/config.ts";
import { describeUnready, readHealthAt } from "../../../shared/preflight.ts";
import type { EnvironmentFiles } from "../../environment-files.ts";
import type { System } from "./system.ts";

export const WORKER = "shorthop-worker.service";

const PATTERNS = ["shorthop-redirector@*.service", "shorthop-api@*.service", WORKER];

/** The metrics ports of the processes; those of instances are further by their numbers. */
const PORTS: Record<string, number> = {
  api: API_PORTS.instances,
  redirector: 9110,
  worker: 9103,
};

/** Time in which a process that was started becomes ready: it may read all links first. */
const READY_MS = 180_000;

const POLL_MS = 500;

export async function listRunning(system: System): Promise<string[]> {
  const options = ["--plain", "--no-legend", "--state=active"];
  const lines = await system.read(["systemctl", "list-units", ...options, ...PATTERNS]);
  return lines.split("\n").flatMap((line) => line.split(" ")[0] || []);
}

/**
 * Waits until all units are ready. Throws an error that names those that are not when time is over.
 */
export async function waitUntilReady(
  units: readonly string[],
  files: EnvironmentFiles,
  timeoutMs = READY_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const problems = await Promise.all(units.map((unit) => findProblem(unit, files)));
    const found = problems.filter((problem) => problem !== undefined);
    if (found.length === 0) return;
    if (performance.now() > deadline) throw new Error(`Not ready: ${found.join("; ")}.`);
    await Bun.sleep(POLL_MS);
  }
}

/** What a unit lacks to be ready; undefined if nothing. */
async function findProblem(unit: string, files: EnvironmentFiles): Promise<string | undefined> {
  const { host, port } = addressOf(unit, files);
  const health = await readHealthAt(host, port);
  if (health === undefined) return `${unit} does not respond`;
  const unready = describeUnready(health);
  return unready === undefined ? undefined : `${unit}: ${unready}`;
}

/** The address of a unit's metrics, as its environment file says. */
export function addressOf(unit: string, files: EnvironmentFiles): { host: string; port: number } {
  const [, name = "", instance] = /^shorthop-([a-z]+)(?:@(\d+))?/.exec(unit) ?? [];
  const variables = files.read(name);
  const prefix = name.toUpperCase();
  const port = variables[`${prefix}_METRICS_PORT`] || (PORTS[name] ?? 0) + Number(instance ?? 0);
  return { host: variables[`${prefix}_METRICS_HOST`] || "127.0.0.1", port: Number(port) };
}
