/**
 * `bun run bench:dashboard [--clicks MILLIONS] [--data DIR] [--only TEXT]`: what each page of the
 * dashboard loads, when it is shown, and how long it takes to respond to people, in an account with
 * 100,000 links and 10 million clicks; on this machine unthrottled, and throttled to a phone.
 * Times are from Chromium's own trace of each load. With a directory, the clicks are kept there for
 * the next run; `--only` measures pages whose name contains the text.
 */
import { parseArgs } from "node:util";

import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import postgres from "postgres";
import * as z from "zod";

import { decodeId } from "../shared/ids.ts";
import { openData } from "../test/harness/analytics-data.ts";
import {
  chromiumPath,
  noteWhenShown,
  openBrowser,
  openSignIn,
  readScriptBytes,
  signInOnPage,
} from "../test/harness/browser.ts";
import { createUser } from "../test/harness/dashboard.ts";
import { eventually } from "../test/harness/eventually.ts";
import { seedLinks } from "../test/harness/links-seed.ts";
import { atMost, median, publish, round } from "../test/harness/report.ts";
import { listPages, type MeasuredPage } from "./dashboard/pages.ts";

const RUNS = 3;
const LINKS = 100_000;
const PAINT_TIMEOUT_MS = 10_000;
/** What is shown first may load more. */
const SETTLE_MS = 1_000;

/** Targets: scripts of the first page, first content and interactions on a phone. */
const SCRIPT_KB_MAX = 150;
const PAINT_MS_MAX = 1_500;
const INTERACTION_MS_MAX = 200;
/** Target: what analytics show first, while the other cards say that they load. */
const ANALYTICS_MS_MAX = 500;

/** Lighthouse's slow 4G profile: its latency and bandwidth, and a processor four times slower. */
const MACHINES = {
  desktop: { slowdown: 1, latencyMs: 0, bytesPerSecond: -1, width: 1280 },
  phone: { slowdown: 4, latencyMs: 150, bytesPerSecond: (1.6 * 1024 * 1024) / 8, width: 390 },
} as const;

type Machine = (typeof MACHINES)[keyof typeof MACHINES];

/** A task longer than this is noticeable; the time beyond it counts as blocking. */
const LONG_TASK_MS = 50;

/**
 * Notes the longest time from an interaction (a key or a click) to the next frame, in
 * milliseconds; https://web.dev/articles/inp. Chromium reports none below 16 ms.
 */
const NOTE_INTERACTIONS = `
  window.longestInteraction = 0;
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId > 0) window.longestInteraction = Math.max(window.longestInteraction, duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });`;

const trace = z.object({
  traceEvents: z.array(
    z.object({
      name: z.string(),
      ts: z.number(),
      dur: z.number().optional(),
      pid: z.number(),
      tid: z.number(),
    }),
  ),
});

type Loaded = {
  requests: number;
  bytes: number;
  paintMs: number;
  blockingMs: number;
  readyMs: number;
  scriptKb: number;
  interactionMs: number;
};

const { values } = parseArgs({
  options: {
    clicks: { type: "string", default: "10" },
    data: { type: "string" },
    only: { type: "string", default: "" },
  },
});
if (chromiumPath === undefined) process.exit(1);
const { stack, contents } = await openData(Number(values.clicks) * 1e6, values.data);
await fillLinks();
const user = await createUser(stack, contents.account.id);
const pages = [
  { name: "sign-in", path: "/", ready: "form" },
  ...listPages(contents.account.id, contents.hot.id),
].filter(({ name }) => name.includes(values.only));

const browser = await openBrowser();
const rows: Record<string, string | number>[] = [];
for (const [name, machine] of Object.entries(MACHINES)) {
  const context = await openContext(browser, machine);
  for (const page of pages) {
    const row = { machine: name, ...(await measurePage(context, page, machine)) };
    console.log(row);
    rows.push(row);
  }
  await context.close();
}

const onPhone = rows.filter(({ machine }) => machine === "phone");
const worst = (column: string) => Math.max(...onPhone.map((row) => Number(row[column])));
publish({
  name: "dashboard",
  versions: { chromium: browser.version() },
  rows,
  targets: [
    atMost(
      "scripts until links are shown, KB compressed",
      Number(onPhone.find(({ page }) => page === "links")?.["scripts, KB"] ?? Infinity),
      SCRIPT_KB_MAX,
    ),
    atMost("first content on a phone, worst page, ms", worst("first content, ms"), PAINT_MS_MAX),
    atMost(
      "counts of the analytics shown on a desktop, ms",
      Number(
        rows.find(({ machine, page }) => machine === "desktop" && page === "analytics, counts")?.[
          "data shown, ms"
        ] ?? Infinity,
      ),
      ANALYTICS_MS_MAX,
    ),
    atMost(
      "longest interaction on a phone, worst page, ms",
      worst("longest interaction, ms"),
      INTERACTION_MS_MAX,
    ),
  ],
});
await browser.close();
await stack[Symbol.asyncDispose]();

