/**
 * `bun run test:flood [--idle N] [--slow N] [--per-second N] [--seconds N]`: floods a redirector of
 * a new stack with connections from many addresses while ordinary visitors click. Writes
 * `bench/results/flood.json`; exits with 1 when a click got no redirect before or after a flood, or
 * stored clicks differ from redirects.
 */
import { parseArgs } from "node:util";

import { publish, type Target } from "../harness/report.ts";
import { startStack } from "../harness/stack.ts";
import { type Phase, runFlood } from "./run.ts";

const { values } = parseArgs({
  options: {
    idle: { type: "string", default: "50000" },
    slow: { type: "string", default: "5000" },
    "per-second": { type: "string", default: "20000" },
    seconds: { type: "string", default: "30" },
  },
});

/** Memory that a redirector may take: its cache's default bound, the journal's buffers and Bun. */
const MEMORY_MIB_MAX = 512;

await using stack = await startStack();
const { phases, redirects, stored } = await runFlood(stack, {
  idle: Number(values.idle),
  slow: Number(values.slow),
  perSecond: Number(values["per-second"]),
  seconds: Number(values.seconds),
  quietSeconds: 10,
  clicksPerSecond: 200,
  log: console.log,
});
const isFlood = ({ attack }: Phase) => attack !== undefined;
const failures = (some: readonly Phase[]) =>
  some.reduce((sum, { visitors }) => sum + visitors.failures, 0);
const [before, ...others] = phases;
const quiet = others.filter((phase) => !isFlood(phase));
const atMost = (name: string, value: number, bound: number): Target => ({
  name,
  value,
  target: `<= ${bound}`,
  met: value <= bound,
});
const targets = [
  atMost("failed clicks during floods", failures(phases.filter(isFlood)), 0),
  atMost("failed clicks before and after", failures(phases.filter((one) => !isFlood(one))), 0),
  atMost(
    "memory, MiB",
    Math.max(...phases.map(({ maxMemoryMiB }) => maxMemoryMiB)),
    MEMORY_MIB_MAX,
  ),
  atMost(
    "p99 after floods : before",
    Math.max(...quiet.map(({ visitors }) => visitors.p99)) / (before?.visitors.p99 ?? 1),
    2,
  ),
  atMost("redirects whose click is not stored", redirects - stored, 0),
];
publish({
  name: "flood",
  versions: { bun: Bun.version },
  rows: phases.map(({ name, visitors, attack, ...server }) => ({
    phase: name,
    clicks: visitors.clicks,
    failed: visitors.failures,
    "p50 ms": visitors.p50,
    "p99 ms": visitors.p99,
    "max ms": visitors.max,
    "opened/s": Math.round((attack?.opened ?? 0) / (attack?.seconds ?? 1)),
    refused: attack?.refused ?? 0,
    "open at most": server.openMax,
    rejected: server.rejected,
    evicted: server.evicted,
    "memory MiB": server.maxMemoryMiB,
  })),
  targets,
});
const lost = targets
  .slice(1, 2)
  .concat(targets.slice(-1))
  .some(({ met }) => !met);
process.exit(lost ? 1 : 0);
