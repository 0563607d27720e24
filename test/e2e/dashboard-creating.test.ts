/**
 * Goal: a short URL is a few keys away from every page, and nothing that somebody has entered is
 * lost. Method: a real browser on a real stack; keys and clicks are counted, and the clipboard is
 * read.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser, BrowserContext, Page } from "playwright-core";

import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;

/**
 * The most keys beside those of the URL, and clicks, from the first page to a short URL in the
 * clipboard.
 */
const KEYS_MAX = 4;
const CLICKS_MAX = 2;

const withBrowser = describe.skipIf(chromiumPath === undefined);

let stack: SharedStack;
let browser: Browser;
let account: string;
let user: TestUser;
let client: Client;
/**
 * The cookies of the user: each test has a browser context of its own, and a sign-in takes a
 * second.
 */
let signedIn: Awaited<ReturnType<BrowserContext["storageState"]>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  stack = await useStack();
  const created = await createAccount(stack, "enterprise");
  account = created.id;
  user = await createUser(stack, account);
  client = createClient({ baseUrl: stack.info().api_url, apiKey: created.key });
  browser = await openBrowser();
  signedIn = await signInAs(user);
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
});

async function signInAs(who: TestUser) {
  const { page } = await openSignIn(browser, stack);
  await signInOnPage(page, who);
  const state = await page.context().storageState();
  await page.context().close();
  return state;
}

type Visit = { as?: typeof signedIn; permissions?: string[]; path?: string };

/**
 * Runs the steps on the first page of a signed-in user, or on another one; fails on console errors.
 */
async function visit(
  { as = signedIn, permissions = [], path }: Visit,
  steps: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, consoleErrors } = await openSignIn(browser, stack, {
    storageState: as,
    // An empty list would deny them all.
    ...(permissions.length === 0 ? {} : { permissions }),
  });
  if (path !== undefined) await page.goto(`/${account}/live${path}`);
  await page.locator("h1").waitFor();
  await steps(page);
  expect(consoleErrors).toEqual([]);
  await page.context().close();
}

const CLIPBOARD = ["clipboard-read", "clipboard-write"];

const readClipboard = async (page: Page): Promise<string> =>
  String(await page.evaluate("navigator.clipboard.readText()"));

const newLink = (page: Page) => page.getByRole("dialog", { name: "New link" });
const question = (page: Page) => page.getByRole("dialog", { name: "Discard your changes?" });
const panel = (page: Page) => page.getByRole("region", { name: "New short URL" });
const destination = (page: Page) => newLink(page).getByLabel("Destination");

const isFocused = (page: Page, selector: string) =>
  page.locator(selector).and(page.locator(":focus")).waitFor();

/** What has the focus, as its tag. */
const readFocus = async (page: Page): Promise<string> =>
  String(await page.evaluate("document.activeElement.tagName"));

/** Waits for the short URL in the panel, which is selected and has the focus; returns it. */
async function readCreated(page: Page): Promise<string> {
  const field = panel(page).getByLabel("Short URL");
  await field.and(page.locator(":focus")).waitFor();
  const url = await field.inputValue();
  const selected = await page.evaluate(
    "document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)",
  );
  expect(selected).toBe(url);
  return url;
}

const findDestination = async (shortUrl: string): Promise<string> => {
  const { pathname } = new URL(shortUrl);
  return (await client.links.lookUp({ alias: pathname.slice(1) })).original_url;
};

