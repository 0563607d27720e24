/**
 * Goal: whoever has many links finds those that they look for, and does with many at once what they
 * would do with one, and knows what became of each. Method: a real browser on a real stack; the API
 * shows what has changed.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Browser, Page, Route } from "playwright-core";

import { type Client, createClient, type NewLink } from "../../clients/typescript/src/index.ts";
import { admin, createAccount } from "../harness/admin.ts";
import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../harness/browser.ts";
import { createUser } from "../harness/dashboard.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;
const HOST = "go.list.example";
const OWN = "https://example.com/own";

const withBrowser = describe.skipIf(chromiumPath === undefined);

let dns: Dns;
let stack: SharedStack;
let browser: Browser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  dns = await startDns();
  stack = await useStack({ dns });
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

/** What a test aborts by itself. */
const ABORTED = /ERR_FAILED/;

type Steps = (page: Page, client: Client) => Promise<void>;

/**
 * Runs the steps on the list of a new account with these links, signed in as its owner; fails on
 * console errors.
 */
async function visitList(links: readonly NewLink[], steps: Steps, search = ""): Promise<void> {
  const { id, key } = await createAccount(stack, "enterprise");
  const client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
  const { failed } = await client.links.createMany([...links]);
  expect(failed).toBe(0);
  const { page, consoleErrors } = await openSignIn(browser, stack);
  await signInOnPage(page, await createUser(stack, id));
  if (search !== "") await page.goto(`/${id}/live/links${search}`);
  await page.getByRole("table", { name: "Links" }).waitFor();
  await steps(page, client);
  expect(consoleErrors.filter((text) => !ABORTED.test(text))).toEqual([]);
  await page.context().close();
}

const rowOf = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

/** Waits until the list has exactly these links, in any order. */
const listHas = (page: Page, aliases: readonly string[]) =>
  eventually(async () => {
    const urls = await page.locator("[aria-busy=false] .short-url").allTextContents();
    const shown = urls.map((url) => url.split("/").at(-1) ?? "");
    expect(new Set(shown)).toEqual(new Set(aliases));
    expect(shown).toHaveLength(aliases.length);
  }, TIMEOUT_MS);

async function choose(page: Page, row: string, action: string): Promise<void> {
  await rowOf(page, row).getByRole("button", { name: "Actions for" }).click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

const selectAll = (page: Page) => page.getByLabel("Select all links on this page");

const bulk = (page: Page, action: string) =>
  page
    .getByRole("group", { name: "Selected links" })
    .getByRole("button", { name: action, exact: true });

const paramsOf = (page: Page) => new URL(page.url()).searchParams;

const plain = (prefix: string, count: number): NewLink[] =>
  Array.from({ length: count }, (_, i) => ({
    url: `${OWN}/${prefix}-${i}`,
    alias: `${prefix}-${i}`,
  }));

withBrowser("the search of the list", () => {
  test("follows what is typed, is one step of the history, and shows no older answer", async () => {
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
      await page.keyboard.type("ne");
      const late = await held.promise;
      await page.keyboard.type("edle");
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
      await field.and(page.locator(":focus")).waitFor();
      await page.goBack();
      await listHas(page, ["srch-needle", "srch-nettle", "srch-straw"]);
      expect(await field.inputValue()).toBe("");
      await page.goForward();
      await listHas(page, ["srch-needle"]);
      expect(await field.inputValue()).toBe("needle");
    });
  });
});

withBrowser("the last click in the list", () => {
  test("says how long ago it was, with its time, and the list sorts by it", async () => {
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
});

withBrowser("the filters of the list", () => {
  test("are by tag, domain and state, in the URL, and go back one by one", async () => {
    const links: NewLink[] = [
      { url: OWN, alias: "flt-ab", tags: ["red", "blue"] },
      { url: OWN, alias: "flt-a", tags: ["red"] },
      { url: OWN, alias: "flt-old", archived: true },
    ];
    await visitList(links, async (page, client) => {
      const { id, verification } = await client.domains.create(HOST);
      dns.set(verification.name, [verification.value]);
      await client.domains.verify(id);
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
  });
});

withBrowser("the page of tags", () => {
  test("has tags without clicks; they are coloured, merged and deleted, and completed in forms", async () => {
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
  });
});

withBrowser("the rows of the list", () => {
  test("say what a link does, a dozen on a screen", async () => {
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
      await page.setViewportSize({ width: 1280, height: 860 });
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
    });
  });

  test("are paler while the list is changed, and not when the same list is read again", async () => {
    await visitList(plain("pale", 3), async (page) => {
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
      await choose(page, "pale-0", "Disable");
      await rowOf(page, "pale-0").getByText("Disabled", { exact: true }).waitFor();
      expect(await timesPaler()).toBe(0);

      await page.getByRole("button", { name: "Last click" }).click();
      await eventually(async () => expect(await timesPaler()).toBe(1), TIMEOUT_MS);
      await listHas(page, ["pale-0", "pale-1", "pale-2"]);
    });
  });

  test("archive, disable and duplicate a link by its menu, and undo that", async () => {
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
      const one = await client.links.lookUp({ alias: "menu-one" });
      await choose(page, "menu-one", "Archive");
      await page.getByText("1 link archived.").waitFor();
      await listHas(page, ["menu-two"]);
      // The row that had the focus is gone; the focus is not.
      expect(await page.evaluate("document.activeElement.tagName")).not.toBe("BODY");
      expect(await client.links.get(one.id)).toMatchObject({ archived: true });
      await page.getByRole("button", { name: "Undo" }).click();
      await listHas(page, ["menu-one", "menu-two"]);
      expect(await client.links.get(one.id)).not.toHaveProperty("archived");

      await choose(page, "menu-one", "Disable");
      await rowOf(page, "menu-one").getByText("Disabled", { exact: true }).waitFor();
      await choose(page, "menu-one", "Enable");
      await rowOf(page, "menu-one")
        .getByText("Disabled", { exact: true })
        .waitFor({ state: "detached" });

      await choose(page, "menu-one", "Duplicate");
      const dialog = page.getByRole("dialog", { name: "New link" });
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
      await tags.getByLabel("Add", { exact: true }).fill("new, fresh");
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

  test("are deleted after a question, and each that is not is named with the reason", async () => {
    await visitList(plain("gone", 3), async (page, client) => {
      await admin(stack, ["links", "disable", "--alias", "gone-1"]);
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

  test("stay as they are when the service cannot be reached, and that is said", async () => {
    await visitList(plain("away", 2), async (page, client) => {
      await page.route("**/v1/links/bulk", (route) => route.abort());
      await selectAll(page).check();
      await bulk(page, "Archive").click();
      await page.getByText("The service cannot be reached.").waitFor();
      await page.getByText("2 selected").waitFor();
      expect(await Array.fromAsync(client.links.all())).toHaveLength(2);
      await page.unroute("**/v1/links/bulk");
      await bulk(page, "Archive").click();
      await page.getByText("No links yet").waitFor();
    });
  });
});

withBrowser("the page of a link", () => {
  test("has its tags, its QR code and its form", async () => {
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
      await edit.and(page.locator(":focus")).waitFor();
      expect((await client.links.lookUp({ alias: "page-one" })).title).toBe("Renamed");
      await page.getByRole("link", { name: "a&b" }).click();
      await listHas(page, ["page-one"]);
      expect(paramsOf(page).get("tag")).toBe("a&b");
    });
  });
});
