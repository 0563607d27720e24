/**
 * Goal: a page shows something early, in the theme of the user, and requests nothing twice. Method:
 * a real browser on a real stack; the application is held back.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser, Page } from "playwright-core";

import { createAccount } from "../harness/admin.ts";
import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const APPLICATION = /\/chunk-\w+\.js$/;

let stack: SharedStack;
let browser: Browser;
let account: string;
let user: TestUser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  stack = await useStack();
  const created = await createAccount(stack, "pro");
  account = created.id;
  user = await createUser(stack, account);
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
});

/** Notes the paths of the requests that a page sends to the API. */
function noteRequests(page: Page): string[] {
  const paths: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/^\/(api|auth)\//.test(pathname)) paths.push(pathname);
  });
  return paths;
}

describe.skipIf(chromiumPath === undefined)("a page of the dashboard", () => {
  test("shows the product in the chosen theme before its application has loaded", async () => {
    const { page } = await openSignIn(browser, stack, { colorScheme: "light" });
    await page.evaluate("localStorage.setItem('shorthop-theme', 'dark')");
    await page.route(APPLICATION, () => {});
    await page.reload({ waitUntil: "commit" });
    await page.getByText("Shorthop", { exact: true }).waitFor();
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.context().close();
  });

  test("requests the session, its first data and its scripts beside the application, and once", async () => {
    const { page, consoleErrors } = await openSignIn(browser, stack);
    await signInOnPage(page, user);
    const list = `/api/${account}/live/v1/links`;
    const requested = noteRequests(page);
    await page.route(APPLICATION, () => {});
    const both = Promise.all([
      page.waitForRequest((request) => new URL(request.url()).pathname === "/auth/session"),
      page.waitForRequest((request) => new URL(request.url()).pathname === list),
    ]);
    await page.reload({ waitUntil: "commit" });
    await both;
    await page.unrouteAll({ behavior: "ignoreErrors" });
    requested.length = 0;
    await page.goto(`/${account}/live/links`);
    await page.getByRole("heading", { name: "No links yet" }).waitFor();
    expect(requested.filter((path) => path === "/auth/session")).toHaveLength(1);
    expect(requested.filter((path) => path === list)).toHaveLength(1);
    expect(consoleErrors).toEqual([]);
    await page.context().close();
  });

  test("uses no response of an ended session", async () => {
    const { page } = await openSignIn(browser, stack);
    await page.goto(`/${account}/live/links`);
    // Its list was requested without a session.
    await signInOnPage(page, user);
    await page.getByRole("heading", { name: "No links yet" }).waitFor();
    await page.context().close();
  });
});
