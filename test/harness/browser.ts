/** The machine's own Chromium, headless. Debian's package is installed where there is none and it can be. */
import { existsSync } from "node:fs";

import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

import type { Person } from "./dashboard.ts";
import type { Stack } from "./stack.ts";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** It asks for nothing from elsewhere, and runs as root in a container. */
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** What is not on the page by then does not come. */
const PATIENCE_MS = 20_000;

const aptGet = (...words: string[]) =>
  Bun.spawnSync(["/usr/bin/apt-get", ...words], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });

/** The program's path; undefined, with a loud line, when there is none to be had. */
function findChromium(): string | undefined {
  const found = PROGRAMS.map((name) => Bun.which(name)).find((path) => path !== null);
  if (found !== undefined && found !== null) return found;
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    console.log("Installing Debian's chromium for the browser tests …");
    aptGet("update");
    aptGet("install", "--yes", "--no-install-recommends", "chromium");
  }
  const installed = Bun.which("chromium") ?? undefined;
  if (installed === undefined) {
    console.log("!!! There is no Chromium, and it cannot be installed: browser tests are SKIPPED");
  }
  return installed;
}

export const chromiumPath = findChromium();

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath ?? "", args: ARGUMENTS });

/** A page of a browser without cookies, at the dashboard's door. Whatever the page complains of is collected. */
export async function openDoor(
  browser: Browser,
  stack: Stack,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    baseURL: stack.info().dashboard_url,
    locale: "en",
    timezoneId: "Europe/Berlin",
    ...options,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // That somebody has not signed in is asked, and answered by 401; refusals are shown by the page.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) {
      complaints.push(message.text());
    }
  });
  await page.goto("/");
  return { page, complaints };
}

/** Signs in by the page's own form. */
export async function enter(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
}
