/**
 * `bun run bench:import-history [LINKS] [VISITS]`: `shorthop import yourls` of a MariaDB on this
 * machine: rates and memory of the command, how late a click of a visitor is stored meanwhile, how
 * long it takes to undo the import, and what of the machine's processors each process took for a
 * link and for a visit, which a machine that does other work says as well.
 */
import { loadavg } from "node:os";

import postgres from "postgres";
import * as z from "zod";

import { admin, createAccount, UNLIMITED } from "../test/harness/admin.ts";
import { call, linkSchema } from "../test/harness/api.ts";
import { commandOf } from "../test/harness/executable.ts";
import { hasMariaDb, TestMariaDb } from "../test/harness/mariadb.ts";
import { readTreeCpu, treeBytes } from "../test/harness/process-usage.ts";
import { atLeast, atMost, median, publish, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { fillYourls } from "../test/harness/yourls.ts";

const [LINKS = 1_000_000, VISITS = 10_000_000] = process.argv.slice(2).map(Number);

/** Of the visits of ten years. */
const DAYS = 3_650;

const LINKS_PER_SECOND = 10_000;
const VISITS_PER_SECOND = 20_000;
const MIB = 2 ** 20;
const MEMORY_MIB_MAX = 512;

/** How much later a live click may be stored beside the import. */
const LATER_SECONDS_MAX = 3;

const SAMPLE_MS = 100;
const CLICK_MS = 50;
const CLICKS_WITHIN_MS = 120_000;

const listed = z.array(z.object({ id: z.string(), state: z.string(), visits: z.number() }));
const row = z.object({ clicks: z.number() });

if (!hasMariaDb()) process.exit(1);
await using stack = await startStack({ empty: true });
await using source = await TestMariaDb.start();
console.log(`${LINKS} links and ${VISITS} visits …`);
await fillYourls(source.sql, { links: LINKS, visits: VISITS, days: DAYS });
const { api_url, database_url } = stack.info();
// The watch asks for the count of its link more often than any plan allows in a day.
const { id: accountId, key } = await createAccount(stack, "enterprise", UNLIMITED);
// The command line would take a processor to say how far the import is.
const sql = postgres(database_url, { max: 1, onnotice: () => undefined });
const live = linkSchema.parse(
  (await call(`${api_url}/v1/links`, { key, body: { url: "https://example.com/live" } })).body,
);

let [linksSeconds, memory, commandMs, isRunning] = [NaN, 0, 0, true];
const alone = await measureLive(5);
const run = Bun.spawn(
  await commandOf(["import", "yourls", source.url, "--account", accountId, "--json"]),
  { env: { ...process.env, SHORTHOP_DATA_DIR: stack.dataDir }, stdout: "pipe", stderr: "inherit" },
);
const start = performance.now();
const atStart = readProcessors();
let atVisits = atStart;
const watching = watch();
const beside = await measureLive(Infinity);
await watching;
const seconds = (performance.now() - start) / 1_000;
if ((await run.exited) !== 0) throw new Error("The import failed.");
const atEnd = readProcessors();
const [done] = await readImports();
if (done?.visits !== VISITS) throw new Error(`${done?.visits} of ${VISITS} visits were imported.`);
const linksRate = LINKS / linksSeconds;
const visitsRate = VISITS / (seconds - linksSeconds);
console.table(
  Object.keys(atEnd).map((name) => ({
    process: name,
    "µs a link": microsOf(name, atStart, atVisits, LINKS),
    "µs a visit": microsOf(name, atVisits, atEnd, VISITS),
  })),
);
console.log(`${Math.round(linksRate)} links/s, ${Math.round(visitsRate)} visits/s`);
const undoStart = performance.now();
await admin(stack, ["import", "undo", done.id]);
const undoSeconds = (performance.now() - undoStart) / 1_000;
await sql.end();
publish({
  name: "import-history",

  rows: [
    {
      links: LINKS,
      visits: VISITS,
      "links/s": Math.round(linksRate),
      "visits/s": Math.round(visitsRate),
      "memory, MiB": Math.round(memory / MIB),
      "live click alone, s": round(median(alone)),
      "beside it, s": round(median(beside)),
      "latest, s": round(Math.max(...beside)),
      "undo, s": round(undoSeconds),
      load: round(loadavg()[0] ?? 0),
    },
  ],
  targets: [
    atLeast("links/s", linksRate, LINKS_PER_SECOND),
    atLeast("visits/s", visitsRate, VISITS_PER_SECOND),
    atMost("memory of the command, MiB", memory / MIB, MEMORY_MIB_MAX),
    atMost("a live click later, s", median(beside) - median(alone), LATER_SECONDS_MAX),
  ],
});

async function readImports() {
  return listed.parse(await admin(stack, ["import", "list"]));
}

/** The time of processors that each process has had so far, in milliseconds. */
function readProcessors(): Record<string, number> {
  const others = Object.entries({ ...stack.info().pids, mariadb: source.pid }).map(
    ([name, pid]): [string, number] => [name, pid === null ? 0 : readTreeCpu(pid)],
  );
  return { command: commandMs, ...Object.fromEntries(others) };
}

function microsOf(
  name: string,
  from: Record<string, number>,
  to: Record<string, number>,
  count: number,
): number {
  return round((((to[name] ?? 0) - (from[name] ?? 0)) * 1_000) / count);
}

/** Samples the memory of the command, and notes when it came to visits. */
async function watch(): Promise<void> {
  void run.exited.then(() => (isRunning = false));
  while (isRunning) {
    memory = Math.max(memory, treeBytes(run.pid));
    // Of a process that has ended, nothing is left to read.
    commandMs = Math.max(commandMs, readTreeCpu(run.pid));
    if (Number.isNaN(linksSeconds)) {
      const [found] = await sql<{ state: string }[]>`select state from imports`;
      if (found !== undefined && found.state !== "links") {
        linksSeconds = (performance.now() - start) / 1_000;
        atVisits = readProcessors();
      }
    }
    await Bun.sleep(SAMPLE_MS);
  }
}

/** Seconds from a visit to its click in the counter of the link, one visit after the other. */
async function measureLive(times: number): Promise<number[]> {
  const delays: number[] = [];
  while (delays.length < times && isRunning) {
    const wanted = (await readClicks()) + 1;
    const visitedAt = performance.now();
    await call(live.short_url);
    while ((await readClicks()) < wanted) {
      if (performance.now() - visitedAt > CLICKS_WITHIN_MS) throw new Error("A click was lost.");
      await Bun.sleep(CLICK_MS);
    }
    delays.push((performance.now() - visitedAt) / 1_000);
  }
  return delays;
}

async function readClicks(): Promise<number> {
  return row.parse((await call(`${api_url}/v1/links/${live.id}`, { key })).body).clicks;
}
