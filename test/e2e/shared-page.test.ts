/**
 * Goal: readers of shared statistics see what the dashboard shows, on any screen, with and without
 * scripts, under the account's brand, and nothing is loaded from elsewhere. Method: a real browser
 * on a real stack, and sites that embed it.
 */
import { expect, test } from "bun:test";

import type { BrowserContextOptions, Page } from "playwright-core";

import { createClient } from "../../clients/typescript/src/index.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";
import { decodeId } from "../../shared/ids.ts";
import { insert } from "../harness/analytics-reference.ts";
import { findOverflow } from "../harness/axe.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { insertClicks } from "../harness/generated-clicks.ts";
import { createPng } from "../harness/png.ts";
import { longTest } from "../harness/property-runs.ts";

/** Timeout for an element to appear on a page. */
const PAGE_TIMEOUT_MS = 20_000 * SLOWDOWN_MAX;

const CLICKS = 5_000;
const DAYS = 40;

const dashboard = await forFile(DashboardBrowser.open());
const account = await dashboard.addAccount("business");
await addClicks();
/** The page of the account, with clicks of several weeks. */
const { url: share } = await account.client.shares.create({
  name: "Spring campaign",
  timezone: "Europe/Berlin",
  breakdowns: ["country", "city", "device", "browser", "referrer", "utm_source"],
});

async function addClicks(): Promise<void> {
  const { id } = await account.client.links.create({ url: "https://example.com/" });
  const statement = insertClicks({
    accountId: decodeId("acct", account.id) ?? "",
    from: Math.floor(Date.now() / 1_000) - DAYS * DAY_SECONDS,
    seconds: DAYS * DAY_SECONDS,
    clicks: CLICKS,
    segment: 1,
    linkId: `toUUID('${decodeId("link", id)}')`,
  });
  await insert(dashboard.stack, statement, "");
}

const PHONE = { width: 390, height: 844 };

let visits = 0;

/**
 * Opens a page in a browser of its own network; collects what it requested, and what its console
 * reported.
 */
async function visit(url: string, options: BrowserContextOptions = {}) {
  const context = await dashboard.browser.newContext({
    locale: "en",
    viewport: { width: 1280, height: 860 },
    ...options,
    extraHTTPHeaders: { "x-forwarded-for": `198.51.100.${++visits}` },
  });
  context.setDefaultTimeout(PAGE_TIMEOUT_MS);
  const requests: string[] = [];
  const errors: string[] = [];
  context.on("request", (request) => requests.push(request.url()));
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(error.error().message));
  const page = await context.newPage();
  await page.goto(url);
  return { page, requests, errors, [Symbol.asyncDispose]: () => context.close() };
}

const readStats = (page: Page): Promise<string[]> => page.locator(".stat-value").allTextContents();

const format = (value: number): string => value.toLocaleString("en");

/** The same statistics as programs read them. */
async function readAsProgram(query: object) {
  const { summary, clicks_over_time } = await sharedClient().get(tokenOf(share), query);
  return { summary, points: clicks_over_time };
}

const tokenOf = (url: string): string => url.split("/").at(-1) ?? "";

/** Reads shares without a key. */
const sharedClient = () => createClient({ baseUrl: dashboard.stack.info().api_url }).shared;

/** The text of a point, of the cells of its row. */
const textOf = ([date = "", clicks = "", unique = ""]: string[]): string =>
  `${date} · Clicks: ${clicks} · Unique visitors: ${unique}`;

/** Starts another site. */
const serve = (html: () => string) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(html(), { headers: { "content-type": "text/html" } }),
  });

const save = (page: Page) => page.getByRole("button", { name: "Save" }).click();

