/**
 * Goal: users choose how a QR code looks, download what can be scanned, and save it for all links,
 * without a mouse. Method: a real browser on a real stack, operated by keys; the downloads are read
 * by a decoder.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Browser, Locator, Page } from "playwright-core";

import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { AXE, runAxe } from "../harness/axe.ts";
import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { createPng } from "../harness/png.ts";
import { readQr } from "../harness/qr-reader.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;

/** More than the elements of the dialog and its pickers, which have several stops each. */
const TABS_MAX = 60;

const withBrowser = describe.skipIf(chromiumPath === undefined);

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

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    if ((await target.and(page.locator(":focus")).count()) > 0) return;
    await page.keyboard.press("Tab");
  }
  throw new Error("Tab does not reach it.");
}

/** Replaces the text of the focused field. */
async function retype(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

withBrowser("the QR code of a link", () => {
  test("is chosen, downloaded and saved with the keyboard", async () => {
    await client.branding.update({ logo: createPng(200, 100).toString("base64") });
    const link = await client.links.create({ url: "https://example.com/qr", alias: "qr-keys" });
    const { page, consoleErrors } = await openSignIn(browser, stack, {
      viewport: { width: 1_280, height: 900 },
    });
    await signInOnPage(page, user);
    await page.context().addInitScript({ path: AXE });
    await page.goto(`/${account}/live/links/${link.id}`);
    await tabTo(page, page.getByRole("button", { name: "QR code" }));
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "QR code" });
    const image = dialog.getByRole("img", { name: "QR code of" });
    const source = async () => new URL((await image.getAttribute("src")) ?? "", page.url());

    const code = dialog.getByLabel("Code", { exact: true });
    await tabTo(page, code);
    await retype(page, "#c4c4c4");
    await dialog.getByRole("alert").getByText("Must contrast more").waitFor();
    const saveButton = dialog.getByRole("button", { name: "Save as the account's style" });
    expect(await saveButton.isDisabled()).toBe(true);
    expect(await dialog.getByRole("link", { name: "PNG" }).count()).toBe(0);
    await retype(page, "#1d4ed8");
    await dialog.getByRole("alert").waitFor({ state: "detached" });

    await tabTo(page, dialog.getByLabel("Shape"));
    await page.keyboard.type("Dots");
    await tabTo(page, dialog.getByLabel("Corners"));
    await page.keyboard.type("Circles");
    await tabTo(page, dialog.getByLabel("Logo"));
    await page.keyboard.press("Space");
    await eventually(async () => {
      const { searchParams } = await source();
      expect(Object.fromEntries(searchParams)).toMatchObject({
        foreground: "#1d4ed8",
        shape: "dots",
        eyes: "circle",
        logo: "true",
      });
      const width = await image.evaluate((element) => Number(Reflect.get(element, "naturalWidth")));
      expect(width).toBeGreaterThan(0);
    }, TIMEOUT_MS);
    expect(await runAxe(page, "QR code")).toEqual([]);

    for (const [name, type] of [
      ["SVG", "image/svg+xml"],
      ["PNG", "image/png"],
      ["PDF", "application/pdf"],
    ] as const) {
      await tabTo(page, dialog.getByRole("link", { name }));
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.keyboard.press("Enter"),
      ]);
      expect(download.suggestedFilename()).toBe(`qr-keys.${name.toLowerCase()}`);
      expect(await readQr(type, readFileSync(await download.path()))).toBe(link.short_url);
    }

    await tabTo(page, saveButton);
    await page.keyboard.press("Enter");
    await page.getByText("QR codes of the account look like this from now on.").waitFor();
    const style = { foreground: "#1d4ed8", shape: "dots", eyes: "circle", logo: true };
    expect((await client.branding.get()).qr_style).toMatchObject(style);
    const svg = await (await client.links.qr(link.id)).text();
    expect(svg).toContain("#1d4ed8");
    expect(svg).toContain("<image");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(consoleErrors).toEqual([]);
    await page.context().close();
  });
});
