/**
 * Whatever is paused for a minute accepts connections and does not respond, and then goes on as if
 * nothing had been.
 */
import { readdirSync, readFileSync } from "node:fs";

import { pidOf, type ServiceName } from "../../../harness/services.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drill, Subject } from "./drill.ts";

const PAUSED_MS = 60_000;

/**
 * A process and everything that it has started: a server of PostgreSQL has a process for each
 * connection.
 */
function descendantsOf(pid: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid)
    .map(Number);
  return [pid, ...children.flatMap(descendantsOf)];
}

/** Of `/proc/PID/stat`, whose second field is a name in parentheses. */
function parentOf(pid: string): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(")").at(-1)?.trim().split(" ");
    return Number(fields?.[1]);
  } catch {
    return undefined;
  }
}

function signalAll(pid: number, signal: NodeJS.Signals): void {
  for (const one of descendantsOf(pid)) process.kill(one, signal);
}

async function pause(system: TwoHosts, pid: number, ms: number): Promise<void> {
  signalAll(pid, "SIGSTOP");
  try {
    await system.hold(ms);
  } finally {
    signalAll(pid, "SIGCONT");
  }
  await system.rest();
}

const pauseService =
  (name: ServiceName): Drill["inject"] =>
  (system) =>
    pause(system, pidOf(system.stack, name), PAUSED_MS);

const drill = (
  subject: Subject,
  promise: string,
  named: RegExp,
  inject: Drill["inject"],
  mayBeUnavailable = false,
): Drill => ({
  subject,
  condition: "paused for a minute",
  promise,
  named,
  inject,
  mayBeUnavailable,
});

export const PAUSE_DRILLS: readonly Drill[] = [
  drill(
    "PostgreSQL",
    "Redirects and clicks go on; the API responds with 503, and goes on by itself.",
    /postgres|readiness/,
    pauseService("postgres"),
  ),
  drill(
    "NATS",
    "Redirects go on from each host; clicks wait in journals, changes in the outbox.",
    /nats|NATS|links_feed|clicks/,
    pauseService("nats"),
  ),
  drill(
    "ClickHouse",
    "Redirects and links go on; clicks wait in `CLICKS`, and are stored once, whatever of an insert arrived.",
    /worker: (clicks|counters|readiness)|ClickHouse|ShorthopClicksLag|CLICKHOUSE/,
    pauseService("clickhouse"),
  ),
  drill(
    "api",
    "Redirects and clicks go on; systemd's watchdog would end it after 30 s.",
    /api: does not respond/,
    pauseService("api"),
  ),
  drill(
    "redirector",
    "Visitors of that process wait, those of others do not; systemd's watchdog would end it after 20 s.",
    /redirector: does not respond/,
    (system) => pause(system, system.other.pid, PAUSED_MS),
    true,
  ),
  drill(
    "worker",
    "Clicks wait in `CLICKS`, and each is stored once; another worker would take over.",
    /worker: does not respond/,
    pauseService("worker"),
  ),
];