withBrowser("a new link", () => {
  test("takes four keys beside its URL, and is then in the clipboard beside its QR code", async () => {
    await visit({ permissions: ["clipboard-write"] }, async (page) => {
      let keys = 0;
      const press = async (key: string): Promise<void> => {
        keys++;
        await page.keyboard.press(key);
      };
      await press("c");
      await destination(page).and(page.locator(":focus")).waitFor();
      await page.keyboard.type("https://example.com/typed");
      await press("Enter");
      const short = await readCreated(page);
      await panel(page).getByText("Copied to the clipboard.").waitFor();
      expect(keys).toBeLessThanOrEqual(KEYS_MAX);
      const qr = panel(page).getByRole("img", { name: `QR code of ${short}` });
      await eventually(async () => {
        expect(await qr.evaluate((image) => Number(Reflect.get(image, "naturalWidth")))).not.toBe(
          0,
        );
      }, TIMEOUT_MS);
      await page.context().grantPermissions(CLIPBOARD);
      expect(await readClipboard(page)).toBe(short);
      expect(await findDestination(short)).toBe("https://example.com/typed");
      // The panel is beside the page, and leaves the focus where work goes on.
      await page.keyboard.press("Escape");
      await panel(page).waitFor({ state: "detached" });
      await page.getByRole("table", { name: "Links" }).getByText("/typed").waitFor();
    });
  });

  test("takes two clicks, the URL from a clipboard that may be read", async () => {
    await visit({ permissions: CLIPBOARD }, async (page) => {
      let clicks = 0;
      const click = async (name: string): Promise<void> => {
        clicks++;
        await page.getByRole("button", { name, exact: true }).click();
      };
      await page.evaluate("navigator.clipboard.writeText('https://example.com/from-clipboard')");
      await click("New link");
      await eventually(async () => {
        expect(await destination(page).inputValue()).toBe("https://example.com/from-clipboard");
      }, TIMEOUT_MS);
      await click("Create link");
      const short = await readCreated(page);
      await panel(page).getByText("Copied to the clipboard.").waitFor();
      expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
      expect(await readClipboard(page)).toBe(short);
      expect(await findDestination(short)).toBe("https://example.com/from-clipboard");

      // The short URL that is in the clipboard now is no destination, and neither is other text.
      await page.keyboard.press("c");
      await destination(page).and(page.locator(":focus")).waitFor();
      expect(await destination(page).inputValue()).toBe("");
      await page.keyboard.press("Escape");
      await newLink(page).waitFor({ state: "detached" });
      // Dismissed with nothing typed: the focus is where it was.
      expect(await readFocus(page)).not.toBe("BODY");
      await page.evaluate("navigator.clipboard.writeText('hunter2.example')");
      await page.keyboard.press("c");
      await destination(page).and(page.locator(":focus")).waitFor();
      expect(await destination(page).inputValue()).toBe("");
    });
  });

  test("asks nobody for the clipboard: without the permission one pastes by a click", async () => {
    await visit({}, async (page) => {
      await page.evaluate(
        "navigator.clipboard.readText = () => { window.asked = (window.asked ?? 0) + 1; return Promise.resolve('https://example.com/pasted'); }",
      );
      await page.keyboard.press("c");
      const paste = newLink(page).getByRole("button", { name: "Paste from the clipboard" });
      await paste.waitFor();
      expect(await page.evaluate("window.asked")).toBeUndefined();
      expect(await destination(page).inputValue()).toBe("");
      await paste.click();
      await destination(page).and(page.locator(":focus")).waitFor();
      expect(await destination(page).inputValue()).toBe("https://example.com/pasted");
    });
  });

  test("gets the scheme that its destination lacks, and is offered again by Copy", async () => {
    await visit({ permissions: ["clipboard-write"] }, async (page) => {
      await page.keyboard.press("c");
      await destination(page).fill("example.com/x");
      await page.keyboard.press("Tab");
      expect(await destination(page).inputValue()).toBe("https://example.com/x");
      await destination(page).fill("example.org/y");
      await page.keyboard.press("Enter");
      const short = await readCreated(page);
      expect(await findDestination(short)).toBe("https://example.org/y");
      await panel(page).getByRole("button", { name: "Copy" }).click();
      await page.getByText("Copied.", { exact: true }).waitFor();
    });
  });

  test("is shown to be copied by hand where the browser does not copy it", async () => {
    await visit({}, async (page) => {
      await page.evaluate(
        "navigator.clipboard.write = navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))",
      );
      await page.keyboard.press("c");
      await destination(page).fill("https://example.com/by-hand");
      await page.keyboard.press("Enter");
      await readCreated(page);
      await panel(page).getByText("Press Ctrl C").waitFor();
    });
  });

  test("keeps the focus in the form while it is sent, and at the field that is refused", async () => {
    await client.links.create({ url: "https://example.com/", alias: "creating-taken" });
    await visit({}, async (page) => {
      await page.keyboard.press("c");
      await destination(page).fill("https://example.com/again");
      await newLink(page).getByLabel("Alias").fill("creating-taken");
      await newLink(page).getByRole("button", { name: "Create link" }).click();
      await newLink(page).getByText("is already in use").waitFor();
      await newLink(page).getByLabel("Alias").and(page.locator(":focus")).waitFor();
      expect(await panel(page).count()).toBe(0);
    });
  });

  test("is asked about before it is thrown away, however it is closed", async () => {
    await visit({}, async (page) => {
      const opener = page.getByRole("button", { name: "New link", exact: true });
      await opener.click();
      await destination(page).fill("https://example.com/filled");
      const closings = [
        () => page.keyboard.press("Escape"),
        // Of several in a row, browsers let a page prevent only the first.
        () => page.keyboard.press("Escape"),
        () => page.keyboard.press("Escape"),
        () => newLink(page).getByRole("button", { name: "Close" }).click(),
        () => newLink(page).getByRole("button", { name: "Cancel" }).click(),
      ];
      for (const close of closings) {
        await close();
        await question(page).waitFor();
        await page.keyboard.press("Escape");
        await question(page).waitFor({ state: "detached" });
        await destination(page).waitFor();
        expect(await destination(page).inputValue()).toBe("https://example.com/filled");
      }
      await page.keyboard.press("Escape");
      await question(page).getByRole("button", { name: "Keep editing" }).click();
      expect(await destination(page).inputValue()).toBe("https://example.com/filled");
      await page.keyboard.press("Escape");
      await question(page).getByRole("button", { name: "Discard" }).click();
      await newLink(page).waitFor({ state: "detached" });
      await opener.and(page.locator(":focus")).waitFor();
      // Nothing is left of it, and an empty form is closed without a question.
      await page.keyboard.press("c");
      await destination(page).and(page.locator(":focus")).waitFor();
      expect(await destination(page).inputValue()).toBe("");
      await page.keyboard.press("Escape");
      await newLink(page).waitFor({ state: "detached" });
    });
  });
});

