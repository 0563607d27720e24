/**
 * Goal: Shlink's own web interface works on our API as it is: it creates, lists, edits and deletes
 * short URLs, and shows their tags and visits. Its screens are in `.local/shlink-web-screens`. The
 * interface is installed from the registry of npm, with exact versions, into `.local`: its packages
 * take 230 MB, which nobody else needs.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Browser, Page } from "playwright-core";

import { makeOnce } from "../../shared/process-lock.ts";
import { createAccount } from "../harness/admin.ts";
import { CHROME } from "../harness/api.ts";
import { openBrowser, openContext } from "../harness/browser.ts";
import { withBrowser } from "../harness/dashboard-browser.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { run } from "../harness/packed-client.ts";
import { PROJECT_DIR, type Stack, startStack } from "../harness/stack.ts";

const CLICKS = 3;
const COUNTED_MS = 20_000;
const SHOWN_MS = 5_000 * SLOWDOWN_MAX;

/** There is no Mercure hub, and the health of the short domain is not its API's. */
const EXPECTED = /status of 501|\/rest\/v3\/health|ERR_FAILED/;

const SCREENS = join(PROJECT_DIR, ".local/shlink-web-screens");

/** The newest versions that its peer dependencies allow together. */
const PACKAGES = {
  "@shlinkio/shlink-web-component": "0.18.0",
  "@shlinkio/shlink-frontend-kit": "1.4.0",
  "@shlinkio/shlink-js-sdk": "3.2.1",
  "@fortawesome/fontawesome-svg-core": "7.3.1",
  "@fortawesome/free-brands-svg-icons": "7.3.1",
  "@fortawesome/free-regular-svg-icons": "7.3.1",
  "@fortawesome/free-solid-svg-icons": "7.3.1",
  "@fortawesome/react-fontawesome": "3.5.0",
  "@reduxjs/toolkit": "2.15.0",
  "@tailwindcss/cli": "4.3.5",
  react: "19.3.1",
  "react-dom": "19.3.1",
  "react-redux": "9.3.1",
  "react-router": "7.18.7",
  tailwindcss: "4.3.5",
};

/** As its README says. */
const PROGRAM = `
import { ShlinkApiClient } from "@shlinkio/shlink-js-sdk";
import { FetchHttpClient } from "@shlinkio/shlink-js-sdk/fetch";
import { ShlinkWebComponent } from "@shlinkio/shlink-web-component";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

const server = JSON.parse(document.getElementById("server").textContent);
const apiClient = new ShlinkApiClient(new FetchHttpClient(), server);
const { version: serverVersion } = await apiClient.health();
const settings = { realTimeUpdates: { enabled: false } };
createRoot(document.getElementById("root")).render(
  createElement(ShlinkWebComponent, { serverVersion, apiClient, settings }),
);
`;

const STYLES = `
@import "tailwindcss";
@import "@shlinkio/shlink-frontend-kit/tailwind.preset.css";
@import "@shlinkio/shlink-web-component/tailwind.preset.css";
@source "node_modules/@shlinkio/*/dist/*.js";
`;

/** Made anew when any of these changes. */
const HASH = Bun.hash(JSON.stringify([PACKAGES, PROGRAM, STYLES])).toString(36);

const DIR = join(PROJECT_DIR, ".local", `shlink-web-${HASH}`);

class ShlinkWeb implements AsyncDisposable {
  /** The API that its pages use from now on, and the key. */
  server = { baseUrl: "", apiKey: "" };
  readonly #site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/page.css": () => new Response(Bun.file(join(DIR, "page.css"))),
      "/page.js": () => new Response(Bun.file(join(DIR, "page.js"))),
    },
    fetch: () => new Response(this.#html(), { headers: { "content-type": "text/html" } }),
  });

  /** Installs and builds the interface if that has not been done, and serves it. */
  static async serve(): Promise<ShlinkWeb> {
    await makeOnce(DIR, build);
    return new ShlinkWeb();
  }

  get origin(): string {
    return this.#site.url.origin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#site.stop(true);
  }

  #html(): string {
    return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><title>Shlink</title><link rel="stylesheet" href="/page.css">
<script type="application/json" id="server">${JSON.stringify(this.server)}</script>
<body><div id="root"></div><script type="module" src="/page.js"></script>`;
  }
}

async function build(dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const project = { private: true, type: "module", dependencies: PACKAGES };
  writeFileSync(join(dir, "package.json"), JSON.stringify(project));
  writeFileSync(join(dir, "program.js"), PROGRAM);
  writeFileSync(join(dir, "styles.css"), STYLES);
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  run(["npm", "install", ...options], dir);
  run([join(dir, "node_modules/.bin/tailwindcss"), "-i", "styles.css", "-o", "page.css"], dir);
  const { success, logs } = await Bun.build({
    entrypoints: [join(dir, "program.js")],
    outdir: dir,
    naming: "page.[ext]",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  if (!success) throw new Error(logs.map(({ message }) => message).join("\n"));
  rmSync(join(dir, "node_modules"), { recursive: true });
}

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
