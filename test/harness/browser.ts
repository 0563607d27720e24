/**
 * The machine's Chromium, headless. Installs Debian's package if it is missing and the tests run as
 * root.
 */
import { existsSync } from "node:fs";

import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

import { lock } from "../../shared/process-lock.ts";
import type { TestUser } from "./dashboard.ts";
import { SLOWDOWN_MAX } from "./eventually.ts";
import { PROJECT_DIR, type SharedStack } from "./stack.ts";

/** Without a user interface of its own a browser takes a third less of the processor. */
const PROGRAMS = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

/** Debian's packages; older releases lack the first. */
const PACKAGES = ["chromium-headless-shell", "chromium"];

/**
 * Disables Chromium's own network requests, and its sandbox, which does not work as root in a
 * container.
 */
export const CHROMIUM_ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Timeout for an element to appear on the page. */
const PAGE_TIMEOUT_MS = 20_000 * SLOWDOWN_MAX;

const aptGet = (...args: string[]) =>
  Bun.spawnSync(["/usr/bin/apt-get", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });

const findInstalled = (): string | undefined =>
  PROGRAMS.map((name) => Bun.which(name)).find((path) => path !== null) ?? undefined;

/** Returns Chromium's path; if it cannot be installed, prints a warning and returns undefined. */
async function findChromium(): Promise<string | undefined> {
  const found = findInstalled();
  if (found !== undefined) return found;
  // Another test may be installing it.
  using _ = await lock("chromium", PROJECT_DIR);
  const foundNow = findInstalled();
  if (foundNow !== undefined) return foundNow;
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    console.log("Installing Debian's chromium for the browser tests …");
    aptGet("update");
    for (const name of PACKAGES)
      if (findInstalled() === undefined)
        aptGet("install", "--yes", "--no-install-recommends", name);
  }
  const installed = findInstalled();
  if (installed === undefined) {
    console.log("!!! There is no Chromium, and it cannot be installed: browser tests are SKIPPED");
  }
  return installed;
}

export const chromiumPath = await findChromium();

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath ?? "", args: CHROMIUM_ARGUMENTS });

/**
 * What consoles report of refused requests, of those that a test cuts off, and when another test
 * adds or removes a network interface.
 */
const EXPECTED_ERROR = /status of 4\d\d|ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/;

/** A page of a browser without cookies, and what the console of its context reports. */
export async function openContext(
  browser: Browser,
  stack: SharedStack,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; consoleErrors: string[] }> {
  const context = await browser.newContext({
    baseURL: stack.info().dashboard_url,
    locale: "en",
    timezoneId: "Europe/Berlin",
    ...options,
  });
  context.setDefaultTimeout(PAGE_TIMEOUT_MS);
  const page = await context.newPage();
  const consoleErrors: string[] = [];
  context.on("weberror", (error) => consoleErrors.push(error.error().message));
  context.on("console", (message) => {
    // The page requests the session and gets a 401, and it displays rejected requests itself.
    if (message.type() === "error" && !EXPECTED_ERROR.test(message.text()))
      consoleErrors.push(message.text());
  });
  return { page, consoleErrors };
}

/** Opens the dashboard's sign-in page in a browser without cookies. */
export async function openSignIn(
  browser: Browser,
  stack: SharedStack,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; consoleErrors: string[] }> {
  const opened = await openContext(browser, stack, options);
  await opened.page.goto("/");
  return opened;
}

/** Signs in with the page's form. */
export async function signInOnPage(page: Page, { email, password }: TestUser): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
}

/**
 * Notes, in every document that a page opens from now on, when an element first matches the
 * selector.
 */
export const noteWhenShown = (page: Page, selector: string): Promise<unknown> =>
  page.addInitScript(`
    new MutationObserver((_, observer) => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return;
      window.shownAt = performance.now();
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  `);

/**
 * Bytes, compressed, of the scripts that a page has requested before the noted element was shown.
 */
export const readScriptBytes = async (page: Page): Promise<number> =>
  Number(
    await page.evaluate(`
      performance.getEntriesByType("resource")
        .filter(({ name, startTime }) => name.endsWith(".js") && startTime < window.shownAt)
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`),
  );
