/**
 * Goal: everybody can use the dashboard on any screen, and its first page loads fast. Method: axe
 * on every page, on every screen and in every color scheme, and the browser's own measurements of
 * sizes.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser, BrowserContext, Page } from "playwright-core";

import { AXE, findOverflow, runAxe } from "../harness/axe.ts";
import {
  chromiumPath,
  noteWhenShown,
  openBrowser,
  openSignIn,
  readScriptBytes,
  signInOnPage,
} from "../harness/browser.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import {
  endAnimations,
  listViews,
  openView,
  seedAccount,
  type SeededAccount,
  type View,
} from "../harness/seeded-account.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const FIRST_LOAD_BYTES_MAX = 150 * 1024;

/** The rules of axe that look at colors. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/** Screens, the narrowest first: what is out of reach there cannot be opened. */
const SCREENS = {
  phone: { width: 390, height: 844 },
  desktop: { width: 1280, height: 860 },
};

/** Pages of the browser that open views at a time: a view is mostly waited for. */
const PAGES = 3;

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

/**
 * Lists what is wrong with a page that was loaded on a phone, in light colors. The color scheme
 * changes nothing but colors, and a page follows the width of its screen, so it is loaded once.
 */
async function findFaults(page: Page, where: string): Promise<string[]> {
  const found = await runAxe(page, `${where}, phone`);
  found.push(...(await findOverflow(page, `${where}, phone`)));
  found.push(...(await findCutTables(page, `${where}, phone`)));
  await page.emulateMedia({ colorScheme: "dark" });
  await endAnimations(page);
  found.push(...(await runAxe(page, `${where}, phone, dark`, COLOR_RULES)));
  await page.setViewportSize(SCREENS.desktop);
  await endAnimations(page);
  found.push(...(await runAxe(page, `${where}, desktop, dark`, COLOR_RULES)));
  await page.emulateMedia({ colorScheme: "light" });
  await endAnimations(page);
  found.push(...(await runAxe(page, `${where}, desktop`)));
  found.push(...(await findOverflow(page, `${where}, desktop`)));
  await page.setViewportSize(SCREENS.phone);
  return found;
}

/** Lists tables whose cells stand below each other, and are too wide nevertheless. */
async function findCutTables(page: Page, where: string): Promise<string[]> {
  const cut = await page.evaluate(
    `[...document.querySelectorAll(".table-scroll:has(> .stacked)")]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length`,
  );
  return cut === 0 ? [] : [`${where}: ${String(cut)} tables are cut`];
}

/**
 * What the view `failed` aborts, and what Chromium does when another test adds or removes a network
 * interface.
 */
const EXPECTED_ERROR = /ERR_FAILED|ERR_NETWORK_CHANGED/;

/** Opens views until none is left, and lists what is wrong with them. */
async function checkViews(context: BrowserContext, waiting: View[]): Promise<string[]> {
  const found: string[] = [];
  const page = await context.newPage();
  for (let view = waiting.shift(); view !== undefined; view = waiting.shift()) {
    await openView(page, view);
    found.push(...(await findFaults(page, view.name)));
  }
  return found;
}

describe.skipIf(chromiumPath === undefined)("the dashboard's pages", () => {
  test("are accessible and no wider than the screen, on phones and desktops, light and dark", async () => {
    const { page, consoleErrors } = await openSignIn(browser, stack, {
      colorScheme: "light",
      viewport: SCREENS.phone,
      // What is looked at is what stays when animations have ended: drawing them would only take
      // time.
      reducedMotion: "reduce",
      // The page's content security policy blocks axe's script.
      bypassCSP: true,
    });
    const context = page.context();
    await context.addInitScript({ path: AXE });
    await page.goto("/");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    const found = await findFaults(page, "sign-in");
    await signInOnPage(page, seeded.user);
    const waiting = listViews(seeded);
    const lists = Array.from({ length: PAGES }, () => checkViews(context, waiting));
    found.push(...(await Promise.all(lists)).flat());
    expect(found).toEqual([]);
    expect(consoleErrors.filter((text) => !EXPECTED_ERROR.test(text))).toEqual([]);
    await context.close();
  });

  test("keep still for people who ask for reduced motion, also while they wait", async () => {
    const { page } = await openSignIn(browser, stack, { reducedMotion: "reduce" });
    await page.route("**/v1/links**", () => {});
    await signInOnPage(page, seeded.user);
    await page.locator(".skeleton").first().waitFor();
    const endless = await page.evaluate(
      "document.getAnimations().filter(({ effect }) => effect.getTiming().iterations !== 1).length",
    );
    expect(endless).toBe(0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.context().close();
  });

  test("load less than 150 KB of compressed scripts before links are shown", async () => {
    const { page } = await openSignIn(browser, stack);
    await signInOnPage(page, seeded.user);
    await noteWhenShown(page, "table");
    await page.reload();
    await page.getByRole("table", { name: "Links" }).waitFor();
    const bytes = await readScriptBytes(page);
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
