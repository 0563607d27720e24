/**
 * Goal: the documentation site is built by one command, each of its links leads somewhere, its
 * search finds pages, and it fits into the screens of desktops and phones. Its screens are in
 * `.local/docs-screens`.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

import type { Browser } from "playwright-core";
import * as z from "zod";

import { buildSite, OUTPUT } from "../../deploy/docs-site/build.ts";
import { chromiumPath, openBrowser } from "../harness/browser.ts";
import { type Variant, VARIANTS } from "../harness/dashboard-views.ts";
import { eventually } from "../harness/eventually.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const SCREENS = join(PROJECT_DIR, ".local/docs-screens");

/** Below this, Google calls a layout stable. */
const LAYOUT_SHIFT_MAX = 0.1;

let server: Bun.Server<undefined>;
let browser: Browser | undefined;

const isBuilt = await buildSite();
if (!isBuilt)
  console.warn("!!! The npm registry does not give VitePress: the site is NOT TESTED HERE");

beforeAll(async () => {
  server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: serveFile });
  mkdirSync(SCREENS, { recursive: true });
  if (chromiumPath === undefined) console.warn("!!! There is no Chromium: NOT TESTED HERE");
  else browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server.stop(true);
});

/** Serves the files as they are, with those that are text compressed. */
async function serveFile(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const file = Bun.file(join(OUTPUT, pathname.endsWith("/") ? `${pathname}index.html` : pathname));
  if (!(await file.exists())) return new Response("Not found", { status: 404 });
  const headers = { "content-type": file.type };
  if (/\.(?:woff2|png)$/.test(pathname)) return new Response(file, { headers });
  return new Response(Bun.gzipSync(await file.bytes()), {
    headers: { ...headers, "content-encoding": "gzip" },
  });
}

type Content = { ids: Set<string>; links: string[] };

/** The anchors and the links of all pages, by their paths. */
async function readPages(): Promise<Map<string, Content>> {
  const pages = new Map<string, Content>();
  for (const path of new Bun.Glob("**/*.html").scanSync(OUTPUT)) {
    const content: Content = { ids: new Set(), links: [] };
    const collector = new HTMLRewriter()
      .on("[id]", { element: (element) => void content.ids.add(element.getAttribute("id") ?? "") })
      .on("a[href]", {
        element: (element) => void content.links.push(element.getAttribute("href") ?? ""),
      });
    await collector.transform(new Response(readFileSync(join(OUTPUT, path)))).text();
    pages.set(path, content);
  }
  return pages;
}

describe.skipIf(!isBuilt)("the pages", () => {
  test("have links that lead to a page, and to a heading that it has, or to the repository", async () => {
    const pages = await readPages();
    expect(pages.size).toBeGreaterThan(90);
    const dead = [...pages].flatMap(([path, { links }]) =>
      links.filter((link) => !leads(link, path, pages)).map((link) => `${path}: ${link}`),
    );
    expect(dead).toEqual([]);
  });

  test("have the commits' pages and the operations of the API", async () => {
    const pages = await readPages();
    expect(pages.get("docs/operations.html")?.ids).toContain("installing");
    expect(pages.get("docs/decisions/0044-links-log.html")).toBeDefined();
    expect(pages.get("reference/links.html")?.ids).toContain("create-a-link");
    expect(pages.get("reference/objects.html")?.ids).toContain("newlink");
  });
});

/** Whether a link of a page leads to another site, or to what the pages have. */
function leads(link: string, from: string, pages: ReadonlyMap<string, Content>): boolean {
  if (/^(?:https?|mailto):/.test(link)) return true;
  const [file = "", id = ""] = link.split("#");
  const path = file === "" ? from : posix.join(posix.dirname(from), file);
  const absolute = file.startsWith("/") ? file.slice(1) : path;
  const target = pages.get(absolute.replace(/^$|\/$/, "$&index.html"));
  return target !== undefined && (id === "" || target.ids.has(decodeURIComponent(id)));
}

/** Opens a page; its errors are collected. */
async function openPage(path: string, { viewport, colorScheme }: Variant) {
  if (browser === undefined) throw new Error("There is no browser.");
  const page = await browser.newPage({ baseURL: server.url.href, viewport, colorScheme });
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.addInitScript(NOTE_SHIFTS);
  await page.goto(path, { waitUntil: "networkidle" });
  return { page, errors };
}

const measuresSchema = z.object({
  firstPaintMs: z.number(),
  requests: z.number(),
  kB: z.number(),
  shift: z.number(),
  isCut: z.boolean(),
});

/** Shifts are noted from the beginning, everything else is read from the browser's own record. */
const NOTE_SHIFTS = `
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) window.shift += value;
  }).observe({ type: "layout-shift", buffered: true });`;

const MEASURES = `(() => {
  const requests = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
  return {
    firstPaintMs: Math.round(performance.getEntriesByName("first-contentful-paint")[0].startTime),
    requests: requests.length,
    kB: Math.round(requests.reduce((sum, { transferSize }) => sum + transferSize, 0) / 1_000),
    shift: window.shift,
    isCut: document.documentElement.scrollWidth > innerWidth,
  };
})()`;

const SHOWN = ["/", "/docs/operations.html", "/docs/configuration.html", "/reference/links.html"];

describe.skipIf(!isBuilt || chromiumPath === undefined)("in a browser", () => {
  test.each(VARIANTS)(
    "pages fit into $name, and do not move",
    async (variant) => {
      for (const path of SHOWN) {
        const { page, errors } = await openPage(path, variant);
        const measures = measuresSchema.parse(await page.evaluate(MEASURES));
        console.log(variant.name, path, JSON.stringify(measures));
        expect(measures.isCut).toBe(false);
        expect(measures.shift).toBeLessThan(LAYOUT_SHIFT_MAX);
        const name = path.replaceAll(/\W+/g, "-");
        await page.screenshot({ path: join(SCREENS, `${variant.name}${name}.png`) });
        expect(errors).toEqual([]);
        await page.close();
      }
    },
    120_000,
  );

  test("the search finds pages, operations and decisions by a word", async () => {
    const { page } = await openPage("/", VARIANTS[2]);
    const rows = [
      ["quarantine", "/docs/decisions/0012-segment-quarantine.html"],
      ["idempotency", "/docs/architecture.html#idempotency"],
      ["rotate webhook secret", "/reference/webhooks.html#rotate-the-secret-of-a-webhook"],
    ];
    await page.getByRole("button", { name: "Search" }).click();
    for (const [words = "", expected = ""] of rows) {
      const results = page.locator("#localsearch-list a");
      // Those of the words before stay until there are others.
      await page.locator("#localsearch-input").fill("");
      await results.first().waitFor({ state: "detached" });
      await page.locator("#localsearch-input").fill(words);
      await eventually(async () => {
        const links = await results.all();
        const found = await Promise.all(links.slice(0, 5).map((link) => link.getAttribute("href")));
        expect(found.map((link) => link?.slice(0, expected.length))).toContain(expected);
      }, 10_000);
    }
    await page.screenshot({ path: join(SCREENS, "search.png") });
    await page.close();
  }, 60_000);
});
