/**
 * Goal: whoever has many links finds those that they look for, and does with one, or with many at
 * once, what they intend, and knows what became of each. Method: a real browser on a real stack;
 * the API and the redirector show what has changed.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Page, Route } from "playwright-core";

import type { Client, NewLink } from "../../clients/typescript/src/index.ts";
import { admin } from "../harness/admin.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import {
  addDomain,
  chooseAction,
  follow,
  isFocused,
  paramsOf,
  readClipboard,
  rowOf,
} from "../harness/dashboard-page.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { longTest } from "../harness/property-runs.ts";

const TIMEOUT_MS = 20_000;
const HOST = "go.list.example";
const OWN = "https://example.com/own";

const dns = await forFile(Dns.start());
const dashboard = await forFile(DashboardBrowser.open(dns));

/** Runs the steps on the list of a new account with these links. */
async function visitList(
  links: readonly NewLink[],
  steps: (page: Page, client: Client) => Promise<void>,
): Promise<void> {
  const account = await dashboard.addAccount();
  if (links.length > 0) expect((await account.client.links.createMany([...links])).failed).toBe(0);
  await dashboard.visit(account, "/links", async (page) => {
    if (links.length > 0) await page.getByRole("table", { name: "Links" }).waitFor();
    await steps(page, account.client);
  });
}

/** A change of a link reaches the redirector within a second; its response does not wait for it. */
const PROPAGATION_MS = 1_000;

const becomes = (url: string, location: string | number) =>
  eventually(async () => expect(await follow(url)).toBe(location), PROPAGATION_MS);

/** Waits until the list has exactly these links, in any order. */
const listHas = (page: Page, aliases: readonly string[]) =>
  eventually(async () => {
    const urls = await page.locator("[aria-busy=false] .short-url").allTextContents();
    const shown = urls.map((url) => url.split("/").at(-1) ?? "");
    expect(new Set(shown)).toEqual(new Set(aliases));
    expect(shown).toHaveLength(aliases.length);
  }, TIMEOUT_MS);

const selectAll = (page: Page) => page.getByLabel("Select all links on this page");

const bulk = (page: Page, action: string) =>
  page
    .getByRole("group", { name: "Selected links" })
    .getByRole("button", { name: action, exact: true });

const plain = (prefix: string, count: number): NewLink[] =>
  Array.from({ length: count }, (_, i) => ({
    url: `${OWN}/${prefix}-${i}`,
    alias: `${prefix}-${i}`,
  }));

const newLink = (page: Page) => page.getByRole("dialog", { name: "New link" });

/** Types into the focused field, faster than anybody. */
const typeAtOnce = (page: Page, text: string) =>
  page.evaluate(
    `for (const key of ${JSON.stringify(text)}) document.execCommand("insertText", false, key)`,
  );

