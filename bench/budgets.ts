/**
 * `bun run bench:budgets [--seconds N] [--lanes N]`: a free account with all the keys, sessions,
 * webhooks, shares and members that it may have calls every route with inputs at their bounds, as
 * fast as it gets responses, for ten minutes unless told otherwise. Beside it, a paying account
 * follows a link, reads its analytics and gets its webhooks. Compared with the paying account alone
 * and beside as much CPU time that something else burns; what the free account leaves in each
 * store; and the memory of each process.
 */
import { parseArgs } from "node:util";

import { Dns } from "../test/harness/dns.ts";
import { readTreeCpu, treeBytes } from "../test/harness/process-usage.ts";
import { atMost, publish, quantile, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { type Process, PROCESSES } from "../test/hostile/amplification/meter.ts";
import { startAttack } from "./budgets/attack.ts";
import { burn } from "./budgets/burn.ts";
import { type Figures, KINDS, PayingClient } from "./budgets/paying-client.ts";
import { readStored, type Stored, STORES } from "./budgets/stored.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "600" },
    lanes: { type: "string", default: "16" },
  },
});
const SECONDS = Number(values.seconds);

/** The paying client alone; and after the attack, when memory is read again. */
const ALONE_SECONDS = Math.min(60, SECONDS);
const AFTER_SECONDS = Math.min(60, SECONDS);

const SAMPLE_MS = 500;

/** Beside the attack, the paying account waits no longer than beside as much other work. */
const SLOWER_MAX = 1.5;
const SLOWER_MS = 20;

/** A process may take so much beside what it has without the attack. */
const GROWTH_MIB_MAX = 512;

await using dns = await Dns.start();
await using stack = await startStack({ env: { DNS_SERVERS: dns.address } });
await using client = await PayingClient.start(stack);
await using attack = await startAttack(stack, Number(values.lanes));

const memory = new Map<Process, { before: number; highest: number; after: number }>();
const memoryOf = (process: Process): number => {
  const pid = stack.info().pids[process];
  return pid === null ? 0 : treeBytes(pid) / 2 ** 20;
};

const alone = await client.measure(() => Bun.sleep(ALONE_SECONDS * 1_000));
for (const process of PROCESSES) {
  const before = memoryOf(process);
  memory.set(process, { before, highest: before, after: before });
}
const storedBefore = await readStored(stack);
let attacked = { sent: 0, refused: 0, cpuSeconds: 0 };
const sampling = setInterval(sampleMemory, SAMPLE_MS);
const beside = await client.measure(async () => {
  const cpuBefore = readTreeCpu(process.pid);
  const calls = await attack.run(SECONDS);
  attacked = { ...calls, cpuSeconds: (readTreeCpu(process.pid) - cpuBefore) / 1_000 };
});
const storedAfter = await readStored(stack);
await Bun.sleep(AFTER_SECONDS * 1_000);
clearInterval(sampling);
for (const [process, figures] of memory) figures.after = memoryOf(process);
const burned = await client.measure(() => burn(SECONDS, attacked.cpuSeconds / SECONDS));

publish({
  name: "budgets",

  rows: [
    ...KINDS.map((kind) => ({
      measured: `paying account: ${kind}, p50 and p99 in ms`,
      alone: describe(alone, kind),
      "beside the free account": describe(beside, kind),
      "beside other work": describe(burned, kind),
    })),
    ...STORES.map((store) => ({
      measured: `written to ${store}, MiB an hour`,
      "beside the free account": perHour(store),
    })),
    ...[...memory].map(([process, { before, highest, after }]) => ({
      measured: `memory of ${process}, MiB`,
      alone: round(before),
      "beside the free account": `${round(highest)} highest`,
      "beside other work": `${round(after)} after`,
    })),
    {
      measured: "calls of the free account, refused of them, CPU seconds a second",
      "beside the free account": `${attacked.sent}, ${attacked.refused}, ${round(attacked.cpuSeconds / SECONDS)}`,
    },
  ],
  targets: [
    ...KINDS.map((kind) =>
      atMost(
        `${kind}: p99 beside the free account, ms; 1.5 times as much and 20 ms as beside other work`,
        quantile(beside[kind], 0.99),
        quantile(burned[kind], 0.99) * SLOWER_MAX + SLOWER_MS,
      ),
    ),
    atMost("failures of the paying account", beside.failures, 0),
    ...[...memory].map(([process, { before, highest }]) =>
      atMost(`memory of ${process}: growth, MiB`, highest - before, GROWTH_MIB_MAX),
    ),
  ],
});
function sampleMemory(): void {
  for (const [process, figures] of memory)
    figures.highest = Math.max(figures.highest, memoryOf(process));
}

function describe(figures: Figures, kind: (typeof KINDS)[number]): string {
  const times = figures[kind];
  return `${round(quantile(times, 0.5))}, ${round(quantile(times, 0.99))} (${times.length})`;
}

function perHour(store: keyof Stored): number {
  return round(((storedAfter[store] - storedBefore[store]) / 2 ** 20) * (3_600 / SECONDS));
}