withBrowser("the page of shared statistics", () => {
  test("without scripts shows totals, a chart with axes, a map and lists, with one request", async () => {
    await using visited = await visit(share, { javaScriptEnabled: false });
    const { page, requests, errors } = visited;
    const { summary, points } = await readAsProgram({});
    expect(await readStats(page)).toEqual(
      [summary.total_clicks, summary.unique_clicks, summary.clicks_per_day].map(format),
    );
    const plot = await page.locator(".chart-plot").boundingBox();
    expect(plot?.width).toBeGreaterThan(800);
    expect(await page.locator(".chart-axis text").allTextContents()).toContain("0");
    expect(await page.locator(".chart-plot .axis").count()).toBeGreaterThan(5);
    const line = await page.locator("path.line-clicks").first().boundingBox();
    expect(line?.width).toBeGreaterThan(800 * 0.9);
    expect(await page.locator(".country.shade-5").count()).toBeGreaterThan(0);
    const shades = await page.locator(".country.shade-5").first().boundingBox();
    expect(shades?.width).toBeGreaterThan(0);
    const headings = await page.getByRole("heading").allTextContents();
    expect(headings).toEqual([
      "Spring campaign",
      "Clicks over time",
      "Countries",
      "Cities",
      "Devices",
      "Browsers",
      "Referrers",
      "UTM sources",
    ]);
    await page.getByText("As a table").click();
    const rows = page.locator(".points tbody tr");
    expect(await rows.count()).toBe(points.length);
    expect((await rows.last().locator("td").allTextContents())[0]).toBe(
      format(points.at(-1)?.clicks ?? -1),
    );
    const largest = await page.locator(".breakdown-bar rect").first().boundingBox();
    const smallest = await page.locator(".breakdown-bar rect").nth(5).boundingBox();
    expect(largest?.width ?? 0).toBeGreaterThan(smallest?.width ?? Infinity);
    expect(requests.filter((url) => !url.startsWith("data:"))).toEqual([share]);
    expect(errors).toEqual([]);
  });

  longTest("without scripts takes a period, days and a time zone", async () => {
    await using visited = await visit(share, { javaScriptEnabled: false });
    const { page } = visited;
    const total = async () => (await readStats(page))[0];
    await page.getByRole("link", { name: "7 days" }).click();
    const week = await readAsProgram({ period: "7d" });
    expect(await total()).toBe(format(week.summary.total_clicks));
    expect(await page.locator('[aria-current="page"]').textContent()).toBe("7 days");
    const days = { start_date: "2026-10-20", end_date: "2026-10-26" };
    await page.getByLabel("From").fill(days.start_date);
    await page.getByLabel("To", { exact: true }).fill(days.end_date);
    await page.getByLabel("Time zone").fill("America/St_Johns");
    await page.getByRole("button", { name: "Show" }).click();
    const chosen = await readAsProgram({ ...days, timezone: "America/St_Johns" });
    expect(await total()).toBe(format(chosen.summary.total_clicks));
    expect(await page.locator(".points tbody tr").count()).toBe(7);
    expect(await page.locator('[aria-current="page"]').count()).toBe(0);
    // The other ranges stay in the time zone.
    await page.getByRole("link", { name: "24 hours" }).click();
    await page.getByText("Times in America/St_Johns.").waitFor();
    await page.getByLabel("Time zone").fill("Atlantis");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("must be an IANA time zone").waitFor();
    await page.getByRole("link", { name: "Show the last 30 days" }).click();
    expect(await total()).toBe(format((await readAsProgram({})).summary.total_clicks));
  });

  longTest("with scripts has a chart for keys and pointer, and suggests time zones", async () => {
    await using visited = await visit(share);
    const { page, errors, requests } = visited;
    const chart = page.getByRole("group", { name: "Clicks over time" });
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    const first = await page
      .locator(".points tbody tr")
      .first()
      .locator("th, td")
      .allTextContents();
    expect(await chart.getByRole("status").textContent()).toBe(textOf(first));
    const plot = await page.locator(".chart-plot").boundingBox();
    if (plot === null) throw new Error("There is no plot.");
    await page.mouse.move(plot.x + plot.width - 1, plot.y + 100);
    const last = await page.locator(".points tbody tr").last().locator("th, td").allTextContents();
    expect(await chart.getByRole("status").textContent()).toBe(textOf(last));
    const cursor = await page.locator("line.cursor").boundingBox();
    expect(Math.abs((cursor?.x ?? 0) - plot.x - plot.width)).toBeLessThanOrEqual(1);
    expect(await page.locator("#zones option").count()).toBeGreaterThan(300);
    expect(requests.filter((url) => !url.startsWith("data:"))).toEqual([share]);
    // What the policy blocks is reported there.
    expect(errors).toEqual([]);
  });

  test("is in the reader's language, and so is what its script says", async () => {
    await using visited = await visit(share, { locale: "de-AT" });
    const { page, errors } = visited;
    expect(await page.locator("html").getAttribute("lang")).toBe("de");
    await page.getByRole("heading", { name: "Länder" }).waitFor();
    await page.getByRole("link", { name: "7 Tage" }).click();
    const { summary } = await readAsProgram({ period: "7d" });
    expect((await readStats(page))[0]).toBe(summary.total_clicks.toLocaleString("de"));
    const chart = page.getByRole("group", {
      name: "Klicks im Zeitverlauf, 7 Punkte. Mit den Pfeiltasten lesen Sie die einzelnen Werte.",
    });
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    const row = page.locator(".points tbody tr").first();
    const [date, clicks, unique] = await row.locator("th, td").allTextContents();
    expect(await chart.getByRole("status").textContent()).toBe(
      `${date} · Klicks: ${clicks} · Eindeutige Besucher: ${unique}`,
    );
    for (const viewport of [page.viewportSize(), PHONE]) {
      if (viewport !== null) await page.setViewportSize(viewport);
      expect(await findOverflow(page, "German")).toEqual([]);
    }
    expect(errors).toEqual([]);
  });

  test("is shown within pages of the chosen sites only, with everything", async () => {
    let url = "";
    const frame = () =>
      `<iframe src="${url}" title="Statistics" width="900" height="800"></iframe>`;
    const [site, other] = [serve(frame), serve(frame)];
    try {
      url = (
        await account.client.shares.create({ name: "Framed", embed_origins: [site.url.origin] })
      ).url;
      await using shown = await visit(site.url.href);
      const content = shown.page.frameLocator("iframe");
      await content.getByRole("heading", { name: "Framed" }).waitFor();
      await content.getByRole("link", { name: "90 days" }).click();
      await content.locator('[aria-current="page"]', { hasText: "90 days" }).waitFor();
      expect(shown.errors.filter((text) => !text.includes("favicon"))).toEqual([]);
      await using refused = await visit(other.url.href);
      expect(refused.errors.join()).toContain("frame-ancestors");
      expect(await refused.page.frameLocator("iframe").getByRole("heading").count()).toBe(0);
    } finally {
      await site.stop(true);
      await other.stop(true);
    }
  });

  longTest(
    "has the name, colour and logo that are set in the dashboard, until they are removed",
    async () => {
      const { url } = await account.client.shares.create({ name: "Branded" });
      const steps = async (page: Page) => {
        await page.getByLabel("Name").fill("Acme <b>GmbH</b>");
        await page.getByLabel("Colour", { exact: true }).fill("yellow");
        await page.getByText("Must be a colour").waitFor();
        await page.getByLabel("Colour", { exact: true }).fill("#FDE047");
        await page.getByText("On dark pages: #fde047").waitFor();
        const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
        const logo = (name: string, buffer: Buffer) =>
          page.getByLabel("Logo").setInputFiles({ name, mimeType: "image/png", buffer });
        await logo("logo.png", Buffer.from(svg));
        await save(page);
        await page.getByText("must be a PNG, JPEG or WebP image").waitFor();
        await logo("logo.png", createPng(960, 224));
        await save(page);
        await page.getByText("The branding has been saved.").waitFor();
        await using visited = await visit(url);
        await visited.page.getByText("Acme <b>GmbH</b>").waitFor();
        expect(await visited.page.title()).toBe("Branded · Acme <b>GmbH</b>");
        const size = await visited.page
          .locator(".brand img")
          .evaluate((image) => [
            Reflect.get(image, "naturalWidth"),
            Reflect.get(image, "naturalHeight"),
          ]);
        expect(size).toEqual([480, 112]);
        const accent = "getComputedStyle(document.querySelector('.line-clicks')).stroke";
        // Yellow is too bright on white; it is darkened there.
        expect(await visited.page.evaluate(accent)).not.toBe("rgb(253, 224, 71)");
        await visited.page.emulateMedia({ colorScheme: "dark" });
        expect(await visited.page.evaluate(accent)).toBe("rgb(253, 224, 71)");
        expect(visited.errors).toEqual([]);

        await page.getByLabel("Name").fill("");
        await page.getByLabel("Colour", { exact: true }).fill("");
        await page.getByRole("button", { name: "Remove the logo" }).click();
        await save(page);
        await page.getByRole("button", { name: "Remove the logo" }).waitFor({ state: "detached" });
        // The page may still say that the branding before has been saved.
        const none = { name: null, color: null, logo: null, qr_style: null };
        await eventually(async () => expect(await account.client.branding.get()).toEqual(none));
        await visited.page.reload();
        expect(await visited.page.locator(".brand").count()).toBe(0);
      };
      await dashboard.visit(account, "/settings/branding", steps);
    },
  );
});