/** Pastes into the focused field. */
const pasteAtOnce = (page: Page, text: string) =>
  page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", ${JSON.stringify(text)});
    const paste = { clipboardData, bubbles: true, cancelable: true };
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", paste));
  }`);

const openNewLink = (page: Page) => page.getByRole("button", { name: "New link" }).click();

const short = (alias: string) => `${dashboard.stack.info().short_url}/${alias}`;

withBrowser("a link in the list", () => {
  test("is shown with its alias as one reads it, and with what it adds to its destination", async () => {
    const own = { url: `${OWN}/readable`, alias: "list/größe-🎈", utm_source: "letter" };
    await visitList([own], async (page, client) => {
      const [link] = (await client.links.list()).data;
      expect(link?.short_url).toBe(short("list/gr%C3%B6%C3%9Fe-%F0%9F%8E%88"));
      const { host } = new URL(short(""));
      await page.getByRole("link", { name: `${host}/list/größe-🎈`, exact: true }).click();
      const href = await page
        .getByRole("link", { name: short("list/größe-🎈") })
        .getAttribute("href");
      expect(href).toBe(link?.short_url ?? "");
      await page.getByText("utm_source=letter").waitFor();
    });
  });

  test("is created with validation while one types, changed and deleted, in live or in test mode", async () => {
    await visitList([], async (page) => {
      await page.getByText("No links yet").waitFor();
      await openNewLink(page);
      const dialog = newLink(page);
      await isFocused(page, dialog.getByLabel("Destination"));
      await dialog.getByLabel("Destination").fill("ftp://example.com");
      await dialog.getByText("The URL must be an http or https URL.").waitFor();
      await dialog.getByLabel("Destination").fill("https://example.com/first");
      await dialog.getByLabel("Alias").fill("-no");
      await dialog.getByText("An alias has 1 to 64 letters").waitFor();
      await dialog.getByLabel("Alias").fill("settings");
      await dialog.getByText("is reserved").waitFor();
      await dialog.getByLabel("Alias").fill("dash-first");
      await dialog.getByLabel("Title", { exact: true }).fill("The first");
      await dialog.getByLabel("Tags").fill("red, blue, red");
      for (const title of ["Schedule and state", "Password, query and path", "UTM parameters"])
        await dialog.getByText(title, { exact: true }).click();
      // The actions of a long form stay in view, and cover nothing.
      const action = await dialog.getByRole("button", { name: "Create link" }).boundingBox();
      expect((action?.y ?? 0) + (action?.height ?? 0)).toBeLessThan(860);
      const last = dialog.getByLabel("Content");
      await last.scrollIntoViewIfNeeded();
      await last.fill("");
      await dialog.getByLabel("Source").fill("letter");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await rowOf(page, "The first").waitFor();
      expect(await follow(short("dash-first"))).toBe("https://example.com/first?utm_source=letter");

      // Taken: the API's error is shown at its field.
      await openNewLink(page);
      await dialog.getByLabel("Destination").fill("https://example.com/second");
      await dialog.getByLabel("Alias").fill("dash-first");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await dialog.getByText('The alias "dash-first" is already in use.').waitFor();
      await isFocused(page, dialog.getByLabel("Alias"));
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Discard" }).click();
      await dialog.waitFor({ state: "detached" });

      await chooseAction(page, "The first", "Edit");
      const edit = page.getByRole("dialog", { name: "Edit link" });
      expect(await edit.getByLabel("Tags").inputValue()).toBe("red, blue");
      await edit.getByText("UTM parameters").click();
      expect(await edit.getByLabel("Source").inputValue()).toBe("letter");
      await edit.getByLabel("Source").fill("");
      await edit.getByLabel("Destination").fill("https://example.com/changed");
      await edit.getByRole("button", { name: "Save" }).click();
      await edit.waitFor({ state: "detached" });
      await page.getByText("https://example.com/changed").waitFor();
      await becomes(short("dash-first"), "https://example.com/changed");

      await chooseAction(page, "The first", "Delete");
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("No links yet").waitFor();
      await becomes(short("dash-first"), 404);

      await page.getByRole("button", { name: "Test", exact: true }).click();
      await page.getByText("Test mode: these links").waitFor();
      await page.getByText("No links yet").waitFor();
      await openNewLink(page);
      await dialog.getByLabel("Destination").fill("https://example.com/in-test");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await page.getByText("https://example.com/in-test").waitFor();
      await page.getByRole("button", { name: "Live", exact: true }).click();
      await page.getByText("No links yet").waitFor();
    });
  });

  test("has a page, with its tags, its QR code and its form", async () => {
    const links: NewLink[] = [{ url: OWN, alias: "page-one", title: "One", tags: ["a&b"] }];
    await visitList(links, async (page, client) => {
      await page.getByRole("link", { name: "/page-one" }).click();
      await page.getByRole("heading", { name: "One", level: 1 }).waitFor();
      await page.getByRole("button", { name: "QR code" }).click();
      await page.getByRole("img", { name: "QR code of" }).waitFor();
      await page.keyboard.press("Escape");
      const edit = page.getByRole("button", { name: "Edit" });
      await edit.click();
      const dialog = page.getByRole("dialog", { name: "Edit link" });
      await dialog.getByLabel("Title", { exact: true }).fill("Renamed");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "Renamed", level: 1 }).waitFor();
      await dialog.waitFor({ state: "detached" });
      await isFocused(page, edit);
      expect((await client.links.lookUp({ alias: "page-one" })).title).toBe("Renamed");
      await page.getByRole("link", { name: "a&b" }).click();
      await listHas(page, ["page-one"]);
      expect(paramsOf(page).get("tag")).toBe("a&b");
    });
  });

  test("is copied, archived, disabled and duplicated by its row, and that undone", async () => {
    const links: NewLink[] = [
      {
        url: OWN,
        alias: "menu-one",
        title: "One",
        tags: ["kept"],
        utm_source: "letter",
        password: "a secret",
        rules: [{ url: `${OWN}/de`, conditions: [{ type: "country", in: ["DE"] }] }],
      },
      { url: OWN, alias: "menu-two" },
    ];
    await visitList(links, async (page, client) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await rowOf(page, "menu-one").getByRole("button", { name: "Copy" }).click();
      await page.getByText("Copied.").waitFor();
      expect(await readClipboard(page)).toBe(short("menu-one"));

      const one = await client.links.lookUp({ alias: "menu-one" });
      await chooseAction(page, "menu-one", "Archive");
      await page.getByText("1 link archived.").waitFor();
      await listHas(page, ["menu-two"]);
      // The row that had the focus is gone; the focus is not.
      expect(await page.evaluate("document.activeElement.tagName")).not.toBe("BODY");
      expect(await client.links.get(one.id)).toMatchObject({ archived: true });
      await page.getByRole("button", { name: "Undo" }).click();
      await listHas(page, ["menu-one", "menu-two"]);
      expect(await client.links.get(one.id)).not.toHaveProperty("archived");

      await chooseAction(page, "menu-one", "Disable");
      await rowOf(page, "menu-one").getByText("Disabled", { exact: true }).waitFor();
      await chooseAction(page, "menu-one", "Enable");
      await rowOf(page, "menu-one")
        .getByText("Disabled", { exact: true })
        .waitFor({ state: "detached" });

      await chooseAction(page, "menu-one", "Duplicate");
      const dialog = newLink(page);
      await dialog.getByText("A copy of menu-one").waitFor();
      await dialog.getByLabel("Alias").fill("menu-copy");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await listHas(page, ["menu-one", "menu-two", "menu-copy"]);
      const copy = await client.links.lookUp({ alias: "menu-copy", include: "settings" });
      expect(copy).toMatchObject({
        original_url: OWN,
        title: "One",
        tags: ["kept"],
        utm_source: "letter",
        has_password: false,
      });
      expect(copy.rules?.map(({ url, conditions }) => ({ url, conditions }))).toEqual(
        one.rules?.map(({ url, conditions }) => ({ url, conditions })),
      );
      expect(copy.rules?.[0]?.id).not.toBe(one.rules?.[0]?.id);
    });
  });
});

withBrowser("the list", () => {
  test("keeps search, sorting and page in the URL, which can be shared", async () => {
    const links = Array.from({ length: 45 }, (_, i) => ({
      url: `https://example.com/${i}`,
      alias: `paged-${i}`,
      title: i % 9 === 0 ? `Needle ${i}` : `Straw ${i}`,
      tags: i % 15 === 0 ? ["rare"] : [],
    }));
    await visitList(links, async (page, client) => {
      const list = new URL(page.url()).pathname;
      await page.getByText("Page 1").waitFor();
      const seen = new Set<string>();
      const readAliases = async () => {
        await page.locator("[aria-busy=false] .short-url").first().waitFor();
        const names = await page.locator(".short-url").allTextContents();
        for (const name of names) seen.add(name);
      };
      await readAliases();
      await page.getByRole("button", { name: "Next page" }).click();
      await page.getByText("Page 2").waitFor();
      await readAliases();
      const second = page.url();
      // A link that is created meanwhile neither repeats nor hides another one.
      await client.links.create({ url: "https://example.com/meanwhile", alias: "meanwhile" });
      await page.reload();
      await page.getByText("Page 2").waitFor();
      await page.getByRole("button", { name: "Next page" }).click();
      await page.getByText("Page 3").waitFor();
      await readAliases();
      expect([...seen].filter((name) => name.includes("/paged-"))).toHaveLength(45);
      expect(await page.getByRole("button", { name: "Next page" }).isDisabled()).toBe(true);
      await page.getByRole("button", { name: "Previous page" }).click();
      await page.getByText("Page 2").waitFor();
      expect(page.url()).toBe(second);
      await page.getByLabel("Search links").fill("Needle");
      await page.keyboard.press("Enter");
      await page.getByText("5 links").waitFor();
      await page.goBack();
      await page.getByText("Page 2").waitFor();

      // Of a page that was opened by its URL, only the first page is known to be before it.
      const shared = await page.context().newPage();
      await shared.goto(second);
      await shared.getByRole("button", { name: "First page" }).click();
      await shared.getByText("Page 1").waitFor();
      await shared.close();

      await page.goto(`${list}?tag=rare`);
      await page.getByText("3 links").waitFor();
      await page.getByRole("button", { name: "Clear tag filter" }).click();
      await page.getByText("Page 1").waitFor();
      await page.getByRole("button", { name: "Created" }).click();
      await page
        .getByRole("columnheader", { name: "Created" })
        .and(page.locator("[aria-sort=ascending]"))
        .waitFor();
      await page.goto(`${list}?sort=nonsense&search=${"x".repeat(400)}`);
      await page.getByText("No matching links").waitFor();
    });
  });

  test("follows what is typed in its search, as one step of the history, and shows no older answer", async () => {
    const links = [
      { url: OWN, alias: "srch-needle", title: "Needle" },
      { url: OWN, alias: "srch-nettle", title: "Nettle" },
      { url: OWN, alias: "srch-straw", title: "Straw" },
    ];
    await visitList(links, async (page) => {
      const asked: string[] = [];
      const held = Promise.withResolvers<Route>();
      await page.route("**/v1/links?**", async (route) => {
        const search = new URL(route.request().url()).searchParams.get("search") ?? "";
        asked.push(search);
        // The answer to the first text waits until that to the second is there.
        if (search === "ne") held.resolve(route);
        else await route.continue();
      });
      const field = page.getByLabel("Search links");
      await field.focus();
      await typeAtOnce(page, "ne");
      const late = await held.promise;
      await typeAtOnce(page, "edle");
      await listHas(page, ["srch-needle"]);
      // The page has given it up, or ignores it.
      await late.continue().catch(() => undefined);
      // One more list, which is asked for after the late answer.
      await page.keyboard.type("x");
      await page.getByText("No matching links").waitFor();
      await page.keyboard.press("Backspace");
      await listHas(page, ["srch-needle"]);
      expect(paramsOf(page).get("search")).toBe("needle");
      // Not a request for each key.
      expect(asked).not.toContain("n");
      expect(asked).not.toContain("need");
      // The field keeps the focus while the list changes under it.
      await isFocused(page, field);
      await page.goBack();
      await listHas(page, ["srch-needle", "srch-nettle", "srch-straw"]);
      expect(await field.inputValue()).toBe("");
      await page.goForward();
      await listHas(page, ["srch-needle"]);
      expect(await field.inputValue()).toBe("needle");
    });
  });

  longTest("says how long ago the last click of each link was, and sorts by it", async () => {
    await visitList(plain("last", 3), async (page, client) => {
      const { data } = await client.links.list({ search: "last-1" });
      const [clicked] = data;
      await fetch(clicked?.short_url ?? "", { redirect: "manual" });
      await eventually(async () => {
        const { last_click_at } = await client.links.get(clicked?.id ?? "");
        expect(last_click_at).not.toBeNull();
      }, TIMEOUT_MS);
      await page.getByRole("button", { name: "Last click" }).click();
      await page
        .getByRole("columnheader", { name: "Last click" })
        .and(page.locator("[aria-sort=descending]"))
        .waitFor();
      expect(paramsOf(page).get("sort")).toBe("last_click_at");
      await page.reload();
      await listHas(page, ["last-0", "last-1", "last-2"]);
      const rows = page.locator("[aria-busy=false] tbody tr");
      expect(await rows.locator(".short-url").first().textContent()).toEndWith("/last-1");
      const cells = rows.locator(".last-click");
      expect(await cells.first().textContent()).toMatch(/^(?:now|\dm ago)$/);
      expect(await cells.first().getAttribute("title")).toMatch(/\d{4}.*\d:\d\d/);
      expect((await cells.allTextContents()).slice(1)).toEqual(["Never", "Never"]);
    });
  });

  longTest(
    "has filters by tag, domain and state, in the URL, which go back one by one",
    async () => {
      const links: NewLink[] = [
        { url: OWN, alias: "flt-ab", tags: ["red", "blue"] },
        { url: OWN, alias: "flt-a", tags: ["red"] },
        { url: OWN, alias: "flt-old", archived: true },
      ];
      await visitList(links, async (page, client) => {
        await addDomain(client, dns, HOST);
        await client.links.create({ url: OWN, alias: "flt-host", domain: HOST });
        await page.reload();
        await listHas(page, ["flt-ab", "flt-a", "flt-host"]);
        const filter = page.getByRole("button", { name: "Filter", exact: true });
        const form = page.getByRole("group", { name: "Filter" });

        await filter.click();
        await form.getByLabel("Tag").fill("red");
        await page.keyboard.press("Enter");
        await listHas(page, ["flt-ab", "flt-a"]);
        await rowOf(page, "flt-ab").getByRole("button", { name: "blue" }).click();
        await listHas(page, ["flt-ab"]);
        expect(paramsOf(page).getAll("tag")).toEqual(["red", "blue"]);
        await page.goBack();
        await listHas(page, ["flt-ab", "flt-a"]);
        await page.getByRole("button", { name: "Clear tag filter red" }).click();
        await listHas(page, ["flt-ab", "flt-a", "flt-host"]);

        await filter.click();
        await form.getByLabel("Domain").selectOption(HOST);
        await listHas(page, ["flt-host"]);
        expect(paramsOf(page).get("domain")).toBe(HOST);
        await page.getByRole("button", { name: "Clear domain filter" }).click();

        const show = page.getByLabel("Show", { exact: true });
        await show.selectOption("Only archived");
        await listHas(page, ["flt-old"]);
        await show.selectOption("All links");
        await listHas(page, ["flt-ab", "flt-a", "flt-host", "flt-old"]);
        await show.selectOption("Only expired");
        await page.getByText("No matching links").waitFor();
        expect([...paramsOf(page)]).toEqual([["expired", "true"]]);
        // A shared URL shows the same.
        await page.goto(`${page.url().split("?")[0]}?tag=red&tag=blue&archived=any`);
        await listHas(page, ["flt-ab"]);
        expect(await show.inputValue()).toBe("any");
      });
    },
  );

  longTest(
    "says in a row what a link does, a dozen rows on a screen; a change makes rows paler, reading them again does not",
    async () => {
      const links: NewLink[] = [
        ...plain("row", 14),
        {
          url: OWN,
          alias: "row-all",
          title: "Everything",
          tags: ["a", "b", "c", "d", "e"],
          password: "a secret",
          rules: [{ url: `${OWN}/de`, conditions: [{ type: "country", in: ["DE"] }] }],
          split: { arms: [{ url: `${OWN}/b`, weight: 30 }] },
          max_clicks: 5,
          expires_at: "2099-01-01T00:00:00Z",
        },
        { url: OWN, alias: "row-soon", starts_at: "2098-01-01T00:00:00Z" },
      ];
      await visitList(links, async (page) => {
        const badges = await rowOf(page, "row-all").locator(".badge").allTextContents();
        expect(badges).toEqual([
          "Until Jan 1, 2099",
          "5 clicks left",
          "Password",
          "1 rule",
          "Split",
          "+2",
        ]);
        await rowOf(page, "row-soon").getByText("From Jan 1, 2098").waitFor();
        const shown = await page
          .locator("tbody tr")
          .evaluateAll(
            (rows) => rows.filter((row) => row.getBoundingClientRect().bottom < 860).length,
          );
        expect(shown).toBeGreaterThanOrEqual(10);

        await page.evaluate(`
        window.timesPaler = 0;
        new MutationObserver((records) => {
          for (const { target, oldValue } of records)
            if (oldValue === "false" && target.matches("div")) window.timesPaler++;
        }).observe(document.body, {
          attributeFilter: ["aria-busy"], attributeOldValue: true, subtree: true,
        });
      `);
        const timesPaler = () => page.evaluate("window.timesPaler");
        await chooseAction(page, "row-0", "Disable");
        await rowOf(page, "row-0").getByText("Disabled", { exact: true }).waitFor();
        expect(await timesPaler()).toBe(0);

        await page.getByRole("button", { name: "Last click" }).click();
        await eventually(async () => expect(await timesPaler()).toBe(1), TIMEOUT_MS);
      });
    },
  );
});

