/**
 * `bun run bench:clicks [SECONDS]`: what a click costs on its way from the redirect to ClickHouse, in time
 * of each process and in bytes at each stage, and how soon it is seen in the analytics.
 */
import { readdirSync, readFileSync } from "node:fs";

import { connect } from "nats";

import { CLICKS_STREAM } from "../shared/contracts/streams.ts";
import { createAccount } from "../test/harness/admin.ts";
import { call, linkAnswer, summaryAnswer } from "../test/harness/api.ts";
import { startStack } from "../test/harness/stack.ts";
import { makeLinks, publishLinks } from "./redirect/links.ts";
import { scrape, wrk } from "./redirect/serving.ts";
import { publish, round } from "./report.ts";

const [SECONDS = 8] = process.argv.slice(2).map(Number);
const LINKS = 1_000;
const CONNECTIONS = 32;
const TICKS_PER_SECOND = 100;
const FRESH = { perSecond: 1_000, seconds: 15, pollMs: 25 };
const UNLIMITED = {
  minute: 1_000_000,
  burst: 1_000_000,
  day: 10_000_000,
  endpoints: { "GET /v1/analytics/*": 1_000_000 },
};

await using stack = await startStack();
const info = stack.info();
const { redirector, worker, clickhouse, nats: natsPid } = info.pids;
if (redirector === null || worker === null || clickhouse === null || natsPid === null)
  throw new Error("The stack runs all of its parts.");
await publishLinks(info.nats_url, makeLinks(LINKS));
const nats = await connect({ servers: info.nats_url });
const manager = await nats.jetstreamManager();

// Clicks with the worker at rest, so that it has them all before it when it goes on.
await load(2);
await arrived();
process.kill(worker, "SIGSTOP");
const before = {
  redirector: threadTicks(redirector),
  nats: ticks(natsPid),
  stream: await inStream(),
};
const made = await load(SECONDS);
while (
  (await figure("pages_pending")) > 0 ||
  (await inStream()).clicks < before.stream.clicks + made
) {
  await Bun.sleep(100);
}
const stream = await inStream();
const hot = microsPerClick(threadTicks(redirector), before.redirector, made);
const natsMicros = ((ticks(natsPid) - before.nats) / TICKS_PER_SECOND / made) * 1e6;

const workerTicks = ticks(worker);
const clickhouseTicks = ticks(clickhouse);
const start = performance.now();
process.kill(worker, "SIGCONT");
await arrived();
const drainSeconds = (performance.now() - start) / 1_000;
const perClick = (now: number, then: number) => ((now - then) / TICKS_PER_SECOND / made) * 1e6;
const workerMicros = perClick(ticks(worker), workerTicks);
const clickhouseMicros = perClick(ticks(clickhouse), clickhouseTicks);
await ask("OPTIMIZE TABLE clicks FINAL");
const storedBytes = Number(
  await ask(
    "SELECT sum(data_compressed_bytes) / sum(rows) FROM system.parts WHERE active AND table = 'clicks' AND database = currentDatabase()",
  ),
);
const rollupBytes = Number(
  await ask(
    `SELECT (SELECT sum(data_compressed_bytes) FROM system.parts WHERE active AND table LIKE 'clicks_15m%' AND database = currentDatabase())
          / (SELECT count() FROM clicks)`,
  ),
);
const fresh = await freshness();

// The same load with nothing published: what is left of the difference is publishing.
process.kill(worker, "SIGSTOP");
process.kill(natsPid, "SIGSTOP");
const unpublishedBefore = threadTicks(redirector);
const unpublished = await load(SECONDS);
const alone = microsPerClick(threadTicks(redirector), unpublishedBefore, unpublished);
process.kill(natsPid, "SIGCONT");
process.kill(worker, "SIGCONT");
await nats.close();