withBrowser("unsaved rules", () => {
  test("are asked about before their page is left", async () => {
    const link = await client.links.create({ url: "https://example.com/ruled" });
    await visit({ path: `/links/${link.id}` }, async (page) => {
      await page.getByRole("link", { name: "Rules" }).click();
      await page.getByRole("button", { name: "Add rule" }).click();
      const rule = page.getByRole("listitem", { name: "Rule 1" });
      await rule.getByLabel("Redirect to").fill("https://example.com/unsaved");
      const leavings = [
        () => page.getByRole("link", { name: "Domains" }).click(),
        () => page.evaluate("history.back()"),
      ];
      for (const leave of leavings) {
        await leave();
        await question(page).getByRole("button", { name: "Keep editing" }).click();
        expect(new URL(page.url()).pathname).toEndWith(`/${link.id}/rules`);
        expect(await rule.getByLabel("Redirect to").inputValue()).toBe(
          "https://example.com/unsaved",
        );
        // Browsers let a page stop only who has used it since.
        await rule.getByLabel("Redirect to").click();
      }
      const asked = new Promise<string>((resolve) => {
        page.once("dialog", (dialog) => {
          resolve(dialog.type());
          void dialog.dismiss();
        });
      });
      await page.evaluate("setTimeout(() => location.reload(), 0)");
      expect(await asked).toBe("beforeunload");
      await page.getByRole("link", { name: "Domains" }).click();
      await question(page).getByRole("button", { name: "Discard" }).click();
      await page.getByRole("heading", { name: "Domains", level: 1 }).waitFor();
      expect(await client.links.get(link.id)).not.toHaveProperty("rules");
    });
  });
});

withBrowser("shortcuts", () => {
  test("open the palette, the search and their own list, and do nothing while one types", async () => {
    await client.links.create({ url: "https://example.com/p", alias: "palette-one", title: "One" });
    await visit({ path: "/usage" }, async (page) => {
      const palette = page.getByRole("dialog", { name: "Commands" });
      const find = palette.getByRole("combobox");
      await page.keyboard.press("Control+k");
      await find.and(page.locator(":focus")).waitFor();
      await page.keyboard.type("palette-one");
      await palette.getByRole("option", { name: "palette-one" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "One", level: 1 }).waitFor();

      // Without a search on the page, the palette searches.
      await page.keyboard.press("/");
      await find.waitFor();
      await page.keyboard.type("api k");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "API keys", level: 1 }).waitFor();

      await page.keyboard.press("Control+k");
      await page.keyboard.type("example.net/from-palette");
      await page.keyboard.press("Enter");
      expect(await destination(page).inputValue()).toBe("https://example.net/from-palette");
      await page.keyboard.press("Escape");

      await page.goto(`/${account}/live/links`);
      await page.getByRole("table", { name: "Links" }).waitFor();
      await page.keyboard.press("/");
      await isFocused(page, "[aria-label='Search links']");
      for (const key of ["c", "?", "/", "Control+k"]) await page.keyboard.press(key);
      expect(await page.getByLabel("Search links").inputValue()).toBe("c?/");
      expect(await page.getByRole("dialog").count()).toBe(0);
      await page.getByLabel("Search links").fill("");
      await page.getByRole("main").focus();
      await page.keyboard.press("Control+c");
      expect(await page.getByRole("dialog").count()).toBe(0);

      await page.keyboard.press("?");
      const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
      await shortcuts.getByText("New link").waitFor();
      // Those who dictate can switch single keys off.
      await shortcuts.getByLabel("Single keys are shortcuts").uncheck();
      await page.keyboard.press("Escape");
      await shortcuts.waitFor({ state: "detached" });
      await page.keyboard.press("c");
      expect(await page.getByRole("dialog").count()).toBe(0);
      await page.keyboard.press("Control+k");
      await find.waitFor();
    });
  });

  test("create nothing for viewers", async () => {
    const viewer = await createUser(stack, account, "viewer");
    await visit({ as: await signInAs(viewer) }, async (page) => {
      await page.keyboard.press("c");
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Commands" });
      await palette.getByRole("option", { name: "Links" }).waitFor();
      expect(await palette.getByRole("option", { name: "New link" }).count()).toBe(0);
      expect(await newLink(page).count()).toBe(0);
    });
  });
});
