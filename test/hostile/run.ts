/**
 * Attacks a new stack on every route with inputs generated from a seed, while a legitimate client
 * continues its work. No process may end, and no response may be a 5xx without a reason or belong
 * to another request; measures stalls of event loops and the legitimate client's response times.
 */
import { startDns } from "../harness/dns.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { attackForDuration, type AttackOptions } from "./attack.ts";
import { type ClientReport, startLegitimateClient } from "./client-thread.ts";
import {
  describeInput,
  DETECTION_DELAY_MS,
  type ExplainedStall,
  explainStalls,
} from "./explain.ts";
import { createFindings, type Finding, readLoggedErrors } from "./findings.ts";
import { createClientTask, createFixtures } from "./fixtures.ts";
import { createInputs, GENERATOR_NAMES, type Input } from "./inputs.ts";
import { findFault } from "./judge.ts";
import { readPorts } from "./ports.ts";
import { formatRoute, listRoutes, type Surface } from "./routes.ts";
import { createTally } from "./tally.ts";
import { type Memory, PROCESS_OF, type Stall, type WatchedProcess, watchStack } from "./watch.ts";
import { type Exchange, sendInput } from "./wire.ts";

export type HostileOptions = AttackOptions & {
  seed: number;
  /** Duration of the legitimate client's measurement before the attack. */
  baselineSeconds: number;
  /** Sends only these inputs, one after another. */
  only?: readonly number[] | undefined;
  /** Listeners to attack; by default all. */
  surfaces?: readonly Surface[] | undefined;
  /** Searches for the causes of stalls of at least this length, in milliseconds. */
  explainFromMs: number;
};

export type HostileReport = {
  sent: number;
  rows: Record<string, string | number>[];
  findings: Finding[];
  /** Longest stall of each process, in milliseconds. */
  longestStalls: Record<WatchedProcess, number>;
  stalls: ExplainedStall[];
  cpuWaitSeconds: Record<string, number>;
  memory: Memory[];
  client: { baseline: ClientReport; attack: ClientReport };
  /** Logged errors, deduplicated. */
  errors: string[];
};

/** Recent inputs retained as suspects of a stall or crash. */
const RECENT_MAX = 2_000;

/** An input is a suspect of a crash if it was in flight within this time before it. */
const SUSPECT_MS = 1_500;
const SUSPECTS_MAX = 30;

type Sent = { input: Input; from: number; until: number };

export async function runHostile(options: HostileOptions): Promise<HostileReport> {
  await using dns = await startDns();
  await using stack = await startStack({ env: { DNS_SERVERS: dns.address } });
  return await attackStack(stack, options);
}

/** Attacks a stack that nobody has attacked before. */
export async function attackStack(stack: Stack, options: HostileOptions): Promise<HostileReport> {
  const { seed, log, only } = options;
  const routes = listRoutes().filter(({ surface }) => options.surfaces?.includes(surface) ?? true);
  const fixtures = await createFixtures(stack);
  const inputs = createInputs(seed, routes, fixtures);
  const ports = readPorts(stack);
  const client = startLegitimateClient();
  client.start(await createClientTask(stack));
  log(`${routes.length} routes, ${GENERATOR_NAMES.length} generators`);

  await Bun.sleep(options.baselineSeconds * 1_000);
  const baseline = await client.report();

  const findings = createFindings(seed, log);
  const tally = createTally(GENERATOR_NAMES);
  const recent: Sent[] = [];
  const stallSuspects = new Map<Stall, Input[]>();
  const watch = watchStack(stack, { onEnd: recordCrash, onStall: recordStall });

  function recordStall(stall: Stall): void {
    if (stall.ms < options.explainFromMs) return;
    const since = stall.at - stall.ms - DETECTION_DELAY_MS;
    const inputs = recent.filter(
      ({ input, until }) => PROCESS_OF[input.route.surface] === stall.process && until > since,
    );
    stallSuspects.set(
      stall,
      inputs.map(({ input }) => input),
    );
  }

  function recordCrash(name: string): void {
    const since = performance.now() - SUSPECT_MS;
    const suspects = recent
      .filter(
        ({ input, until }) =>
          until > since && (PROCESS_OF[input.route.surface] ?? "clickhouse") === name,
      )
      .slice(-SUSPECTS_MAX);
    findings.add({
      kind: "process ended",
      where: name,
      what: `in flight: ${suspects.map(({ input }) => input.index).join()}`,
    });
    for (const { input } of suspects) findings.save(input);
  }

  async function attack(input: Input): Promise<void> {
    const entry: Sent = { input, from: performance.now(), until: Number.POSITIVE_INFINITY };
    recent.push(entry);
    if (recent.length > RECENT_MAX) recent.shift();
    const exchanges = await Promise.all(
      Array.from({ length: input.copies }, () => sendInput(input, ports[input.route.surface])),
    );
    entry.until = performance.now();
    for (const exchange of exchanges) checkExchange(input, exchange);
  }

  function checkExchange(input: Input, exchange: Exchange): void {
    tally.add(input, exchange);
    const fault = findFault(input, exchange);
    if (fault === undefined) return;
    findings.add({
      ...fault,
      where: `${formatRoute(input.route)} × ${input.generator}`,
      index: input.index,
    });
    findings.save(input);
  }

  if (only === undefined) {
    await attackForDuration(options, stack, inputs.make, attack);
  } else {
    for (const index of only) {
      const input = inputs.make(index);
      log(`${index}: ${describeInput(input)}`);
      await attack(input);
    }
  }
  const during = await client.report();
  client.stop();
  await watch.stop();
  for (const wrong of during.wrong)
    findings.add({ kind: "legitimate client got a wrong response", where: "client", what: wrong });
  for (const failed of during.failed)
    findings.add({ kind: "legitimate client failed", where: failed.slice(0, 60), what: failed });
  const stalls = await explainStalls(watch.stalls, stallSuspects, stack, ports);
  return {
    sent: tally.sent(),
    rows: tally.rows(),
    findings: findings.all(),
    longestStalls: {
      api: longest("api"),
      redirector: longest("redirector"),
      worker: longest("worker"),
    },
    stalls,
    cpuWaitSeconds: Object.fromEntries(watch.cpuWaitSeconds),
    memory: watch.memory(),
    client: { baseline, attack: during },
    errors: readLoggedErrors(stack.dataDir),
  };

  function longest(name: WatchedProcess): number {
    const own = watch.stalls.filter(({ process }) => process === name);
    return Math.max(0, ...own.map(({ ms }) => ms));
  }
}
