/**
 * Goal: visitors report a link from the page about it, in their language, on any screen and without
 * scripts; and the operator finds what they wrote. Method: a real browser on a real stack.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";

import type { BrowserContextOptions } from "playwright-core";

import { admin } from "../harness/admin.ts";
import { AXE, findOverflow, runAxe } from "../harness/axe.ts";
import { chromiumPath } from "../harness/browser.ts";
import { DashboardBrowser, type TestAccount, withBrowser } from "../harness/dashboard-browser.ts";
import { SLOWDOWN_MAX } from "../harness/eventually.ts";

const PAGE_TIMEOUT_MS = 20_000 * SLOWDOWN_MAX;

const PHONE = { width: 390, height: 844 };

let dashboard: DashboardBrowser;
let account: TestAccount;
beforeAll(async () => {
  if (chromiumPath === undefined) return;
  dashboard = await DashboardBrowser.open();
  account = await dashboard.addAccount("business");
});
afterAll(async () => {
  if (chromiumPath !== undefined) await dashboard[Symbol.asyncDispose]();
});

type Review = { id: string; reports: string[]; list: string | null };

const reportsOf = async (id: string): Promise<string[] | undefined> =>
  (await admin<Review[]>(dashboard.stack, ["reviews", "list"])).find((one) => one.id === id)
    ?.reports;

let visits = 0;

async function visit(url: string, options: BrowserContextOptions) {
  const context = await dashboard.browser.newContext({
    ...options,
    extraHTTPHeaders: { "x-forwarded-for": `198.51.100.${++visits}` },
  });
  context.setDefaultTimeout(PAGE_TIMEOUT_MS);
  const page = await context.newPage();
  await page.goto(url);
  return { page, [Symbol.asyncDispose]: () => context.close() };
}

withBrowser("a link", () => {
  test("is reported without scripts, in the visitor's language, and waits for the operator", async () => {
    const { id, short_url } = await account.client.links.create({ url: "https://example.com/a" });
    await using visited = await visit(`${short_url}+`, { javaScriptEnabled: false, locale: "de" });
    const { page } = visited;
    await page.getByRole("link", { name: "Diesen Link melden" }).click();
    await page.getByRole("heading", { name: "Link melden" }).waitFor();
    expect(await page.getByText(short_url).count()).toBe(1);
    await page.getByRole("textbox").fill("Das ist Betrug.");
    await page.getByRole("button", { name: "Melden" }).click();
    await page.getByText("Vielen Dank.").waitFor();
    expect(await reportsOf(id)).toEqual(["Das ist Betrug."]);
  }, 120_000);

  test.each([
    ["on a desktop", { viewport: { width: 1280, height: 860 } }],
    ["on a phone in the dark", { viewport: PHONE, colorScheme: "dark" as const }],
  ])(
    "is reported on pages that everybody can use, %s",
    async (_, options) => {
      const { short_url } = await account.client.links.create({ url: "https://example.com/b" });
      await using visited = await visit(`${short_url}+`, { ...options, bypassCSP: true });
      const { page } = visited;
      const problems: string[] = [];
      const examine = async (where: string) => {
        await page.addScriptTag({ path: AXE });
        problems.push(...(await runAxe(page, where)), ...(await findOverflow(page, where)));
      };
      await examine("about");
      await page.getByRole("link", { name: "Report this link" }).click();
      await page.getByRole("textbox", { name: "What is wrong with it?" }).waitFor();
      await examine("question");
      await page.getByRole("textbox").fill("Malware");
      await page.getByRole("button", { name: "Report" }).click();
      await page.getByRole("status").waitFor();
      await examine("done");
      expect(problems).toEqual([]);
    },
    120_000,
  );
});
