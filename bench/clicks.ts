/**
 * `bun run bench:clicks [SECONDS]`: the cost of a click on its way from the redirect to ClickHouse,
 * in CPU time of each process and in bytes at each stage, and the delay until it is visible in the
 * analytics.
 */
import { connect } from "nats";

import { ROLLUP_TABLES } from "../shared/clicks/rollup-tables.ts";
import { BULK_LINKS_MAX } from "../shared/contracts/link-schemas.ts";
import { CLICKS_STREAM } from "../shared/contracts/streams.ts";
import { natsLogin } from "../shared/nats.ts";
import { createAccount, runQuery, UNLIMITED } from "../test/harness/admin.ts";
import { call, linkSchema, summarySchema } from "../test/harness/api.ts";
import { readCpu, readThreadCpu } from "../test/harness/process-usage.ts";
import { scrape } from "../test/harness/prometheus.ts";
import { atLeast, atMost, median, publish, quantile, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { generateLinks } from "./redirect/links.ts";
import { wrk } from "./redirect/server.ts";

const [SECONDS = 8] = process.argv.slice(2).map(Number);
const LINKS = 1_000;
const CONNECTIONS = 32;
const BUSY = { perSecond: 1_000, seconds: 15 };
const QUIET = { perSecond: 1, seconds: 30 };
const POLL_MS = 25;
await using stack = await startStack({ empty: true });
const info = stack.info();
const { redirector, worker, clickhouse, nats: natsPid } = info.pids;
if (redirector === null || worker === null || clickhouse === null || natsPid === null)
  throw new Error("The stack must run all of its services.");
await createLinks();
const nats = await connect(natsLogin(info.nats_url));
const manager = await nats.jetstreamManager();

// A worker runs for weeks: its code is compiled and its caches are warm.
await load(SECONDS);
await waitUntilStored();
// Collects clicks while the worker is stopped, so that it continues with all of them queued.
process.kill(worker, "SIGSTOP");
const before = {
  redirector: readThreadCpu(redirector),
  nats: readCpu(natsPid),
  stream: await readStreamState(),
};
const recorded = await load(SECONDS);
while (
  (await readMetric("segments_pending")) > 0 ||
  (await readStreamState()).clicks < before.stream.clicks + recorded
) {
  await Bun.sleep(100);
}
const stream = await readStreamState();
const redirectorCost = microsPerClick(readThreadCpu(redirector), before.redirector, recorded);
const natsMicros = (readCpu(natsPid) - before.nats) / recorded;

const cpuBefore = { worker: readCpu(worker), clickhouse: readCpu(clickhouse) };
const start = performance.now();
process.kill(worker, "SIGCONT");
await waitUntilStored();
const drainSeconds = (performance.now() - start) / 1_000;
const workerMicros = (readCpu(worker) - cpuBefore.worker) / recorded;
const clickhouseMicros = (readCpu(clickhouse) - cpuBefore.clickhouse) / recorded;
const storedBytes = await measureStoredBytes();
const busyDelay = await measureDelay(BUSY);
const quietDelay = await measureDelay(QUIET);

// The same load without publishing; the difference is the cost of publishing.
process.kill(worker, "SIGSTOP");
process.kill(natsPid, "SIGSTOP");
const unpublishedBefore = readThreadCpu(redirector);
const unpublished = await load(SECONDS);
const withoutPublishing = microsPerClick(readThreadCpu(redirector), unpublishedBefore, unpublished);
process.kill(natsPid, "SIGCONT");
process.kill(worker, "SIGCONT");
await nats.close();

const bytesInStream = (stream.bytes - before.stream.bytes) / (stream.clicks - before.stream.clicks);
const rows = [
  { stage: "redirector, serving requests", "CPU µs/click": round(redirectorCost.busiest) },
  { stage: "redirector, publishing", "CPU µs/click": round(redirectorCost.others) },
  { stage: "NATS", "CPU µs/click": round(natsMicros), "bytes/click": round(bytesInStream) },
  {
    stage: "worker",
    "CPU µs/click": round(workerMicros),
    "clicks/s": Math.round(recorded / drainSeconds),
  },
  {
    stage: "ClickHouse, including rollups",
    "CPU µs/click": round(clickhouseMicros),
    "bytes/click": round(storedBytes.clicks),
    "bytes/click of rollups": round(storedBytes.rollups),
  },
  {
    stage: "visible in analytics, 1,000 clicks/s",
    "p50 ms": Math.round(busyDelay.p50),
    "p99 ms": Math.round(busyDelay.p99),
  },
  {
    stage: "visible in analytics, 1 click/s",
    "p50 ms": Math.round(quietDelay.p50),
    "p99 ms": Math.round(quietDelay.p99),
  },
];
const perCore = 1e6 / workerMicros;
const publishing = redirectorCost.busiest - withoutPublishing.busiest;
const answering = redirectorCost.busiest;
const storing = redirectorCost.others + natsMicros + workerMicros + clickhouseMicros;
publish({
  name: "clicks",

  rows,
  targets: [
    atLeast("clicks per second and worker core", Math.round(perCore), 60_000),
    atMost("publishing, µs of the request thread", publishing, 0.5),
    atMost("CPU of storing a click : answering its request", storing / answering, 4.5),
    atMost("CPU of the worker : answering", workerMicros / answering, 1.2),
    atMost(
      "bytes per click in ClickHouse, rollups included",
      storedBytes.clicks + storedBytes.rollups,
      40,
    ),
    atMost("p99 until visible in analytics at 1,000 clicks/s, ms", busyDelay.p99, 2_000),
    atMost("p99 until visible in analytics at 1 click/s, ms", quietDelay.p99, 2_000),
  ],
});

async function createLinks(): Promise<void> {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const rows = generateLinks(LINKS).map(({ alias, destination: url }) => ({ alias, url }));
  for (let start = 0; start < LINKS; start += BULK_LINKS_MAX) {
    const body = { links: rows.slice(start, start + BULK_LINKS_MAX) };
    const { status } = await call(`${info.api_url}/v1/links/bulk`, { key, body });
    if (status !== 200) throw new Error(`Links were not created: ${status}`);
  }
}

async function load(seconds: number): Promise<number> {
  const before = await readMetric("clicks_recorded_total");
  await wrk("visitors.lua", info.short_url, {
    seconds,
    connections: CONNECTIONS,
    args: [String(LINKS)],
  });
  return (await readMetric("clicks_recorded_total")) - before;
}

async function readMetric(name: string): Promise<number> {
  return (await scrape(info.redirector_metrics_url)).get(`shorthop_redirector_${name}`) ?? 0;
}

async function readStreamState(): Promise<{ bytes: number; clicks: number }> {
  const { state } = await manager.streams.info(CLICKS_STREAM);
  const clicks =
    (await readMetric("clicks_recorded_total")) - (await readMetric("segments_pending"));
  return { bytes: state.bytes, clicks };
}

/** Waits until all recorded clicks are stored. */
async function waitUntilStored(): Promise<void> {
  while (
    Number(await runQuery(stack, "SELECT count() FROM clicks")) <
    (await readMetric("clicks_recorded_total"))
  )
    await Bun.sleep(50);
}

/** Merges all parts, and reads their compressed bytes per click. */
async function measureStoredBytes(): Promise<{ clicks: number; rollups: number }> {
  for (const table of ["clicks", ...ROLLUP_TABLES.map((rollup) => rollup.table)])
    await runQuery(stack, `OPTIMIZE TABLE ${table} FINAL`);
  return {
    clicks: await bytesPerClick("table = 'clicks'"),
    rollups: await bytesPerClick("table LIKE 'clicks\\\\_%'"),
  };
}

/** Compressed bytes per click of the tables for which the condition holds. */
async function bytesPerClick(condition: string): Promise<number> {
  return Number(
    await runQuery(
      stack,
      `SELECT sum(data_compressed_bytes) / (SELECT count() FROM clicks) FROM system.parts
        WHERE active AND database = currentDatabase() AND ${condition}`,
    ),
  );
}

/** Measures the delay between a redirect and its click's appearance in `/v1/analytics`. */
async function measureDelay({
  perSecond,
  seconds,
}: {
  perSecond: number;
  seconds: number;
}): Promise<{ p50: number; p99: number }> {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const created = await call(`${info.api_url}/v1/links`, {
    key,
    body: { url: "https://example.com/fresh" },
  });
  const { id, short_url } = linkSchema.parse(created.body);
  const redirectedAt: number[] = [];
  const polls: { at: number; total: number }[] = [];
  const total = perSecond * seconds;

  const following = (async () => {
    const start = performance.now();
    const inFlight = new Set<Promise<void>>();
    for (let i = 0; i < total; i++) {
      const ahead = start + (i / perSecond) * 1_000 - performance.now();
      if (ahead > 1) await Bun.sleep(ahead);
      const request = fetch(short_url, { redirect: "manual" }).then(() => {
        redirectedAt.push(performance.now());
        inFlight.delete(request);
      });
      inFlight.add(request);
    }
    await Promise.all(inFlight);
  })();
  while ((polls.at(-1)?.total ?? 0) < total) {
    const { body } = await call(`${info.api_url}/v1/analytics/${id}?period=24h`, { key });
    polls.push({ at: performance.now(), total: summarySchema.parse(body).summary.total_clicks });
    await Bun.sleep(POLL_MS);
  }
  await following;
  let poll = 0;
  const delays = redirectedAt
    .toSorted((a, b) => a - b)
    .map((at, i) => {
      while ((polls[poll]?.total ?? 0) <= i) poll++;
      return (polls[poll]?.at ?? Number.NaN) - at;
    });
  return { p50: median(delays), p99: quantile(delays, 0.99) };
}

/** Microseconds per click of the thread that used most CPU time, and of all others. */
function microsPerClick(
  now: ReadonlyMap<string, number>,
  then: ReadonlyMap<string, number>,
  clicks: number,
) {
  const used = [...now].map(([thread, micros]) => micros - (then.get(thread) ?? 0));
  const busiest = Math.max(...used);
  const all = used.reduce((sum, micros) => sum + micros, 0);
  return { busiest: busiest / clicks, others: (all - busiest) / clicks };
}
