/**
 * Goal: a short URL is a few keys away from every page, whoever has no mouse can do all that one
 * does with a link, and nothing that somebody has entered is lost. Method: a real browser on a real
 * stack; keys and clicks are counted, and the clipboard is read.
 */
import { expect, test } from "bun:test";

import type { Page } from "playwright-core";

import { openSignIn } from "../harness/browser.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import { enter, isFocused, readClipboard, tabTo, write } from "../harness/dashboard-page.ts";
import type { TestUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";

const TIMEOUT_MS = 20_000;

/**
 * The most keys beside those of the URL, and clicks, from the first page to a short URL in the
 * clipboard.
 */
const KEYS_MAX = 4;
const CLICKS_MAX = 2;

const dashboard = await forFile(DashboardBrowser.open());
const account = await dashboard.addAccount();

/** Runs the steps on the list, with permissions of the browser. */
const visitList = (permissions: readonly string[], steps: (page: Page) => Promise<void>) =>
  dashboard.visit(account, "/links", async (page) => {
    // An empty list would deny them all.
    if (permissions.length > 0) await page.context().grantPermissions([...permissions]);
    await steps(page);
  });

const CLIPBOARD = ["clipboard-read", "clipboard-write"];

const newLink = (page: Page) => page.getByRole("dialog", { name: "New link" });
const question = (page: Page) => page.getByRole("dialog", { name: "Discard your changes?" });
const panel = (page: Page) => page.getByRole("region", { name: "New short URL" });
const destination = (page: Page) => newLink(page).getByLabel("Destination");

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
  return (await account.client.links.lookUp({ alias: pathname.slice(1) })).original_url;
};

