/**
 * `bun run bench:dashboard`: how soon the dashboard is there and how long it keeps the browser busy, by
 * Chromium's own trace of each load; on this machine as it is, and slowed down to a phone.
 */
import type { Browser } from "playwright-core";
import * as z from "zod";

import { chromiumPath, enter, openBrowser, openDoor } from "../test/harness/browser.ts";
import { eventually } from "../test/harness/eventually.ts";
import { type Stack, startStack } from "../test/harness/stack.ts";
import { prepareTour, type Visit } from "../test/harness/tour.ts";
import { median, publish, round } from "./report.ts";

const RUNS = 5;
const SCRIPT_KB_MAX = 200;
const PAINTED_WITHIN_MS = 10_000;

/** Lighthouse's slow 4G: its latency and bandwidth, and a processor four times as slow. */
const MACHINES = {
  desktop: { slowdown: 1, latencyMs: 0, bytesPerSecond: -1, width: 1280 },
  phone: { slowdown: 4, latencyMs: 150, bytesPerSecond: (1.6 * 1024 * 1024) / 8, width: 390 },
} as const;

/** A task that takes longer than this keeps people waiting; the rest of it counts as blocking. */
const LONG_TASK_MS = 50;

const trace = z.object({
  traceEvents: z.array(
    z.object({
      name: z.string(),
      ts: z.number(),
      dur: z.number().optional(),
      pid: z.number(),
      tid: z.number(),
      args: z.object({ name: z.string().optional() }).optional(),
    }),
  ),
});

const resources = z.array(z.object({ name: z.string(), encodedBodySize: z.number() }));

type Loaded = { paintMs: number; blockingMs: number; readyMs: number; scriptKb: number };

if (chromiumPath === undefined) process.exit(1);
await using stack = await startStack();
await using browser = await openBrowser();
const tour = await prepareTour(stack);
const rows: Record<string, string | number>[] = [];
let firstLoadKb = 0;
for (const [machine, limits] of Object.entries(MACHINES)) {
  for (const [view, path, ready] of [
    ["sign-in", "/", "form"],
    ["links", `/${tour.account}/live/links`, "table"],
    ["analytics", `/${tour.account}/live/links/${tour.link}?period=90d`, ".country.shade-5"],
  ] as const) {
    const loads: Loaded[] = [];
    for (let run = 0; run < RUNS; run++) {
      loads.push(await load(browser, stack, tour, { view, path, ready }, limits));
    }
    const of = (name: keyof Loaded) => median(loads.map((loaded) => loaded[name]));
    if (view === "links") firstLoadKb = of("scriptKb");
    rows.push({
      machine,
      view,
      "first contentful paint, ms": Math.round(of("paintMs")),
      "blocking time, ms": Math.round(of("blockingMs")),
      "data shown, ms": Math.round(of("readyMs")),
      "scripts, KB compressed": round(of("scriptKb")),
    });
  }
}
publish({
  name: "dashboard",
  versions: { bun: Bun.version, chromium: browser.version() },
  rows,
  targets: [
    {
      name: "scripts until links are shown, KB compressed",
      value: round(firstLoadKb),
      target: `< ${SCRIPT_KB_MAX}`,
      met: firstLoadKb < SCRIPT_KB_MAX,
    },
  ],
});

/** Loads a view once, with nothing in the cache. */
async function load(
  browser: Browser,
  stack: Stack,
  { person }: Visit,
  { view, path, ready }: { view: string; path: string; ready: string },
  { slowdown, latencyMs, bytesPerSecond, width }: (typeof MACHINES)[keyof typeof MACHINES],
): Promise<Loaded> {
  const { page } = await openDoor(browser, stack, { viewport: { width, height: 850 } });
  if (view !== "sign-in") await enter(page, person);
  const tools = await page.context().newCDPSession(page);
  await tools.send("Network.enable");
  await tools.send("Network.setCacheDisabled", { cacheDisabled: true });
  await tools.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: latencyMs,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  await tools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  await page.goto("about:blank");
  await browser.startTracing(page, {
    categories: ["loading", "toplevel", "blink.user_timing"],
  });
  const start = performance.now();
  await page.goto(path);
  await page.locator(ready).first().waitFor();
  const readyMs = performance.now() - start;
  // What is there need not have been painted yet.
  await eventually(async () => {
    const painted = "performance.getEntriesByName('first-contentful-paint').length";
    if ((await page.evaluate(painted)) === 0) throw new Error("Nothing has been painted.");
  }, PAINTED_WITHIN_MS);
  const { traceEvents } = trace.parse(JSON.parse((await browser.stopTracing()).toString()));
  const scripts = resources
    .parse(await page.evaluate("performance.getEntriesByType('resource').map((e) => e.toJSON())"))
    .filter(({ name }) => name.endsWith(".js"));
  await page.context().close();
  return {
    readyMs,
    scriptKb: sum(scripts.map((e) => e.encodedBodySize)) / 1024,
    ...read(traceEvents.toSorted((a, b) => a.ts - b.ts)),
  };
}

/** First contentful paint, and blocking time of the page's main thread, counted from the navigation. */
function read(events: z.output<typeof trace>["traceEvents"]) {
  const paint = events.findLast(({ name }) => name === "firstContentfulPaint");
  // The first of them is the navigation's own; others are of empty documents on the way.
  const begin = events.find(({ name }) => name === "navigationStart");
  if (paint === undefined || begin === undefined) throw new Error("The trace has no paint.");
  const tasks = events.filter(
    ({ name, pid, tid, ts }) =>
      /^(ThreadControllerImpl::)?RunTask$/.test(name) &&
      pid === paint.pid &&
      tid === paint.tid &&
      ts >= begin.ts,
  );
  return {
    paintMs: (paint.ts - begin.ts) / 1_000,
    blockingMs: sum(tasks.map(({ dur = 0 }) => Math.max(0, dur / 1_000 - LONG_TASK_MS))),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
