/**
 * `bun run bench:dashboard`: how fast the dashboard loads and how long it blocks the browser's main thread, from
 * Chromium's trace of each load; on this machine unthrottled, and throttled to a phone.
 */
import type { Browser } from "playwright-core";
import * as z from "zod";

import {
  chromiumPath,
  noteWhenShown,
  openBrowser,
  openSignIn,
  readScriptBytes,
  signInOnPage,
} from "../test/harness/browser.ts";
import { startDns } from "../test/harness/dns.ts";
import { eventually } from "../test/harness/eventually.ts";
import { median, publish, round } from "../test/harness/report.ts";
import { seedAccount, type SeededAccount } from "../test/harness/seeded-account.ts";
import { type Stack, startStack } from "../test/harness/stack.ts";

const RUNS = 5;
const SCRIPT_KB_MAX = 150;
const PAINT_TIMEOUT_MS = 10_000;

/** Lighthouse's slow 4G profile: its latency and bandwidth, and a processor four times slower. */
const MACHINES = {
  desktop: { slowdown: 1, latencyMs: 0, bytesPerSecond: -1, width: 1280 },
  phone: { slowdown: 4, latencyMs: 150, bytesPerSecond: (1.6 * 1024 * 1024) / 8, width: 390 },
} as const;

/** A task longer than this is noticeable; the time beyond it counts as blocking. */
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

type Loaded = { paintMs: number; blockingMs: number; readyMs: number; scriptKb: number };

if (chromiumPath === undefined) process.exit(1);
await using dns = await startDns();
await using stack = await startStack({ empty: true, env: { DNS_SERVERS: dns.address } });
await using browser = await openBrowser();
const seeded = await seedAccount(stack, dns);
const rows: Record<string, string | number>[] = [];
let firstLoadKb = 0;
for (const [machine, limits] of Object.entries(MACHINES)) {
  for (const [view, path, ready] of [
    ["sign-in", "/", "form"],
    ["links", `/${seeded.account}/live/links`, "table"],
    ["analytics", `/${seeded.account}/live/links/${seeded.link}?period=90d`, ".country.shade-5"],
  ] as const) {
    const loads: Loaded[] = [];
    for (let run = 0; run < RUNS; run++) {
      loads.push(await load(browser, stack, seeded, { view, path, ready }, limits));
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

/** Loads a view once with an empty cache. */
async function load(
  browser: Browser,
  stack: Stack,
  { user }: SeededAccount,
  { view, path, ready }: { view: string; path: string; ready: string },
  { slowdown, latencyMs, bytesPerSecond, width }: (typeof MACHINES)[keyof typeof MACHINES],
): Promise<Loaded> {
  const { page } = await openSignIn(browser, stack, { viewport: { width, height: 850 } });
  if (view !== "sign-in") await signInOnPage(page, user);
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
  await noteWhenShown(page, ready);
  await page.goto("about:blank");
  await browser.startTracing(page, {
    categories: ["loading", "toplevel", "blink.user_timing"],
  });
  const start = performance.now();
  await page.goto(path);
  await page.locator(ready).first().waitFor();
  const readyMs = performance.now() - start;
  // Visible content may not have been painted yet.
  await eventually(async () => {
    const painted = "performance.getEntriesByName('first-contentful-paint').length";
    if ((await page.evaluate(painted)) === 0) throw new Error("Nothing has been painted.");
  }, PAINT_TIMEOUT_MS);
  const { traceEvents } = trace.parse(JSON.parse((await browser.stopTracing()).toString()));
  const scriptKb = (await readScriptBytes(page)) / 1024;
  await page.context().close();
  return {
    readyMs,
    scriptKb,
    ...readTrace(traceEvents.toSorted((a, b) => a.ts - b.ts)),
  };
}

/** Returns first contentful paint and blocking time of the page's main thread, measured from the navigation. */
function readTrace(events: z.output<typeof trace>["traceEvents"]) {
  const paint = events.findLast(({ name }) => name === "firstContentfulPaint");
  // The first one belongs to the navigation; later ones belong to empty documents.
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