const bytesInStream = (stream.bytes - before.stream.bytes) / (stream.clicks - before.stream.clicks);
const rows = [
  { stage: "redirector, answering", "CPU µs/click": round(hot.busiest) },
  { stage: "redirector, publishing", "CPU µs/click": round(hot.others) },
  { stage: "NATS", "CPU µs/click": round(natsMicros), "bytes/click": round(bytesInStream) },
  {
    stage: "worker",
    "CPU µs/click": round(workerMicros),
    "clicks/s": Math.round(made / drainSeconds),
  },
  {
    stage: "ClickHouse, rollups included",
    "CPU µs/click": round(clickhouseMicros),
    "bytes/click": round(storedBytes),
    "of rollups": round(rollupBytes),
  },
  { stage: "seen in analytics", "p50 ms": Math.round(fresh.p50), "p99 ms": Math.round(fresh.p99) },
];
const perCore = 1e6 / workerMicros;
const publishing = hot.busiest - alone.busiest;
publish({
  name: "clicks",
  versions: { bun: Bun.version },
  rows,
  targets: [
    {
      name: "clicks a second of a worker's core",
      value: Math.round(perCore),
      target: ">= 60000",
      met: perCore >= 60_000,
    },
    {
      name: "publishing, µs of the hot thread",
      value: round(publishing),
      target: "<= 0.5",
      met: publishing <= 0.5,
    },
    {
      name: "bytes a click in ClickHouse",
      value: round(storedBytes),
      target: "<= 40",
      met: storedBytes <= 40,
    },
    {
      name: "p99 until seen, ms",
      value: Math.round(fresh.p99),
      target: "<= 2000",
      met: fresh.p99 <= 2_000,
    },
  ],
});

async function load(seconds: number): Promise<number> {
  const recorded = await figure("clicks_recorded");
  await wrk("people.lua", info.short_url, {
    seconds,
    connections: CONNECTIONS,
    args: [String(LINKS)],
  });
  return (await figure("clicks_recorded")) - recorded;
}

async function figure(name: string): Promise<number> {
  return (await scrape(info.redirector_metrics_url)).get(`shorthop_redirector_${name}`) ?? 0;
}

async function inStream(): Promise<{ bytes: number; clicks: number }> {
  const { state } = await manager.streams.info(CLICKS_STREAM);
  const clicks = (await figure("clicks_recorded")) - (await figure("pages_pending"));
  return { bytes: state.bytes, clicks };
}

/** Waits until all that was recorded is stored. */
async function arrived(): Promise<void> {
  while (Number(await ask("SELECT count() FROM clicks")) < (await figure("clicks_recorded")))
    await Bun.sleep(50);
}

async function ask(query: string): Promise<string> {
  const answer = await fetch(info.clickhouse_url, { method: "POST", body: query });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.text();
}

/** How long after its redirect a click is in the answer of `/v1/analytics`. */
async function freshness(): Promise<{ p50: number; p99: number }> {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const made = await call(`${info.api_url}/v1/links`, {
    key,
    body: { url: "https://example.com/fresh" },
  });
  const { id, short_url } = linkAnswer.parse(made.body);
  const answered: number[] = [];
  const seen: { at: number; total: number }[] = [];
  const total = FRESH.perSecond * FRESH.seconds;

  const asking = (async () => {
    const start = performance.now();
    const running = new Set<Promise<void>>();
    for (let i = 0; i < total; i++) {
      const ahead = start + (i / FRESH.perSecond) * 1_000 - performance.now();
      if (ahead > 1) await Bun.sleep(ahead);
      const one = fetch(short_url, { redirect: "manual" }).then(() => {
        answered.push(performance.now());
        running.delete(one);
      });
      running.add(one);
    }
    await Promise.all(running);
  })();
  while ((seen.at(-1)?.total ?? 0) < total) {
    const { body } = await call(`${info.api_url}/v1/analytics/${id}?period=24h`, { key });
    seen.push({ at: performance.now(), total: summaryAnswer.parse(body).summary.total_clicks });
    await Bun.sleep(FRESH.pollMs);
  }
  await asking;
  let poll = 0;
  const delays = answered
    .toSorted((a, b) => a - b)
    .map((at, i) => {
      while ((seen[poll]?.total ?? 0) <= i) poll++;
      return (seen[poll]?.at ?? Number.NaN) - at;
    })
    .toSorted((a, b) => a - b);
  const share = (part: number) => delays[Math.floor(delays.length * part)] ?? Number.NaN;
  return { p50: share(0.5), p99: share(0.99) };
}

type Ticks = Map<string, number>;

/** User and system time of each thread so far (proc(5) stat, fields 14 and 15). */
function threadTicks(pid: number): Ticks {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map((thread): [string, number] => {
      const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1");
      const fields = text.replace(/^.*\) /s, "").split(" ");
      return [thread, Number(fields[11]) + Number(fields[12])];
    }),
  );
}

function ticks(pid: number): number {
  return [...threadTicks(pid).values()].reduce((sum, value) => sum + value, 0);
}

function microsPerClick(now: Ticks, then: Ticks, clicks: number) {
  const spent = [...now].map(([thread, value]) => value - (then.get(thread) ?? 0));
  const micros = (value: number) => (value / TICKS_PER_SECOND / clicks) * 1e6;
  const busiest = Math.max(...spent);
  const all = spent.reduce((sum, value) => sum + value, 0);
  return { busiest: micros(busiest), others: micros(all - busiest) };
}