withBrowser("a new link", () => {
  test("takes four keys beside its URL, and is then in the clipboard beside its QR code", async () => {
    await visitList(["clipboard-write"], async (page) => {
      let keys = 0;
      const press = async (key: string): Promise<void> => {
        keys++;
        await page.keyboard.press(key);
      };
      await press("c");
      await isFocused(page, destination(page));
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
    await visitList(CLIPBOARD, async (page) => {
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
      await isFocused(page, destination(page));
      expect(await destination(page).inputValue()).toBe("");
      await page.keyboard.press("Escape");
      await newLink(page).waitFor({ state: "detached" });
      // Dismissed with nothing typed: the focus is where it was.
      expect(await readFocus(page)).not.toBe("BODY");
      await page.evaluate("navigator.clipboard.writeText('hunter2.example')");
      await page.keyboard.press("c");
      await isFocused(page, destination(page));
      expect(await destination(page).inputValue()).toBe("");
    });
  });

  test("asks nobody for the clipboard: without the permission one pastes, and copies by hand", async () => {
    await visitList([], async (page) => {
      await page.evaluate(
        "navigator.clipboard.readText = () => { window.asked = (window.asked ?? 0) + 1; return Promise.resolve('https://example.com/pasted'); }",
      );
      await page.keyboard.press("c");
      const paste = newLink(page).getByRole("button", { name: "Paste from the clipboard" });
      await paste.waitFor();
      expect(await page.evaluate("window.asked")).toBeUndefined();
      expect(await destination(page).inputValue()).toBe("");
      await paste.click();
      await isFocused(page, destination(page));
      expect(await destination(page).inputValue()).toBe("https://example.com/pasted");
      // A destination gets the scheme that it lacks.
      await destination(page).fill("example.com/x");
      await page.keyboard.press("Tab");
      expect(await destination(page).inputValue()).toBe("https://example.com/x");
      await destination(page).fill("example.org/y");
      await page.evaluate(
        "navigator.clipboard.write = navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))",
      );
      await page.keyboard.press("Enter");
      const short = await readCreated(page);
      expect(await findDestination(short)).toBe("https://example.org/y");
      await panel(page).getByText("Press Ctrl C").waitFor();
      await page.evaluate("navigator.clipboard.writeText = () => Promise.resolve()");
      await panel(page).getByRole("button", { name: "Copy" }).click();
      await page.getByText("Copied.", { exact: true }).waitFor();
    });
  });

  test("is asked about before it is thrown away, however it is closed", async () => {
    await visitList([], async (page) => {
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
      await isFocused(page, opener);
      // Nothing is left of it, and an empty form is closed without a question.
      await page.keyboard.press("c");
      await isFocused(page, destination(page));
      expect(await destination(page).inputValue()).toBe("");
      await page.keyboard.press("Escape");
      await newLink(page).waitFor({ state: "detached" });
    });
  });
});

withBrowser("what was entered in a dialog", () => {
  test("is asked about before it is thrown away, and nothing is where nothing was", async () => {
    await dashboard.visit(account, "/settings/keys", async (page) => {
      const opener = page.getByRole("button", { name: "New API key" });
      const dialog = page.getByRole("dialog", { name: "New API key" });
      await opener.click();
      await dialog.getByLabel("Name").fill("Half a name");
      await page.keyboard.press("Escape");
      await question(page).getByRole("button", { name: "Keep editing" }).click();
      expect(await dialog.getByLabel("Name").inputValue()).toBe("Half a name");
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await question(page).getByRole("button", { name: "Discard" }).click();
      await dialog.waitFor({ state: "detached" });
      await isFocused(page, opener);
      await opener.click();
      await dialog.waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    });
    await account.client.links.create({ url: "https://example.com/bulk" });
    await visitList([], async (page) => {
      await page.getByLabel("Select all links on this page").check();
      await page.getByRole("button", { name: "Expiry" }).click();
      const dialog = page.getByRole("dialog", { name: /^Expiry of/ });
      await dialog.getByLabel("Expires", { exact: true }).fill("2099-05-01T12:00");
      await page.keyboard.press("Escape");
      await question(page).getByRole("button", { name: "Discard" }).click();
      await dialog.waitFor({ state: "detached" });
    });
  });
});

withBrowser("unsaved rules", () => {
  test("are asked about before their page is left", async () => {
    const link = await account.client.links.create({ url: "https://example.com/ruled" });
    await dashboard.visit(account, `/links/${link.id}`, async (page) => {
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
      expect(await account.client.links.get(link.id)).not.toHaveProperty("rules");
    });
  });
});

withBrowser("shortcuts", () => {
  test("open the palette, the search and their own list, and do nothing while one types", async () => {
    await account.client.links.create({
      url: "https://example.com/p",
      alias: "palette-one",
      title: "One",
    });
    await dashboard.visit(account, "/usage", async (page) => {
      const palette = page.getByRole("dialog", { name: "Commands" });
      const find = palette.getByRole("combobox");
      await page.keyboard.press("Control+k");
      await isFocused(page, find);
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

      await page.goto(`/${account.id}/live/links`);
      await page.getByRole("table", { name: "Links" }).waitFor();
      await page.keyboard.press("/");
      await isFocused(page, page.getByLabel("Search links"));
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

  const elements: [name: string, html: string, isTyped: boolean][] = [
    ["a text field", "<input type=url>", true],
    ["a search", "<input type=search>", true],
    ["a text area", "<textarea></textarea>", true],
    ["a choice", "<select><option>One</select>", true],
    ["an item of a menu", "<button role=menuitem>One</button>", true],
    ["editable text", "<div contenteditable>One</div>", true],
    ["a text to copy", "<input readonly>", false],
    ["a checkbox", "<input type=checkbox>", false],
    ["a colour", "<input type=color>", false],
    ["a button", "<button>One</button>", false],
  ];

  test("are typed in what takes text or chooses by letters, and in nothing else", async () => {
    await dashboard.visit(account, "/usage", async (page) => {
      const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
      for (const [name, html, isTyped] of elements) {
        const probe = JSON.stringify(`<div id="probe">${html}</div>`);
        await page.evaluate(`document.body.insertAdjacentHTML("beforeend", ${probe})`);
        await page.locator("#probe > *").focus();
        await page.keyboard.press("?");
        if (isTyped) expect([name, await page.getByRole("dialog").count()]).toEqual([name, 0]);
        else {
          await list.waitFor();
          await page.keyboard.press("Escape");
          await list.waitFor({ state: "detached" });
        }
        await page.evaluate("document.getElementById('probe').remove()");
      }
    });
  });
});

/** Signs in with keys, skips to the content, and opens a menu and its dialog. */
async function openMenu(page: Page, { email, password }: TestUser): Promise<void> {
  await isFocused(page, page.locator("input[type=email]"));
  await page.keyboard.type(email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
  await page.goto(`/${account.id}/live/links`);
  await page.getByRole("table", { name: "Links" }).waitFor();
  await page.keyboard.press("Tab");
  await isFocused(page, page.getByText("Skip to main content"));
  await page.keyboard.press("Enter");
  await page.locator("main:focus").waitFor();
  await enter(page, page.getByRole("button", { name: "Actions for" }).first());
  await isFocused(page, page.getByRole("menuitem", { name: "Analytics" }));
  await page.keyboard.press("ArrowUp");
  await isFocused(page, page.getByRole("menuitem", { name: "Delete" }));
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Delete this link?" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

/** Creates a link with keys, and opens its page. */
async function createByKeys(page: Page): Promise<string> {
  await enter(page, page.getByRole("button", { name: "New link" }));
  await write(page, destination(page), "https://example.com/keys");
  await write(page, newLink(page).getByLabel("Alias", { exact: true }), "by-keys");
  await enter(page, newLink(page).getByRole("button", { name: "Create link" }));
  expect(await findDestination(await readCreated(page))).toBe("https://example.com/keys");
  await page.keyboard.press("Escape");
  await panel(page).waitFor({ state: "detached" });
  await enter(page, page.getByRole("link", { name: "/by-keys" }));
  return (await account.client.links.lookUp({ alias: "by-keys" })).id;
}

async function editByKeys(page: Page, id: string): Promise<void> {
  const edit = page.getByRole("button", { name: "Edit", exact: true });
  await enter(page, edit);
  const form = page.getByRole("dialog", { name: "Edit link" });
  await write(page, form.getByLabel("Title", { exact: true }), "Renamed");
  await enter(page, form.getByRole("button", { name: "Save" }));
  await page.getByRole("heading", { name: "Renamed", level: 1 }).waitFor();
  await isFocused(page, edit);
  expect((await account.client.links.get(id)).title).toBe("Renamed");
}

async function shareByKeys(page: Page): Promise<void> {
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
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
}

async function addRuleByKeys(page: Page, id: string): Promise<void> {
  await enter(page, page.getByRole("link", { name: "Rules" }));
  await enter(page, page.getByRole("button", { name: "Add rule" }));
  const rule = page.getByRole("listitem", { name: "Rule 1" });
  await tabTo(page, rule.getByLabel("Mobile"));
  await page.keyboard.press("Space");
  await write(page, rule.getByLabel("Redirect to"), "https://example.com/app");
  await enter(page, page.getByRole("button", { name: "Save", exact: true }));
  await page.getByText("The rules have been saved.").waitFor();
  const { rules } = await account.client.links.get(id, { include: "settings" });
  expect(rules).toMatchObject([{ url: "https://example.com/app" }]);
}

withBrowser("with the keyboard only", () => {
  test("one signs in, and a link is created, edited, shared and gets a rule", async () => {
    await account.client.links.create({ url: "https://example.com/" });
    const user = await dashboard.join(account);
    const { page, consoleErrors } = await openSignIn(dashboard.browser, dashboard.stack, {
      reducedMotion: "reduce",
    });
    await openMenu(page, user);
    const id = await createByKeys(page);
    await editByKeys(page, id);
    await shareByKeys(page);
    await addRuleByKeys(page, id);
    expect(consoleErrors).toEqual([]);
    await page.context().close();
  });
});
