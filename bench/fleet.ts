/**
 * `bun run bench:fleet [SECONDS]`: whether the click pipeline carries many redirectors with a
 * little traffic each, and what a click costs there, compared with the same clicks from one
 * redirector in full segments. Each scenario has a stack of its own, whose own redirector is idle.
 */
import { runQuery } from "../test/harness/admin.ts";
import { readCpu } from "../test/harness/process-usage.ts";
import { scrape } from "../test/harness/prometheus.ts";
import { atMost, publish, round } from "../test/harness/report.ts";
import { type Stack, startStack } from "../test/harness/stack.ts";
import { type Fleet, type Published, runFleet } from "./fleet/redirectors.ts";

const [SECONDS = 60] = process.argv.slice(2).map(Number);

const SCENARIOS: Record<"many" | "one", Fleet> = {
  many: { redirectors: 200, segmentsPerSecond: 4, clicksPerSegment: 10 },
  one: { redirectors: 1, segmentsPerSecond: 4, clicksPerSegment: 2_000 },
};

/** Until then everything must be stored after the last click. */
const GRACE_MS = 5_000;

/** Between two looks at the number of stored clicks: the resolution of the lag. */
const POLL_MS = 500;

const LAG_P99_MAX_MS = 3_000;
const PROCESSES = ["nats", "worker", "clickhouse"] as const;

type Measured = {
  published: number;
  stored: number;
  lagP99: number;
  /**
   * Microseconds of CPU time per click, by process: NATS's per published one, the others' per
   * stored one.
   */
  cpu: Record<(typeof PROCESSES)[number], number>;
  insertsPerSecond: number;
  partsPerMinute: number;
};

const many = await measure(SCENARIOS.many);
const one = await measure(SCENARIOS.one);
const total = ({ cpu }: Measured) => PROCESSES.reduce((sum, name) => sum + cpu[name], 0);
const ratio = total(many) / total(one);

publish({
  name: "fleet",

  rows: [
    toRow("200 redirectors × 4 segments/s × 10 clicks", many),
    toRow("1 redirector × 4 × 2,000", one),
  ],
  targets: [
    atMost("200 redirectors: p99 until stored, ms", many.lagP99, LAG_P99_MAX_MS),
    atMost("200 redirectors: clicks not stored 5 s after the end", many.published - many.stored, 0),
    atMost("CPU per click, 200 redirectors : 1 redirector", ratio, 2),
    atMost("200 redirectors: inserts of clicks per second", many.insertsPerSecond, 2),
  ],
});

function toRow(scenario: string, measured: Measured): Record<string, string | number> {
  const { published, stored, lagP99, cpu, insertsPerSecond, partsPerMinute } = measured;
  return {
    scenario,
    sustained: stored === published && lagP99 <= LAG_P99_MAX_MS ? "yes" : "no",
    published,
    "stored 5 s after the end": stored,
    "lag p99 ms": Math.round(lagP99),
    "NATS CPU µs/click": round(cpu.nats),
    "worker CPU µs/click": round(cpu.worker),
    "ClickHouse CPU µs/click": round(cpu.clickhouse),
    "inserts/s": round(insertsPerSecond),
    "parts/min": Math.round(partsPerMinute),
  };
}

async function measure(fleet: Fleet): Promise<Measured> {
  await using stack = await startStack({ empty: true });
  // Compiles statements and code, and loads the GeoIP data, before anything is measured.
  const warmUp = sumClicks(await runFleet(stack.info().nats_url, { ...fleet, redirectors: 1 }, 2));
  while ((await countStored(stack)) < warmUp) await Bun.sleep(POLL_MS);

  const before = await readUsage(stack);
  const polls: Poll[] = [];
  const polling = new AbortController();
  const watching = watchStored(stack, warmUp, polls, polling.signal);
  const published = await runFleet(stack.info().nats_url, fleet, SECONDS);
  const deadline = Date.now() + GRACE_MS;
  const total = sumClicks(published);
  while (Date.now() < deadline && (polls.at(-1)?.stored ?? 0) < total) await Bun.sleep(POLL_MS);
  polling.abort();
  await watching;
  const after = await readUsage(stack);
  const stored = polls.at(-1)?.stored ?? 0;
  const used = (name: (typeof PROCESSES)[number]) => after.cpu[name] - before.cpu[name];
  const seconds = (after.at - before.at) / 1_000;
  return {
    published: total,
    stored,
    lagP99: computeLag(published, polls, 0.99),
    cpu: {
      nats: used("nats") / total,
      worker: used("worker") / stored,
      clickhouse: used("clickhouse") / stored,
    },
    insertsPerSecond: (after.inserts - before.inserts) / seconds,
    partsPerMinute: ((after.parts - before.parts) / seconds) * 60,
  };
}

function sumClicks(published: readonly Published[]): number {
  return published.reduce((sum, { clicks }) => sum + clicks, 0);
}

type Poll = { at: number; stored: number };

/**
 * Polls the number of stored clicks beyond `base` until the signal. Counting all rows reads no
 * column.
 */
async function watchStored(stack: Stack, base: number, polls: Poll[], signal: AbortSignal) {
  while (!signal.aborted) {
    const stored = (await countStored(stack)) - base;
    polls.push({ at: Date.now(), stored });
    await Bun.sleep(POLL_MS);
  }
}

/**
 * The time after which a share of the clicks was seen to be stored, in milliseconds. Clicks are
 * taken as stored in the order in which they were published. What is not stored when the
 * measurement ends counts as stored then.
 */
function computeLag(
  published: readonly Published[],
  polls: readonly Poll[],
  share: number,
): number {
  const lags: { lag: number; clicks: number }[] = [];
  const end = polls.at(-1)?.at ?? Number.NaN;
  let sum = 0;
  let poll = 0;
  for (const { at, clicks } of published.toSorted((a, b) => a.at - b.at)) {
    sum += clicks;
    while (poll < polls.length && (polls[poll]?.stored ?? 0) < sum) poll++;
    lags.push({ lag: (polls[poll]?.at ?? end) - at, clicks });
  }
  lags.sort((a, b) => a.lag - b.lag);
  let seen = 0;
  return lags.find(({ clicks }) => (seen += clicks) >= sum * share)?.lag ?? Number.NaN;
}

function cpuOf(pid: number | null): number {
  if (pid === null) throw new Error("The stack must run all of its services.");
  return readCpu(pid);
}

async function readUsage(stack: Stack) {
  const { pids, worker_metrics_url } = stack.info();
  const metrics = await scrape(worker_metrics_url);
  return {
    at: Date.now(),
    cpu: { nats: cpuOf(pids.nats), worker: cpuOf(pids.worker), clickhouse: cpuOf(pids.clickhouse) },
    inserts: metrics.get('shorthop_worker_insert_duration_seconds_count{outcome="ok"}') ?? 0,
    parts: Number(
      await runQuery(
        stack,
        "SELECT sum(value) FROM system.events WHERE event = 'MergeTreeDataWriterBlocks'",
      ),
    ),
  };
}

async function countStored(stack: Stack): Promise<number> {
  return Number(await runQuery(stack, "SELECT count() FROM clicks"));
}
