/** Hostile input to a stack: what generators make of every route, and inputs at their bounds. */
import { atLeast, atMost, publish, type Target } from "../../harness/report.ts";
import { type CostRow, guardCosts, listUnmeasured } from "../../hostile/cost/guard.ts";
import { formatRoute, listRoutes } from "../../hostile/routes.ts";
import { attackStack, type HostileReport } from "../../hostile/run.ts";
import { WATCHED_PROCESSES } from "../../hostile/watch.ts";
import type { Idle, LegitimateClient } from "../loads/legitimate-client.ts";
import type { Fault, RunSettings } from "../parts.ts";
import type { AttackedStack } from "../topologies/one-stack.ts";

/**
 * Inputs per second of the long form: slightly more than the target needs, and leaves part of 2
 * cores to the attacked processes.
 */
const RATE_LONG = 185;
const INPUTS_PER_MINUTE = 10_000;
const SECONDS_LONG = 600;

/** Enough for every route and every generator. */
const RATE_SHORT = 250;
const SECONDS_SHORT = 25;

/** Longest acceptable stall of an event loop, in milliseconds. */
const STALL_MS_MAX = 50;

/** Coarse, for any machine: known faults stalled a process for 2 to 16 seconds. */
const STALL_MS_FAILED = 1_000;

const MEMORY_MIB_MAX = 1_024;

/** Inputs on every route end and stall no process, and their responses are their own. */
export const HOSTILE_INPUTS: Fault<AttackedStack, LegitimateClient> = {
  name: "hostile inputs",
  async inject({ topology, settings }) {
    const { seed, long, only, log } = settings;
    const seconds = long ? SECONDS_LONG : SECONDS_SHORT;
    const report = await attackStack(topology.stack, {
      seed,
      seconds,
      rate: long ? RATE_LONG : RATE_SHORT,
      only,
      stallMsMin: long ? STALL_MS_MAX : STALL_MS_FAILED,
      log,
    });
    for (const line of report.errors) log(`logged: ${line}`);
    if (long && only === undefined) publishReport(report, settings);
    const problems = [...findProblems(report), ...(only === undefined ? findMissed(report) : [])];
    if (problems.length > 0) throw new Error(problems.join("\n"));
  },
};

/** A late response depends more on the machine than on the service. */
const findProblems = ({ findings, longestStalls }: HostileReport): string[] => [
  ...findings
    .filter(({ kind }) => kind !== "no response")
    .map(
      ({ kind, where, what, count, index }) => `${count} × ${kind}: ${where}: ${what} (${index})`,
    ),
  ...WATCHED_PROCESSES.filter((name) => longestStalls[name] >= STALL_MS_FAILED).map(
    (name) => `${name} was stalled for ${Math.round(longestStalls[name])} ms`,
  ),
];

function findMissed({ rows }: HostileReport): string[] {
  const attacked = new Set(rows.map(({ route }) => route));
  const missed = listRoutes()
    .map(formatRoute)
    .filter((route) => !attacked.has(route));
  return missed.map((route) => `${route} was not attacked`);
}

