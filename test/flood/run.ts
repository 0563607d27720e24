/** Floods a redirector with connections, kind by kind, while ordinary visitors follow a link. */
import { join } from "node:path";

import { createAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { residentBytes } from "../harness/process-usage.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { scrape } from "../harness/scrape.ts";
import { PROJECT_DIR, type Stack } from "../harness/stack.ts";
import type { AttackReport, AttackTask } from "./attacker.ts";
import { startVisitors, type VisitorReport } from "./visitors.ts";

export type FloodOptions = {
  /** Idle connections, slow ones, and new ones per second. */
  idle: number;
  slow: number;
  perSecond: number;
  /** Duration of each flood, and of the time before, between and after. */
  seconds: number;
  quietSeconds: number;
  clicksPerSecond: number;
  /** Settings of the redirector. */
  env?: Record<string, string>;
  log: (line: string) => void;
};

export type Phase = {
  name: string;
  visitors: VisitorReport;
  attack: AttackReport | undefined;
  /**
   * Of the redirector: open connections at most; those rejected, and evicted, in this phase; memory
   * at its end.
   */
  openMax: number;
  rejected: number;
  evicted: number;
  memoryMiB: number;
  maxMemoryMiB: number;
};

export type FloodReport = {
  phases: Phase[];
  /** Redirects that visitors got, and clicks that were stored in the end. */
  redirects: number;
  stored: number;
};

/** A process may open 1,024 files or more; each attacker opens at most this many connections. */
const PER_ATTACKER_MAX = 16_000;

const SAMPLE_MS = 250;

/** Runs all floods against a redirector of its own on the stack's services. */
export async function runFlood(stack: Stack, options: FloodOptions): Promise<FloodReport> {
  const { api_url } = stack.info();
  const { key } = await createAccount(stack, "enterprise");
  const body = { url: "https://example.com/flooded" };
  const created = linkSchema.parse((await call(`${api_url}/v1/links`, { key, body })).body);
  const redirector = await startRedirector(stack, { TRUSTED_PROXIES: "", ...options.env });
  try {
    const url = `${redirector.url}/${created.alias}`;
    await eventually(async () => expectRedirect(url), 10_000);
    const visitors = startVisitors(url, options.clicksPerSecond);
    const phases: Phase[] = [];
    for (const [name, task] of listPhases(options)) {
      const attack = async () => await runPhase(redirector, task, options);
      phases.push({ name, ...(await watch(redirector, attack)), visitors: visitors.report() });
      options.log(JSON.stringify(phases.at(-1)));
    }
    // The first click was this function's own.
    const redirects = (await visitors.stop()) + 1;
    const stored = await countStored(`${api_url}/v1/links/${created.id}`, key, redirects);
    return { phases, redirects, stored };
  } finally {
    await redirector.stop();
  }
}

type PhaseTask = Omit<AttackTask, "port" | "firstAddress"> | undefined;

const listPhases = ({ idle, slow, perSecond }: FloodOptions): [string, PhaseTask][] => [
  ["before", undefined],
  [`${idle} idle connections`, { kind: "idle", connections: idle, perSecond: idle }],
  ["after them", undefined],
  [`${slow} slow requests`, { kind: "slow", connections: slow, perSecond: slow }],
  ["after them", undefined],
  [`${perSecond} new connections/s`, { kind: "new", connections: perSecond, perSecond }],
  ["after them", undefined],
];

async function expectRedirect(url: string): Promise<void> {
  const { status } = await fetch(url, { redirect: "manual" });
  if (status !== 302) throw new Error(`${url}: ${status}`);
}

async function runPhase(
  redirector: ExtraProcess,
  task: PhaseTask,
  { seconds, quietSeconds }: FloodOptions,
): Promise<AttackReport | undefined> {
  if (task === undefined) {
    await Bun.sleep(quietSeconds * 1_000);
    return undefined;
  }
  const port = Number(new URL(redirector.url).port);
  // Two of the highest rate: a single process does not reach it.
  const count = Math.max(
    task.kind === "new" ? 2 : 1,
    Math.ceil(task.connections / PER_ATTACKER_MAX),
  );
  const attackers = Array.from({ length: count }, (_, i) =>
    startAttacker({
      ...task,
      port,
      connections: Math.min(PER_ATTACKER_MAX, Math.ceil(task.connections / count)),
      perSecond: Math.ceil(task.perSecond / count),
      firstAddress: i * 250_000_000,
    }),
  );
  await Bun.sleep(seconds * 1_000);
  const reports = await Promise.all(attackers.map(async (stop) => await stop()));
  return reports.reduce((sum, one) => ({
    opened: sum.opened + one.opened,
    refused: sum.refused + one.refused,
    closed: sum.closed + one.closed,
    openMax: sum.openMax + one.openMax,
    seconds: Math.max(sum.seconds, one.seconds),
  }));
}

/** Starts an attacker; returns a function that ends it. */
function startAttacker(task: AttackTask): () => Promise<AttackReport> {
  const child = Bun.spawn(
    [process.execPath, join(PROJECT_DIR, "test/flood/attacker.ts"), JSON.stringify(task)],
    { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
  );
  return async () => {
    await child.stdin.end();
    return JSON.parse(await new Response(child.stdout).text()) as AttackReport;
  };
}

/** Samples the redirector's connections and memory while `work` runs. */
async function watch(
  { pid, metricsUrl }: ExtraProcess,
  work: () => Promise<AttackReport | undefined>,
): Promise<Omit<Phase, "name" | "visitors">> {
  const before = await readConnections(metricsUrl);
  let openMax = 0;
  let maxMemory = 0;
  let working = true;
  const sampling = (async () => {
    while (working) {
      const [{ open }] = await Promise.all([readConnections(metricsUrl), Bun.sleep(SAMPLE_MS)]);
      openMax = Math.max(openMax, open);
      maxMemory = Math.max(maxMemory, residentBytes(pid));
    }
  })();
  const attack = await work();
  working = false;
  await sampling;
  const after = await readConnections(metricsUrl);
  return {
    attack,
    openMax,
    rejected: after.rejected - before.rejected,
    evicted: after.evicted - before.evicted,
    memoryMiB: toMiB(residentBytes(pid)),
    maxMemoryMiB: toMiB(maxMemory),
  };
}

const toMiB = (bytes: number): number => Math.round(bytes / 2 ** 20);

const metricName = (suffix: string): string => `shorthop_redirector_connections_${suffix}`;

async function readConnections(metricsUrl: string) {
  const metrics = await scrape(metricsUrl);
  let rejected = 0;
  for (const [key, value] of metrics)
    if (key.startsWith(metricName("rejected_total"))) rejected += value;
  return {
    open: metrics.get(metricName("open")) ?? 0,
    evicted: metrics.get(metricName("evicted_total")) ?? 0,
    rejected,
  };
}

/** Waits until as many clicks are stored as there were redirects; returns how many are. */
async function countStored(url: string, key: string, redirects: number): Promise<number> {
  let stored = 0;
  await eventually(async () => {
    stored = linkSchema.parse((await call(url, { key })).body).clicks;
    if (stored < redirects) throw new Error(`${stored} of ${redirects} clicks are stored.`);
  }, 60_000).catch(() => undefined);
  return stored;
}
