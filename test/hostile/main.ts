/**
 * `bun run test:scenarios hostile-long -- [--minutes N] [--seed N] [--only INDEX,INDEX] [--surfaces
 * NAME,NAME]`: attacks every route of a new stack, or the routes of some listeners. Before that,
 * the cost guard measures single inputs; `--cost` runs nothing else, and a repeated run leaves it
 * out. Writes `bench/results/hostile-inputs.json` and `hostile-cost.json`; exits with 1 after a
 * violation, or when a signal has ended it early.
 *
 * `--amplification [--clicks MILLIONS] [--data DIR] [--route TEXT]` measures instead how much CPU
 * time a free key can cause within its limits, by route, and writes
 * `bench/results/amplification.json`.
 */
import { parseArgs } from "node:util";

import { atMost, publish, type Target } from "../harness/report.ts";
import { reportAmplification } from "./amplification/report.ts";
import { reportCosts } from "./cost/report.ts";
import { SURFACES } from "./routes.ts";
import { type HostileReport, runHostile } from "./run.ts";
import { WATCHED_PROCESSES } from "./watch.ts";

/**
 * Inputs per second: slightly more than the target needs, and leaves part of 2 cores to the
 * attacked processes.
 */
const RATE = 185;
/** Longest acceptable stall of an event loop, in milliseconds. */
const STALL_MS_MAX = 50;
const INPUTS_PER_MINUTE = 10_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string" },
    only: { type: "string" },
    surfaces: { type: "string" },
    cost: { type: "boolean", default: false },
    amplification: { type: "boolean", default: false },
    clicks: { type: "string", default: "1" },
    data: { type: "string" },
    route: { type: "string" },
  },
});
if (values.amplification) {
  const { clicks, data: dir, route: only } = values;
  const missed = await reportAmplification({ millions: Number(clicks), dir, only });
  process.exit(missed === 0 ? 0 : 1);
}
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const minutes = Number(values.minutes);
const only = values.only?.split(",").map(Number);
const surfaceNames = values.surfaces?.split(",");
const surfaces = surfaceNames && SURFACES.filter((surface) => surfaceNames.includes(surface));
const isRepeated = [values.seed, values.only].some((value) => value !== undefined);
const costly = isRepeated && !values.cost ? 0 : await reportCosts(surfaces);
if (values.cost) process.exit(costly === 0 ? 0 : 1);
console.log(
  `--seed ${seed}${surfaceNames === undefined ? "" : ` --surfaces ${surfaceNames.join()}`}`,
);
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopping.abort());
const report = await runHostile({
  seed,
  seconds: minutes * 60,
  baselineSeconds: only === undefined ? 20 : 1,
  rate: RATE,
  explainFromMs: STALL_MS_MAX,
  only,
  surfaces,
  signal: stopping.signal,
  log: console.log,
});
const { findings, stalls, memory, cpuWaitSeconds, client } = report;
console.table(memory);
console.table(cpuWaitSeconds);
console.log(JSON.stringify(client, undefined, 2));
for (const { process, ms, causes } of stalls) {
  console.log(`${process} stalled for ${Math.round(ms)} ms`);
  for (const cause of causes) console.log(`  on its own: ${cause}`);
}
for (const { kind, where, what, count, index } of findings)
  console.log(
    `${count} × ${kind}: ${where}: ${what}${index === undefined ? "" : ` (--seed ${seed} --only ${index})`}`,
  );
for (const line of report.errors) console.log(`logged: ${line}`);
const targets = listTargets(report);
if (only === undefined)
  publish({
    name: "hostile-inputs",
    versions: { bun: Bun.version, seed: String(seed) },
    rows: report.rows,
    targets,
  });
// A late response depends more on the machine than on the service.
const isClean = costly === 0 && findings.every(({ kind }) => kind === "no response");
process.exit(isClean && !stopping.signal.aborted ? 0 : 1);

function listTargets({ sent, findings, longestStalls, client, memory }: HostileReport): Target[] {
  const count = (kind: string): number =>
    findings.filter((f) => f.kind.startsWith(kind)).reduce((sum, f) => sum + f.count, 0);
  const addedLatency = (side: "redirector" | "api"): number =>
    client.attack[side].p99 - client.baseline[side].p99;
  const inputs = INPUTS_PER_MINUTE * minutes;
  return [
    { name: "inputs sent", value: sent, target: `>= ${inputs}`, met: sent >= inputs },
    atMost("processes that ended", count("process ended"), 0),
    atMost("5xx without a reason", count("5xx"), 0),
    atMost("responses that belong to another request", count("another request's"), 0),
    atMost(
      "other faults",
      findings.length -
        findings.filter(({ kind }) => /^(process|5xx|another request's)/.test(kind)).length,
      0,
    ),
    ...WATCHED_PROCESSES.map((name) =>
      atMost(`longest stall of the ${name}, ms`, longestStalls[name], STALL_MS_MAX),
    ),
    atMost(
      "legitimate client at the redirector, p99 above baseline, ms",
      addedLatency("redirector"),
      100,
    ),
    atMost("legitimate client at the API, p99 above baseline, ms", addedLatency("api"), 100),
    atMost("503 responses to the legitimate client", client.attack.unavailable, 0),
    ...memory
      .filter(({ process }) => WATCHED_PROCESSES.some((name) => name === process))
      .map(({ process, maxMiB }) => atMost(`maximum memory of the ${process}, MiB`, maxMiB, 1_024)),
  ];
}