function publishReport(report: HostileReport, { seed }: RunSettings): void {
  console.table(report.memory);
  console.table(report.cpuWaitSeconds);
  const { sent, findings, longestStalls, memory } = report;
  const inputs = (INPUTS_PER_MINUTE * SECONDS_LONG) / 60;
  const count = (kind: RegExp): number =>
    findings.reduce((sum, one) => sum + (kind.test(one.kind) ? one.count : 0), 0);
  const targets: Target[] = [
    atLeast("inputs sent", sent, inputs),
    atMost("processes that ended", count(/^process ended/), 0),
    atMost("5xx without a reason", count(/^5xx/), 0),
    atMost("responses that belong to another request", count(/^another request's/), 0),
    atMost("other faults", count(/^(?!process|5xx|another request's)/), 0),
    ...WATCHED_PROCESSES.flatMap((name) => [
      atMost(`longest stall of the ${name}, ms`, longestStalls[name], STALL_MS_MAX),
      ...memory
        .filter(({ process }) => process === name)
        .map(({ maxMiB }) => atMost(`maximum memory of the ${name}, MiB`, maxMiB, MEMORY_MIB_MAX)),
    ]),
  ];
  publish({
    name: "hostile-inputs",
    versions: { seed: String(seed) },
    rows: report.rows,
    targets,
  });
}

/** Inputs of the form that a change of anything selects. */
const MEASURED_SOME = 60;

/** Budgets are multiplied by it: CPU time does not depend on what else runs, but on the machine. */
const SLOWDOWN_SHORT = 3;

/** Of visitors' requests, those of which it is no fault that all are rejected. */
const REJECTED = new Set([
  "redirector GET /cost-plain, unknown host",
  "redirector GET /cost-plain, unknown alias",
  // No link has these aliases either.
  "redirector GET /cost-plain, path of emoji",
  "redirector GET /cost-plain, path of marks",
  "redirector GET /cost-plain, path of segments",
]);

/**
 * No input at its bounds costs more than in proportion to its size: each part of a request once, in
 * the long form all pairs of parts, with the budgets as they are.
 */
export const INPUTS_AT_BOUNDS: Fault<AttackedStack, Idle> = {
  name: "each input at its bounds",
  inject: ({ topology, settings }) => measureCosts(topology, settings),
};

/** The same of a few, as the seed chooses them. */
export const SOME_AT_BOUNDS: Fault<AttackedStack, Idle> = {
  name: "some inputs at their bounds",
  inject: ({ topology, settings }) => measureCosts(topology, settings, MEASURED_SOME),
};

async function measureCosts(
  { stack }: AttackedStack,
  { seed, long, log }: RunSettings,
  count?: number,
): Promise<void> {
  const rows = await guardCosts(stack, {
    pairwise: long,
    slowdown: long ? 1 : SLOWDOWN_SHORT,
    ...(count === undefined ? {} : { some: { count, seed } }),
    log,
  });
  const faults = rows.filter(({ fault }) => fault !== undefined);
  const unmeasured = listUnmeasured(rows);
  if (long)
    publish({
      name: "hostile-cost",
      rows: listWorst(rows).map(formatRow),
      targets: [
        atMost("inputs above budget", faults.length, 0),
        atMost("routes that a limit kept from being measured", unmeasured.length, 0),
      ],
    });
  const problems = [
    ...faults.map((row) => JSON.stringify(formatRow(row))),
    ...unmeasured.map((route) => `${route}: a limit refused every input`),
    ...(count === undefined ? listRejected(rows) : []).map(
      (route) => `${route}: every visitor was refused`,
    ),
  ];
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Visitors' requests that were all rejected: they cost nothing, and say nothing. */
const listRejected = (rows: readonly CostRow[]): string[] =>
  [...Map.groupBy(rows, ({ target }) => target)]
    .filter(([, own]) => !own.some(({ status }) => status > 0 && status < 400))
    .map(([target]) => target)
    .filter((target) => target.startsWith("redirector") && !REJECTED.has(target));

/** The most expensive row of each route and process, in the order of their cost. */
function listWorst(rows: readonly CostRow[]): CostRow[] {
  const sorted = rows.toSorted((a, b) => b.turnMs - a.turnMs);
  const seen = Map.groupBy(sorted, ({ target, process }) => `${target} ${process}`);
  return [...seen.values()].flatMap(([worst]) => worst ?? []);
}

const tenth = (ms: number): number => Math.round(ms * 10) / 10;

const formatRow = (row: CostRow): Record<string, string | number> => ({
  route: row.target,
  process: row.process,
  "worst turn, ms at most": tenth(row.turnMs),
  "CPU at 1/4, 1/2, 1, ms": row.samples.map(({ cpuMs }) => tenth(cpuMs)).join(" "),
  bytes: row.samples[2].bytes,
  status: row.status,
  input: row.parts,
  fault: row.fault ?? "",
});
