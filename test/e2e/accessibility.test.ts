/**
 * Goal: everybody can use the dashboard on any screen, and its first page loads fast. Method: axe on every page in
 * every variant, and the browser's own measurements of sizes.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createRequire } from "node:module";

import type { Browser, Page } from "playwright-core";
import * as z from "zod";

import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../harness/browser.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import {
  listViews,
  openView,
  seedAccount,
  type SeededAccount,
  VARIANTS,
} from "../harness/seeded-account.ts";
import { useStack } from "../harness/shared-stack.ts";
import { type SharedStack } from "../harness/stack.ts";

const FIRST_LOAD_BYTES_MAX = 200 * 1024;

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const axeResult = z.object({
  violations: z.array(
    z.object({
      id: z.string(),
      impact: z.string().nullable(),
      nodes: z.array(z.object({ html: z.string() })),
    }),
  ),
});

let dns: Dns;
let stack: SharedStack;
let browser: Browser;
let seeded: SeededAccount;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  dns = await startDns();
  stack = await useStack({ dns });
  browser = await openBrowser();
  seeded = await seedAccount(stack, dns);
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

/** Lists what axe finds serious or critical, one line each. */
async function findViolations(page: Page, where: string): Promise<string[]> {
  const { violations } = axeResult.parse(await page.evaluate("axe.run()"));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${where}: ${id}: ${html}`));
}

describe.skipIf(chromiumPath === undefined)("the dashboard's pages", () => {
  test.each(VARIANTS)(
    "are accessible and no wider than the screen, in variant $name",
    async ({ name: _name, ...options }) => {
      // The page's content security policy blocks axe's script.
      const { page, consoleErrors } = await openSignIn(browser, stack, {
        ...options,
        bypassCSP: true,
      });
      await page.context().addInitScript({ path: AXE });
      const found: string[] = [];
      await page.goto("/");
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      found.push(...(await findViolations(page, "sign-in")));
      await signInOnPage(page, seeded.user);
      for (const view of listViews(seeded)) {
        await openView(page, view);
        found.push(...(await findViolations(page, view.name)));
        const overflow = await page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        if (overflow !== 0) found.push(`${view.name}: ${String(overflow)} pixels too wide`);
      }
      expect(found).toEqual([]);
      expect(consoleErrors.filter((text) => !text.includes("ERR_FAILED"))).toEqual([]);
      await page.context().close();
    },
  );

  test("load less than 200 KB of compressed scripts before links are shown", async () => {
    const { page } = await openSignIn(browser, stack);
    await signInOnPage(page, seeded.user);
    await page.reload();
    await page.getByRole("table", { name: "Links" }).waitFor();
    const bytes = await page.evaluate(`
      performance.getEntriesByType("resource")
        .filter(({ name }) => name.endsWith(".js"))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(FIRST_LOAD_BYTES_MAX);
    await page.context().close();
  });

  test("can be used with only the keyboard", async () => {
    const { page } = await openSignIn(browser, stack);
    await page.locator("input[type=email]:focus").waitFor();
    await page.keyboard.type(seeded.user.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(seeded.user.password);
    await page.keyboard.press("Enter");
    await page.getByRole("table", { name: "Links" }).waitFor();
    await page.goto(`/${seeded.account}/live/links`);
    await page.getByRole("table", { name: "Links" }).waitFor();
    await page.keyboard.press("Tab");
    await page.getByText("Skip to main content").and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    await page.locator("main:focus").waitFor();
    const menu = page.getByRole("button", { name: "Actions for" }).first();
    await menu.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Analytics" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.getByRole("menuitem", { name: "Delete" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Delete this link?" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.context().close();
  });
});