withBrowser("several links", () => {
  test("are tagged, given an expiry, archived and exported at once", async () => {
    const links: NewLink[] = [
      { url: OWN, alias: "bulk-a", tags: ["old", "own"] },
      { url: OWN, alias: "bulk-b", tags: ["old"] },
      { url: OWN, alias: "bulk-c" },
    ];
    await visitList(links, async (page, client) => {
      const tagsOf = async () => {
        const all = await Array.fromAsync(client.links.all({ archived: "any" }));
        return Object.fromEntries(all.map(({ alias, tags }) => [alias, tags]));
      };
      await page.getByLabel("Select localhost").first().check();
      await page.getByText("1 selected").waitFor();
      await selectAll(page).check();
      await page.getByText("3 selected").waitFor();
      await rowOf(page, "bulk-c").getByRole("checkbox").uncheck();
      expect(await selectAll(page).isChecked()).toBe(false);

      // Meanwhile somebody else gives one of them a tag, which is not lost.
      const b = await client.links.lookUp({ alias: "bulk-b" });
      await client.links.update(b.id, { tags: ["old", "meanwhile"] });
      await bulk(page, "Tags").click();
      const tags = page.getByRole("dialog", { name: "Tags of 2 links" });
      await tags.getByLabel("Add", { exact: true }).fill("new; ");
      await pasteAtOnce(page, "fresh\r\nnew");
      await tags.getByLabel("old").check();
      await tags.getByRole("button", { name: "Change tags" }).click();
      await page.getByText("2 links tagged.").waitFor();
      expect(await tagsOf()).toEqual({
        "bulk-a": ["own", "new", "fresh"],
        "bulk-b": ["meanwhile", "new", "fresh"],
        "bulk-c": [],
      });

      await bulk(page, "Expiry").click();
      const expiry = page.getByRole("dialog", { name: "Expiry of 2 links" });
      await expiry.getByRole("button", { name: "Set expiry" }).click();
      await expiry.getByText("Required").waitFor();
      await expiry.getByLabel("Expires").fill("2099-05-01T12:00");
      await expiry.getByRole("button", { name: "Set expiry" }).click();
      await page.getByText("2 links changed.").waitFor();
      await rowOf(page, "bulk-a").getByText("Until May 1, 2099").waitFor();
      expect((await client.links.get(b.id)).expires_at).toBe("2099-05-01T10:00:00.000Z");

      const [download] = await Promise.all([
        page.waitForEvent("download"),
        bulk(page, "CSV").click(),
      ]);
      const csv = readFileSync(await download.path(), "utf8");
      expect(csv.trim().split("\n")).toHaveLength(3);
      expect(csv).not.toContain("bulk-c");

      await bulk(page, "Archive").click();
      await page.getByText("2 links archived.").waitFor();
      await listHas(page, ["bulk-c"]);
      // Nothing is selected that is not shown.
      await page.getByText("Select all").waitFor();
      await page.getByRole("button", { name: "Undo" }).last().click();
      await listHas(page, ["bulk-a", "bulk-b", "bulk-c"]);
    });
  });

  test("are all that match, also beyond the page, and what is changed can be undone", async () => {
    await visitList(plain("many", 21), async (page, client) => {
      const urls = async () =>
        (await Array.fromAsync(client.links.all())).map(({ original_url }) => original_url);
      await selectAll(page).check();
      await page.getByText("20 selected").waitFor();
      await page.getByRole("button", { name: "Select all that match" }).click();
      await page.getByText("21 selected").waitFor();
      await bulk(page, "More changes").click();
      await page.getByRole("menuitem", { name: "Replace in destinations" }).click();
      const dialog = page.getByRole("dialog", { name: "Replace in 21 destinations" });
      await dialog.getByLabel("Find").fill("/many-");
      await dialog.getByLabel("Replace by").fill("/moved-");
      await dialog.getByRole("button", { name: "Change 21 links" }).click();
      await page.getByText("21 links changed.").waitFor();
      expect((await urls()).every((url) => url.includes("/moved-"))).toBe(true);
      await page.getByRole("button", { name: "Undo" }).last().click();
      await page.getByText("21 links put back.").waitFor();
      expect((await urls()).every((url) => url.includes("/many-"))).toBe(true);
    });
  });

  test("are deleted after a question, and each that is not is named with the reason", async () => {
    await visitList(plain("gone", 3), async (page, client) => {
      await admin(dashboard.stack, ["links", "disable", "--alias", "gone-1"]);
      await page.reload();
      await rowOf(page, "gone-1").getByText("Taken down", { exact: true }).waitFor();
      await selectAll(page).check();
      await bulk(page, "Delete").click();
      const dialog = page.getByRole("dialog", { name: "Delete 3 links?" });
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await listHas(page, ["gone-0", "gone-1", "gone-2"]);
      await bulk(page, "Delete").click();
      await dialog.getByRole("button", { name: "Delete 3 links" }).click();
      const report = page.getByRole("dialog", { name: "2 of 3 links deleted" });
      await report.waitFor();
      const failed = report.getByRole("listitem");
      expect(await failed.count()).toBe(1);
      expect(await failed.textContent()).toMatch(/gone-1.*taken the link down/);
      await report.getByRole("button", { name: "Close" }).last().click();
      await listHas(page, ["gone-1"]);
      await page.getByText("1 selected").waitFor();
      const left = await Array.fromAsync(client.links.all());
      expect(left.map(({ alias }) => alias)).toEqual(["gone-1"]);
    });
  });

  longTest(
    "stay as they are when the service cannot be reached, and that is said, also of an undo",
    async () => {
      await visitList(plain("away", 2), async (page, client) => {
        await page.route("**/v1/links/bulk", (route) => route.abort("internetdisconnected"));
        await selectAll(page).check();
        await bulk(page, "Archive").click();
        await page.getByText("The service cannot be reached.").waitFor();
        await page.getByText("2 selected").waitFor();
        expect(await Array.fromAsync(client.links.all())).toHaveLength(2);
        await page.unroute("**/v1/links/bulk");
        await page.getByText("The service cannot be reached.").waitFor({ state: "detached" });
        await bulk(page, "Expiry").click();
        await page
          .getByRole("dialog")
          .getByLabel("Expires", { exact: true })
          .fill("2099-05-01T12:00");
        await page.getByRole("dialog").getByRole("button", { name: "Set expiry" }).click();
        await page.getByText("2 links changed.").waitFor();
        await page.route("**/v1/links/bulk", (route) => route.abort("internetdisconnected"));
        await page.getByRole("button", { name: "Undo" }).click();
        await page.getByText("The service cannot be reached.").waitFor();
        await page.unroute("**/v1/links/bulk");
        await bulk(page, "Archive").click();
        await page.getByText("No links yet").waitFor();
      });
    },
  );
});

