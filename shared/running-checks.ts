/** Checks of the running processes of this host, by their `/readyz`, for `shorthop doctor`. */
import * as z from "zod";

import { INSTANCES_MAX, type MetricsPorts } from "./env.ts";
import type { PartName } from "./health.ts";
import type { Check, Problem } from "./preflight.ts";

const TIMEOUT_MS = 2_000;

const health = z.object({
  parts: z.record(z.string(), z.string()),
  warnings: z.record(z.string(), z.string()).default({}),
});

type Health = z.output<typeof health>;

/** The remedy for a part that is not ready, or that has a warning. */
const REMEDIES: Record<PartName, string> = {
  process: "It is stopping: journalctl says what it waits for.",
  readiness: "A store accepts connections and does not respond: see its log.",
  postgres:
    "Start PostgreSQL; run shorthop migrate if it lacks a migration; make room if its disk is full (docs/runbook.md#shorthopnotready).",
  links_feed:
    "Start NATS and the API if they are away: a host that lacks links takes a snapshot by itself (docs/runbook.md#shorthopfeedincomplete).",
  links_log:
    "Compare LINKS_PUBLIC_KEYS with the keys of the API; if they are right, change the passwords of NATS (docs/runbook.md#shorthopfeedrecordskipped).",
  links_snapshots:
    "See the API's log for links_snapshot_failed (docs/runbook.md#shorthoplinkssnapshotold).",
  outbox:
    "Start NATS if it is away; if its disk is full, make room and restart it (docs/runbook.md#shorthopoutboxold).",
  replicas: "Run nats stream edit STREAM --replicas 3 as the operator.",
  streams:
    "At once: nats stream rm with the stream's name, and restart nats-server (docs/runbook.md#shorthopstreamdamaged).",
  clickhouse:
    "Make room on the host of ClickHouse (df -h), or enlarge its disk; if it is not full, see its log (docs/runbook.md#shorthopwarning).",
  links_store:
    "Make LINKS_DIR a directory with room that the process may write to, and restart the redirectors of this host.",
  disk: "Make room (df -h), or move the folder to a larger disk.",
  clicks:
    "Start NATS if it is away; if its disk is full, make room and restart it. Make room in its stream CLICKS, and see that a worker runs (docs/runbook.md#shorthopjournalfilling).",
  counters: "Start PostgreSQL and ClickHouse (docs/runbook.md#shorthopcountersnotwritten).",
  geoip: "Run shorthop geoip update.",
  webhooks: "Look at the worker's log and at PostgreSQL (docs/runbook.md#shorthopwebhookslate).",
  click_limits:
    "Start NATS if it is away, and give its users the rights of nats/users.conf (docs/runbook.md#shorthopnotready).",
};

/**
 * Reports a problem for each part that is not ready and for each warning, of all processes of this
 * kind on this host.
 */
export const checkRunning = (
  name: string,
  host: string,
  configured: number | undefined,
  defaults?: MetricsPorts,
): Check => ({
  name: "running processes",
  mend: `See systemctl status 'shorthop-${name}*'.`,
  async run() {
    const found = await Promise.all(
      possiblePorts(configured, defaults).map(async (port) => ({
        port,
        health: await readHealthAt(host, port),
      })),
    );
    const problems = found.flatMap(({ port, health }) => toProblems(port, health));
    if (found.some(({ health }) => health !== undefined)) return problems;
    return {
      status: "warning",
      detail: "none responds on its metrics port",
      mend: `Start it (systemctl status 'shorthop-${name}*', journalctl -u 'shorthop-${name}*').`,
    };
  },
});

function possiblePorts(configured: number | undefined, defaults?: MetricsPorts): number[] {
  if (configured !== undefined) return [configured];
  if (defaults === undefined) return [];
  const { single, instances } = defaults;
  return [single, ...Array.from({ length: INSTANCES_MAX }, (_, i) => instances + i + 1)];
}

/**
 * The health of the process at this port; undefined when there is no process, or another program.
 */
export async function readHealthAt(host: string, port: number): Promise<Health | undefined> {
  // The address of all interfaces is not one to connect to.
  const address = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const url = new URL(`http://${address.includes(":") ? `[${address}]` : address}:${port}/readyz`);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return health.safeParse(await response.json()).data;
  } catch {
    return undefined;
  }
}

function toProblems(port: number, said: Health | undefined): Problem[] {
  if (said === undefined) return [];
  const unready = Object.entries(said.parts).filter(([, state]) => state !== "ok");
  const toProblem =
    (status: Problem["status"]) =>
    ([part, text]: [string, string]): Problem => ({
      status,
      detail: `port ${port}, ${part}: ${text}`,
      mend: isPartName(part) ? REMEDIES[part] : "See docs/runbook.md#shorthopnotready.",
    });
  return [
    ...unready.map(toProblem("failed")),
    ...Object.entries(said.warnings).map(toProblem("warning")),
  ];
}

/** The parts of a process that are not ready; undefined if all are. */
export function describeUnready({ parts }: Health): string | undefined {
  const unready = Object.entries(parts).filter(([, state]) => state !== "ok");
  if (unready.length === 0) return undefined;
  return unready.map(([part, state]) => `${part}: ${state}`).join(", ");
}

const isPartName = (name: string): name is PartName => name in REMEDIES;