/** Gives the account its links, unless an earlier run has. */
async function fillLinks(): Promise<void> {
  const accountId = decodeId("acct", contents.account.id) ?? "";
  const sql = postgres(stack.info().database_url, { max: 1, onnotice: () => undefined });
  const [{ count } = { count: 0 }] = await sql<{ count: number }[]>`
    select count(*)::integer as count from links where account_id = ${accountId}`;
  if (count < LINKS) await seedLinks(sql, accountId, LINKS);
  await sql.end();
}

/** Opens a browser's window in which the user is signed in. */
async function openContext(browser: Browser, { width }: Machine): Promise<BrowserContext> {
  const { page } = await openSignIn(browser, stack, { viewport: { width, height: 850 } });
  await signInOnPage(page, user);
  const context = page.context();
  await page.close();
  return context;
}

async function measurePage(signedIn: BrowserContext, measured: MeasuredPage, machine: Machine) {
  const loads: Loaded[] = [];
  for (let run = 0; run < RUNS; run++) {
    const { width } = machine;
    const context =
      measured.name === "sign-in"
        ? await browser.newContext({
            baseURL: stack.info().dashboard_url,
            viewport: { width, height: 850 },
          })
        : signedIn;
    const page = await context.newPage();
    loads.push(await load(page, measured, machine));
    await page.close();
    if (context !== signedIn) await context.close();
  }
  const of = (name: keyof Loaded) => median(loads.map((loaded) => loaded[name]));
  return {
    page: measured.name,
    requests: of("requests"),
    "received, KB": round(of("bytes") / 1024),
    "scripts, KB": round(of("scriptKb")),
    "first content, ms": Math.round(of("paintMs")),
    "blocking time, ms": Math.round(of("blockingMs")),
    "data shown, ms": Math.round(of("readyMs")),
    "longest interaction, ms": Math.round(of("interactionMs")),
  };
}

/** Loads a page with an empty cache, and uses it. */
async function load(
  page: Page,
  { name, path, ready, use }: MeasuredPage,
  machine: Machine,
): Promise<Loaded> {
  const tools = await page.context().newCDPSession(page);
  await throttle(tools, machine);
  const received = { requests: 0, bytes: 0 };
  tools.on("Network.loadingFinished", ({ encodedDataLength }) => {
    received.requests++;
    received.bytes += encodedDataLength;
  });
  await noteWhenShown(page, ready);
  await page.addInitScript(NOTE_INTERACTIONS);
  await page.goto("about:blank");
  await browser.startTracing(page, { categories: ["loading", "toplevel", "blink.user_timing"] });
  await page.goto(path);
  await page.locator(ready).first().waitFor();
  // Visible content may not have been painted yet.
  await eventually(async () => {
    const painted = "performance.getEntriesByName('first-contentful-paint').length";
    if ((await page.evaluate(painted)) === 0) throw new Error("Nothing has been painted.");
  }, PAINT_TIMEOUT_MS);
  const { traceEvents } = trace.parse(JSON.parse((await browser.stopTracing()).toString()));
  await Bun.sleep(SETTLE_MS);
  const loaded = {
    ...received,
    // The page's own note: Playwright looks for an element every half second.
    readyMs: Number(await page.evaluate("window.shownAt")),
    scriptKb: (await readScriptBytes(page)) / 1024,
    ...readTrace(traceEvents.toSorted((a, b) => a.ts - b.ts)),
  };
  await use?.(page).catch((error: unknown) => {
    throw new Error(`The page ${name} cannot be used.`, { cause: error });
  });
  await Bun.sleep(SETTLE_MS);
  return { ...loaded, interactionMs: Number(await page.evaluate("window.longestInteraction")) };
}

async function throttle(
  tools: CDPSession,
  { slowdown, latencyMs, bytesPerSecond }: Machine,
): Promise<void> {
  await tools.send("Network.enable");
  await tools.send("Network.setCacheDisabled", { cacheDisabled: true });
  await tools.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: latencyMs,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  await tools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
}

/**
 * Returns first contentful paint and blocking time of the page's main thread, measured from the
 * navigation.
 */
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