withBrowser("the page of tags", () => {
  longTest(
    "has tags without clicks; they are coloured, merged and deleted, and completed in forms",
    async () => {
      const links: NewLink[] = [
        { url: OWN, alias: "tag-a", tags: ["quiet", "spring sale"] },
        { url: OWN, alias: "tag-b", tags: ["quiet", "sprign"] },
      ];
      await visitList(links, async (page, client) => {
        await page.getByRole("link", { name: "Tags", exact: true }).click();
        const table = page.getByRole("table", { name: "Tags", exact: true });
        const cellsOf = (name: string) =>
          table.getByRole("row").filter({ hasText: name }).getByRole("cell").allInnerTexts();
        await table.getByRole("link", { name: "quiet" }).waitFor();
        expect((await cellsOf("quiet")).slice(0, 3)).toEqual(["quiet", "2", "0"]);

        const dialog = page.getByRole("dialog");
        await table.getByRole("button", { name: "Edit sprign" }).click();
        await dialog.getByLabel("Name").fill("spring sale");
        await dialog.getByLabel("Colour").selectOption("Green");
        await dialog.getByText("Another tag has this name").waitFor();
        await dialog.getByLabel("Merge with spring sale").check();
        await dialog.getByRole("button", { name: "Save" }).click();
        await page.getByText("1 link changed.").waitFor();
        await dialog.waitFor({ state: "detached" });
        const merged = table.getByRole("link", { name: "spring sale" });
        await merged.and(page.locator(".tag-green")).waitFor();
        expect(await table.getByText("sprign").count()).toBe(0);

        await table.getByRole("button", { name: "Delete quiet" }).click();
        await dialog.getByText("removed from 2 links").waitFor();
        await dialog.getByRole("button", { name: "Delete tag" }).click();
        await page.getByText("Removed from 2 links.").waitFor();
        await dialog.waitFor({ state: "detached" });
        const { data } = await client.tags.list();
        expect(data).toMatchObject([{ name: "spring sale", color: "green", links: 2 }]);
        await page.getByLabel("Search tags").fill("quiet");
        await page.getByText("No tag contains this").waitFor();

        await page.getByRole("link", { name: "Links", exact: true }).click();
        await rowOf(page, "tag-b")
          .getByRole("button", { name: "spring sale" })
          .and(page.locator(".tag-green"))
          .waitFor();
        await page.getByRole("button", { name: "New link" }).first().click();
        await dialog.getByLabel("Tags").fill("first, SPR");
        const options = dialog.locator("datalist option");
        await eventually(
          async () =>
            expect(
              await options.evaluateAll((all) => all.map((option) => option.getAttribute("value"))),
            ).toEqual(["first, spring sale"]),
          TIMEOUT_MS,
        );
      });
    },
  );
});
