/**
 * Whatever is paused for a minute accepts connections and does not respond, and then goes on as if
 * nothing had been.
 */
import { listTree } from "../../../harness/process-usage.ts";
import { pidOf } from "../../../harness/services.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drill } from "./drill.ts";

const PAUSED_MS = 60_000;

/** Also to what it has started: PostgreSQL has a process for each connection. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  for (const one of listTree(pid)) process.kill(one, signal);
}

type Paused = keyof typeof SERVICES | "redirector";

async function pause(system: TwoHosts, pid: number): Promise<void> {
  signalAll(pid, "SIGSTOP");
  try {
    await system.hold(PAUSED_MS);
  } finally {
    signalAll(pid, "SIGCONT");
  }
  await system.rest();
}

/** What is promised, what names it, and whether visitors wait; by subject. */
const PAUSED: Readonly<Record<Paused, Omit<Drill, "inject">>> = {
  PostgreSQL: {
    promise: "Redirects and clicks go on; the API responds with 503, and goes on by itself.",
    named: /postgres|readiness/,
  },
  NATS: {
    promise: "Redirects go on from each host; clicks wait in journals, changes in the outbox.",
    named: /nats|NATS|links_feed|clicks/,
  },
  ClickHouse: {
    promise:
      "Redirects and links go on; clicks wait in `CLICKS`, and are stored once, whatever of an insert arrived.",
    named: /worker: (clicks|counters|readiness)|ClickHouse|ShorthopClicksLag|CLICKHOUSE/,
  },
  api: {
    promise: "Redirects and clicks go on; systemd's watchdog would end it after 30 s.",
    named: /api: does not respond/,
  },
  redirector: {
    promise:
      "Visitors of that process wait, those of others do not; systemd's watchdog would end it after 20 s.",
    named: /redirector: does not respond/,
    mayBeUnavailable: true,
  },
  worker: {
    promise: "Clicks wait in `CLICKS`, and each is stored once; another worker would take over.",
    named: /worker: does not respond/,
  },
};

const SERVICES = {
  PostgreSQL: "postgres",
  NATS: "nats",
  ClickHouse: "clickhouse",
  api: "api",
  worker: "worker",
} as const;

/** Of the redirectors the other host's pauses. */
export const pauseDrill = (subject: Paused): Drill => ({
  ...PAUSED[subject],
  inject: (system) =>
    pause(
      system,
      subject === "redirector" ? system.other.pid : pidOf(system.stack, SERVICES[subject]),
    ),
});
