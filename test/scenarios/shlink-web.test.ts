/**
 * Goal: Shlink's own web interface works on our API as it is: it creates, lists, edits and deletes
 * short URLs, and shows their tags and visits. Its screens are in `.local/shlink-web-screens`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import type { Browser, Page } from "playwright-core";

import { createAccount } from "../harness/admin.ts";
import { CHROME } from "../harness/api.ts";
import { openBrowser, openContext } from "../harness/browser.ts";
import { withBrowser } from "../harness/dashboard-browser.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { ShlinkWeb } from "../harness/shlink-web.ts";
import { PROJECT_DIR, type Stack, startStack } from "../harness/stack.ts";

const CLICKS = 3;
const COUNTED_MS = 20_000;
const SHOWN_MS = 5_000 * SLOWDOWN_MAX;

/** There is no Mercure hub, and the health of the short domain is not its API's. */
const EXPECTED = /status of 501|\/rest\/v3\/health|ERR_FAILED/;

const SCREENS = join(PROJECT_DIR, ".local/shlink-web-screens");

withBrowser("Shlink's web interface", () => {
  let web: ShlinkWeb;
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let consoleErrors: string[];

  beforeAll(async () => {
    web = await ShlinkWeb.serve();
    stack = await startStack({ env: { API_CORS_ORIGINS: web.origin } });
    const { key: apiKey } = await createAccount(stack, "enterprise");
    web.server = { baseUrl: stack.info().api_url, apiKey };
    browser = await openBrowser();
    const options = { baseURL: web.origin, viewport: { width: 1400, height: 1000 } };
    ({ page, consoleErrors } = await openContext(browser, stack, options));
  });
  afterAll(async () => {
    await browser.close();
    await stack[Symbol.asyncDispose]();
    await web[Symbol.asyncDispose]();
  });

  const shoot = (name: string) => page.screenshot({ path: join(SCREENS, `${name}.png`) });

  /** Opens a path, until the page has a text. */
  async function open(path: string, text: string): Promise<void> {
    await page.goto(path);
    await page.getByText(text).first().waitFor({ timeout: SHOWN_MS });
    await shoot(path.slice(1).replaceAll("/", "-"));
  }

  test("manages a short URL from its creation to its deletion", async () => {
    const shortUrl = `${stack.info().short_url}/spring`;
    await open("/create-short-url", "Main options");
    await page.getByPlaceholder("URL to be shortened").fill("https://example.com/spring");
    await page.getByPlaceholder("Title").fill("Spring");
    await page.getByPlaceholder("Custom slug").fill("spring");
    await page.getByPlaceholder("Add tags to the URL").fill("sale");
    await page.getByPlaceholder("Add tags to the URL").press("Enter");
    await page.getByLabel("Maximum visits allowed").fill("100");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(shortUrl).first().waitFor();
    await open("/list-short-urls/1", "Spring");

    const headers = { "user-agent": CHROME, referer: "https://example.com/today" };
    for (let i = 0; i < CLICKS; i++) await fetch(shortUrl, { redirect: "manual", headers });
    await eventually(async () => {
      await open("/short-code/spring/visits/list", "Visits list");
      expect(await page.getByRole("cell", { name: "Chrome", exact: true }).count()).toBe(CLICKS);
      expect(await page.getByText(`Visits: ${CLICKS}`).count()).toBe(1);
    }, COUNTED_MS);
    expect(await page.getByRole("cell", { name: "example.com" }).count()).toBe(CLICKS);
    await open("/short-code/spring/visits/by-context", "Windows");
    await open("/short-code/spring/visits/by-time", "Visits over time");

    await open("/short-code/spring/edit", "Main options");
    await page.getByPlaceholder("Title").fill("Spring, extended");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Short URL properly edited.").waitFor();
    await open("/manage-tags", "sale");
    expect(await page.getByRole("row", { name: /sale/ }).innerText()).toMatch(/1\s+3/);
    await open("/manage-domains", "Base path redirect");
    await open("/short-code/spring/redirect-rules", "Add rule");
    await open("/overview", "Spring, extended");

    await open("/list-short-urls/1", "Spring, extended");
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByRole("menuitem", { name: "Delete short URL" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("delete");
    await shoot("delete");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^delete/i })
      .click();
    await page.getByText("No results found").waitFor();
    expect((await fetch(shortUrl, { redirect: "manual" })).status).toBe(404);
    expect(consoleErrors.filter((error) => !EXPECTED.test(error))).toEqual([]);
  });
});
