/**
 * Goal: whoever has no mouse can do all that one does with a link. Method: a real browser on a real
 * stack, in which nothing is clicked: every control is reached with Tab.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser, Locator, Page } from "playwright-core";

import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { chromiumPath, openBrowser, visitSignedIn } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

/** Most presses of Tab to a control: a page and its frame have fewer. */
const TABS_MAX = 80;

const URL = "https://example.com/keys";

let stack: SharedStack;
let browser: Browser;
let account: string;
let user: TestUser;
let client: Client;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  stack = await useStack();
  const created = await createAccount(stack, "enterprise");
  account = created.id;
  user = await createUser(stack, account);
  client = createClient({ baseUrl: stack.info().api_url, apiKey: created.key });
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
});

const visit = (path: string, steps: (page: Page) => Promise<void>) =>
  visitSignedIn(browser, stack, { who: user, path: `/${account}/live${path}`, steps });

/** Presses Tab until the control has the focus. Throws if it is not reached. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  const focused = control.and(page.locator(":focus"));
  for (let presses = 0; presses <= TABS_MAX; presses++) {
    if ((await focused.count()) === 1) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${control.toString()}.`);
}

/** Reaches a control with Tab and presses Enter on it. */
async function enter(page: Page, control: Locator): Promise<void> {
  await tabTo(page, control);
  await page.keyboard.press("Enter");
}

/** Reaches a field with Tab, which selects its text, and types. */
async function write(page: Page, field: Locator, text: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

const isFocused = (page: Page, control: Locator) => control.and(page.locator(":focus")).waitFor();

describe.skipIf(chromiumPath === undefined)("with the keyboard only, a link", () => {
  test("is created", async () => {
    await visit("/links", async (page) => {
      await enter(page, page.getByRole("button", { name: "New link" }));
      const form = page.getByRole("dialog", { name: "New link" });
      await write(page, form.getByLabel("Destination"), URL);
      await write(page, form.getByLabel("Alias", { exact: true }), "by-keys");
      await enter(page, form.getByRole("button", { name: "Create link" }));
      const created = page.getByRole("region", { name: "New short URL" });
      await isFocused(page, created.getByLabel("Short URL"));
      expect((await client.links.lookUp({ alias: "by-keys" })).original_url).toBe(URL);
    });
  });

  test("is edited", async () => {
    const { id } = await client.links.create({ url: URL });
    await visit(`/links/${id}`, async (page) => {
      const edit = page.getByRole("button", { name: "Edit", exact: true });
      await enter(page, edit);
      const form = page.getByRole("dialog", { name: "Edit link" });
      await write(page, form.getByLabel("Title", { exact: true }), "Renamed");
      await enter(page, form.getByRole("button", { name: "Save" }));
      await page.getByRole("heading", { name: "Renamed", level: 1 }).waitFor();
      await isFocused(page, edit);
      expect((await client.links.get(id)).title).toBe("Renamed");
    });
  });

  test("gets a rule", async () => {
    const { id } = await client.links.create({ url: URL });
    await visit(`/links/${id}`, async (page) => {
      await enter(page, page.getByRole("link", { name: "Rules" }));
      await enter(page, page.getByRole("button", { name: "Add rule" }));
      const rule = page.getByRole("listitem", { name: "Rule 1" });
      await tabTo(page, rule.getByLabel("Mobile"));
      await page.keyboard.press("Space");
      await write(page, rule.getByLabel("Redirect to"), "https://example.com/app");
      await enter(page, page.getByRole("button", { name: "Save", exact: true }));
      await page.getByText("The rules have been saved.").waitFor();
      const { rules } = await client.links.get(id, { include: "settings" });
      expect(rules).toMatchObject([{ url: "https://example.com/app" }]);
    });
  });

  test("is shared, and is not any more", async () => {
    const { id } = await client.links.create({ url: URL });
    await visit(`/links/${id}`, async (page) => {
      await enter(page, page.getByRole("button", { name: "Share", exact: true }));
      const list = page.getByRole("dialog", { name: "Shared statistics" });
      await enter(page, list.getByRole("button", { name: "New share" }));
      const form = page.getByRole("dialog", { name: "New share" });
      await write(page, form.getByLabel("Name"), "By keys");
      await enter(page, form.getByRole("button", { name: "Create share" }));
      const created = page.getByRole("dialog", { name: "Your new share" });
      const url = (await created.getByTestId("share-url").textContent()) ?? "";
      expect((await fetch(url)).status).toBe(200);
      await enter(page, created.getByRole("button", { name: "I have saved it" }));
      await enter(page, list.getByRole("button", { name: "Revoke By keys" }));
      const question = page.getByRole("dialog", { name: "Revoke this share?" });
      await enter(page, question.getByRole("button", { name: "Revoke" }));
      await list.getByText("Not shared yet").waitFor();
      expect((await fetch(url)).status).toBe(404);
    });
  });
});
