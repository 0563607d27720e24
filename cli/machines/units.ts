/** The systemd units of this host, and whether they are ready. */
import { METRICS_PORTS as API_PORTS } from "../../api/config.ts";
import { describeUnready, readHealthAt } from "../../shared/preflight.ts";
import type { Installation } from "../installation.ts";
import type { Host } from "./host.ts";

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

export class Units {
  readonly #host: Host;
  readonly #installation: Installation;

  constructor(host: Host, installation: Installation) {
    this.#host = host;
    this.#installation = installation;
  }

  async listRunning(): Promise<string[]> {
    const options = ["--plain", "--no-legend", "--state=active"];
    const lines = await this.#host.read(["systemctl", "list-units", ...options, ...PATTERNS]);
    return lines.split("\n").flatMap((line) => line.split(" ")[0] || []);
  }

  /** Waits until units are ready. Throws an error that names those that are not in time. */
  async waitUntilReady(units: readonly string[]): Promise<void> {
    const deadline = performance.now() + READY_MS;
    for (;;) {
      const unready = await this.listUnready(units);
      if (unready.length === 0) return;
      if (performance.now() > deadline)
        throw new Error(`Not ready: ${unready.join("; ")}. shorthop doctor says more.`);
      await Bun.sleep(POLL_MS);
    }
  }

  /** What units lack to be ready, a line for each that is not. */
  async listUnready(units: readonly string[]): Promise<string[]> {
    const lines = await Promise.all(units.map((unit) => this.#findProblem(unit)));
    return lines.filter((line) => line !== undefined);
  }

  async #findProblem(unit: string): Promise<string | undefined> {
    const { host, port } = this.addressOf(unit);
    const health = await readHealthAt(host, port);
    if (health === undefined) return `${unit} does not respond`;
    const unready = describeUnready(health);
    return unready === undefined ? undefined : `${unit}: ${unready}`;
  }

  /** The address of a unit's metrics, as its environment file says. */
  addressOf(unit: string): { host: string; port: number } {
    const [, name = "", instance] = /^shorthop-([a-z]+)(?:@(\d+))?/.exec(unit) ?? [];
    const variables = this.#installation.read(name);
    const prefix = name.toUpperCase();
    const port = variables[`${prefix}_METRICS_PORT`] || (PORTS[name] ?? 0) + Number(instance ?? 0);
    return { host: variables[`${prefix}_METRICS_HOST`] || "127.0.0.1", port: Number(port) };
  }
}
