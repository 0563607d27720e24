/**
 * Goal: users can do with the dashboard what it is for. Method: a real browser on a real stack,
 * operated as people do: by labels, names and keys.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Browser, Page } from "playwright-core";
import * as z from "zod";

import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, type NewAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const UNLIMITED = {
  minute: 100_000,
  burst: 100_000,
  endpoints: { "POST /v1/links": 100_000, "GET /v1/analytics/*": 100_000 },
};
const TIMEOUT_MS = 20_000;

const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1";

const withBrowser = describe.skipIf(chromiumPath === undefined);

let dns: Dns;
let stack: SharedStack;
let browser: Browser;
let account: NewAccount;
let owner: TestUser;
let client: Client;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  dns = await startDns();
  stack = await useStack({ dns });
  account = await createAccount(stack, "enterprise", UNLIMITED);
  owner = await createUser(stack, account.id);
  client = createClient({ baseUrl: stack.info().api_url, apiKey: account.key });
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

/** Creates a user with a new, empty account. */
async function createEmptyAccount() {
  const own = await createAccount(stack, "enterprise", UNLIMITED);
  return { own, user: await createUser(stack, own.id) };
}

/** Runs the steps in a new browser context as a signed-in user; fails on console errors. */
async function runAs(user: TestUser, steps: (page: Page) => Promise<void>): Promise<void> {
  const { page, consoleErrors } = await openSignIn(browser, stack);
  await signInOnPage(page, user);
  await steps(page);
  expect(consoleErrors).toEqual([]);
  await page.context().close();
}

const goTo = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Main" }).getByRole("link", { name, exact: true }).click();

const findRow = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

async function chooseAction(page: Page, row: string, action: string): Promise<void> {
  await findRow(page, row).getByRole("button", { name: "Actions for" }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

const follow = async (alias: string) => {
  const response = await fetch(`${stack.info().short_url}/${alias}`, { redirect: "manual" });
  return [response.status, response.headers.get("location")];
};

/** Returns the status of a request with the key. */
const tryKey = async (key: string): Promise<number> =>
  (await call(`${stack.info().api_url}/v1/links`, { key })).status;

withBrowser("the dashboard", () => {
  test("rejects a wrong password, and shows nothing of the account after signing out", async () => {
    const { page } = await openSignIn(browser, stack);
    await page.getByLabel("E-mail address").fill(owner.email);
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText("The e-mail address or the password is wrong.")
      .waitFor();
    expect(await page.getByLabel("Password").inputValue()).toBe("");
    await signInOnPage(page, owner);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    // Going back does not show the account either.
    await page.goBack().catch(() => null);
    await page.goto(`/${account.id}/live/links`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.context().close();
  });

  test("creates a link with validation while typing, changes it and deletes it", async () => {
    const { user } = await createEmptyAccount();
    await runAs(user, async (page) => {
      await page.getByText("No links yet").waitFor();
      await page.getByRole("button", { name: "New link" }).click();
      const dialog = page.getByRole("dialog", { name: "New link" });
      await dialog.locator("input:focus").and(dialog.getByLabel("Destination")).waitFor();
      await dialog.getByLabel("Destination").fill("ftp://example.com");
      await dialog.getByText("The URL must be an http or https URL.").waitFor();
      await dialog.getByLabel("Destination").fill("https://example.com/first");
      await dialog.getByLabel("Alias").fill("-no");
      await dialog.getByText("An alias has 1 to 64 characters").waitFor();
      await dialog.getByLabel("Alias").fill("settings");
      await dialog.getByText("is reserved").waitFor();
      await dialog.getByLabel("Alias").fill("dash-first");
      await dialog.getByLabel("Title", { exact: true }).fill("The first");
      await dialog.getByLabel("Tags").fill("red, blue, red");
      await dialog.getByText("UTM parameters").click();
      await dialog.getByLabel("Source").fill("letter");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await findRow(page, "The first").waitFor();
      expect(await follow("dash-first")).toEqual([
        302,
        "https://example.com/first?utm_source=letter",
      ]);

      // Taken: the API's error is shown at its field.
      await page.getByRole("button", { name: "New link" }).click();
      await dialog.getByLabel("Destination").fill("https://example.com/second");
      await dialog.getByLabel("Alias").fill("dash-first");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await dialog.getByText('The alias "dash-first" is already in use.').waitFor();
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
      expect(await follow("dash-first")).toEqual([302, "https://example.com/changed"]);

      await chooseAction(page, "The first", "Delete");
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("No links yet").waitFor();
      expect((await follow("dash-first"))[0]).toBe(404);
    });
  });

  test("keeps the actions of a long form in view", async () => {
    await runAs(owner, async (page) => {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.getByRole("button", { name: "New link" }).click();
      const dialog = page.getByRole("dialog", { name: "New link" });
      for (const title of ["Schedule and state", "Password, query and path", "UTM parameters"]) {
        await dialog.getByText(title, { exact: true }).click();
      }
      const action = await dialog.getByRole("button", { name: "Create link" }).boundingBox();
      expect((action?.y ?? 0) + (action?.height ?? 0)).toBeLessThan(800);
      const last = dialog.getByLabel("Content");
      await last.scrollIntoViewIfNeeded();
      await last.fill("not covered by the actions");
    });
  });

  test("sets and removes a link's expiry and password", async () => {
    await runAs(owner, async (page) => {
      await page.getByRole("button", { name: "New link" }).click();
      const dialog = page.getByRole("dialog", { name: "New link" });
      await dialog.getByLabel("Destination").fill("https://example.com/guarded");
      await dialog.getByLabel("Alias").fill("dash-guarded");
      await dialog.getByText("Schedule and state").click();
      await dialog.getByText("Password, query and path").click();
      await dialog.getByLabel("Expires").fill("2020-01-01T00:00");
      await dialog.getByText("Must be in the future").waitFor();
      await dialog.getByLabel("Expires").fill("2099-01-01T00:00");
      await dialog.getByLabel("Password").fill("a secret");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await findRow(page, "dash-guarded").getByText("Until Jan 1, 2099").waitFor();
      expect((await follow("dash-guarded"))[0]).toBe(401);
      await chooseAction(page, "dash-guarded", "Edit");
      const edit = page.getByRole("dialog", { name: "Edit link" });
      await edit.getByText("Schedule and state").click();
      await edit.getByText("Password, query and path").click();
      await edit.getByLabel("Remove password").check();
      await edit.getByLabel("Expires").fill("");
      await edit.getByRole("button", { name: "Save" }).click();
      await edit.waitFor({ state: "detached" });
      expect((await follow("dash-guarded"))[0]).toBe(302);
      const { data } = await client.links.list({ search: "dash-guarded" });
      expect(data.map(({ expires_at }) => expires_at)).toEqual([null]);
    });
  });

  test("keeps search, sorting and page of the links in the URL, which can be shared", async () => {
    const { own, user } = await createEmptyAccount();
    const ownClient = createClient({ baseUrl: stack.info().api_url, apiKey: own.key });
    await ownClient.links.createMany(
      Array.from({ length: 45 }, (_, i) => ({
        url: `https://example.com/${i}`,
        alias: `paged-${i}`,
        title: i % 9 === 0 ? `Needle ${i}` : `Straw ${i}`,
        tags: i % 15 === 0 ? ["rare"] : [],
      })),
    );
    await runAs(user, async (page) => {
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
      await ownClient.links.create({ url: "https://example.com/meanwhile", alias: "meanwhile" });
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

      await page.goto(`/${own.id}/live/links?tag=rare`);
      await page.getByText("3 links").waitFor();
      await page.getByRole("button", { name: "Clear tag filter" }).click();
      await page.getByText("Page 1").waitFor();
      await page.getByRole("button", { name: "Created" }).click();
      await page
        .getByRole("columnheader", { name: "Created" })
        .and(page.locator("[aria-sort=ascending]"))
        .waitFor();
      await page.goto(`/${own.id}/live/links?sort=nonsense&search=${"x".repeat(400)}`);
      await page.getByText("No matching links").waitFor();
    });
  });

  test("copies a short URL, and offers its QR code for download", async () => {
    await client.links.create({ url: "https://example.com/qr", alias: "dash-qr" });
    await runAs(owner, async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const row = findRow(page, "dash-qr");
      await row.getByRole("button", { name: "Copy" }).click();
      await page.getByText("Copied.").waitFor();
      const copied = await page.evaluate("navigator.clipboard.readText()");
      expect(copied).toBe(`${stack.info().short_url}/dash-qr`);
      await chooseAction(page, "dash-qr", "QR code");
      const image = page.getByRole("img", { name: "QR code of" });
      await eventually(async () => {
        const width = await image.evaluate((element) =>
          Number(Reflect.get(element, "naturalWidth")),
        );
        expect(width).toBeGreaterThan(0);
      }, TIMEOUT_MS);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "PNG" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("dash-qr.png");
      const png = readFileSync(await download.path());
      expect(png.subarray(1, 4).toString()).toBe("PNG");
    });
  });

  test("imports another shortener's file, reports the rejected rows, and exports all links", async () => {
    const { user } = await createEmptyAccount();
    const good = Array.from(
      { length: 230 },
      (_, i) => `imp-${i},https://example.com/i/${i},Title ${i}`,
    );
    const bad = ["imp-0,https://example.com/twice,", ",not a url,", "a b,https://example.com/x,"];
    const formula = "imp-formula,https://example.com/f,=HYPERLINK(1)";
    const csv = ["keyword,url,title", ...good, ...bad, formula].join("\r\n");
    await runAs(user, async (page) => {
      await page.getByRole("link", { name: "Import" }).click();
      await page.getByLabel("Choose a CSV file").setInputFiles({
        name: "yourls.csv",
        mimeType: "text/csv",
        buffer: Buffer.from(csv),
      });
      await page.getByText("The YOURLS export contains 234 rows").waitFor();
      await page.getByRole("button", { name: "Check 234 rows" }).click();
      await page.getByText("231 of 234 links can be imported. Nothing has").waitFor();
      await page.getByRole("button", { name: "Import 231 links" }).click();
      await page.getByText("231 links created, 3 not imported.").waitFor();
      const rejected = page.getByRole("table", { name: "Rows that are not imported" });
      await rejected.getByRole("row", { name: /^232 / }).getByText("also in row 2").waitFor();
      await rejected.getByRole("row", { name: /^233 / }).getByText("valid absolute URL").waitFor();
      const [report] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download these rows as CSV" }).click(),
      ]);
      expect(readFileSync(await report.path(), "utf8").split("\n")).toHaveLength(4);

      await page.getByRole("link", { name: "Back to links" }).click();
      await page.getByText("20 links on this page").waitFor();
      await page.getByRole("button", { name: "Export" }).click();
      const [exported] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export as CSV" }).click(),
      ]);
      const text = readFileSync(await exported.path(), "utf8");
      expect(text.trim().split("\n")).toHaveLength(232);
      // Escaped, so that a spreadsheet treats it as text.
      expect(text).toContain("'=HYPERLINK(1)");
    });
  });

  test("shows the same numbers as the API, compares them with the previous period, and shows clicks live", async () => {
    const link = await client.links.create({
      url: "https://example.com/counted",
      alias: "dash-counted",
      title: "Counted",
    });
    const click = (address: string) =>
      fetch(link.short_url, {
        redirect: "manual",
        headers: {
          "user-agent": IPHONE,
          "x-forwarded-for": address,
          referer: "https://news.ycombinator.com/",
        },
      });
    const addresses = ["8.8.8.8", "81.2.69.142", "200.160.2.3", "8.8.8.8"];
    for (const address of addresses) expect((await click(address)).status).toBe(302);
    await eventually(async () => {
      const { summary } = await client.analytics.summary(link.id, { period: "24h" });
      expect(summary.total_clicks).toBe(addresses.length);
    }, TIMEOUT_MS);

    await runAs(owner, async (page) => {
      await page.goto(`/${account.id}/live/links/${link.id}?period=7d&timezone=Asia/Kathmandu`);
      const statCard = (name: string) => page.locator(`[data-stat=${name}] .stat-value`);
      await statCard("total_clicks").waitFor();
      const query = { period: "7d", timezone: "Asia/Kathmandu" } as const;
      const compared = { ...query, compare: "previous" } as const;
      const summary = await client.analytics.summary(link.id, compared);
      expect(await statCard("total_clicks").textContent()).toBe(String(addresses.length));
      expect(await statCard("unique_clicks").textContent()).toBe(
        String(summary.summary.unique_clicks),
      );

      await page.getByRole("button", { name: "Show as table" }).click();
      const rows = await page
        .getByRole("table", { name: "Clicks over time" })
        .locator("tbody tr")
        .evaluateAll((all) =>
          all.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))),
        );
      const { comparison, clicks_over_time } = summary;
      expect(rows).toEqual(
        clicks_over_time.map(({ clicks, unique }, i) => [
          clicks,
          unique,
          comparison?.clicks_over_time[i]?.clicks ?? -1,
        ]),
      );

      const readBreakdown = (label: string) =>
        page
          .getByRole("list", { name: label })
          .locator("li")
          .evaluateAll((all) =>
            all.map((row) => [
              row.querySelector(".breakdown-name")?.textContent?.trim(),
              Number(row.querySelector(".breakdown-clicks")?.textContent),
            ]),
          );
      const geo = await client.analytics.geo(link.id, { ...query, group_by: "country" });
      const countries = z.array(z.object({ country_name: z.string(), clicks: z.int() }));
      expect(await readBreakdown("Countries")).toEqual(
        countries.parse(geo.data).map((row) => [row.country_name, row.clicks]),
      );
      await page.locator(".country.shade-5").first().waitFor();
      const cities = await client.analytics.geo(link.id, { ...query, group_by: "city" });
      await page.getByRole("button", { name: "Cities" }).click();
      await page.getByRole("list", { name: "Cities" }).waitFor();
      expect((await readBreakdown("Cities")).map(([, clicks]) => clicks)).toEqual(
        cities.data.map((row) => row.clicks),
      );
      expect(await readBreakdown("Devices")).toEqual([["Mobile", addresses.length]]);
      await page.getByRole("button", { name: "Systems" }).click();
      expect(await readBreakdown("Systems")).toEqual([["iOS", addresses.length]]);
      expect(await readBreakdown("Referrers")).toEqual([["ycombinator.com", addresses.length]]);

      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download referrers as CSV" }).click(),
      ]);
      expect(readFileSync(await download.path(), "utf8")).toContain(
        `ycombinator.com,${addresses.length}`,
      );

      await page.locator(".pulse-open").waitFor();
      for (let i = 0; i < 3; i++) await click("1.1.1.1");
      await page.getByTestId("live-count").getByText("3", { exact: true }).waitFor();

      await page.getByRole("button", { name: "24 hours" }).click();
      await statCard("total_clicks").getByText("7", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Custom" }).click();
      await page.getByLabel("From").fill("2020-01-01");
      await page.getByLabel("To", { exact: true }).fill("2020-01-31");
      await page.getByRole("button", { name: "Show", exact: true }).click();
      await statCard("total_clicks").getByText("0", { exact: true }).waitFor();
      await page.getByText("No clicks in this period.").first().waitFor();

      await goTo(page, "Analytics");
      const top = page.getByRole("list", { name: "Links" });
      await top.getByText("dash-counted").waitFor();
      const zone = { period: "30d", timezone: "Europe/Berlin" } as const;
      const all = await client.analytics.account(zone);
      expect(await statCard("total_clicks").textContent()).toBe(
        all.summary.total_clicks.toLocaleString("en"),
      );
      const allGeo = await client.analytics.accountGeo({ ...zone, group_by: "country" });
      await page.getByRole("list", { name: "Countries" }).waitFor();
      expect((await readBreakdown("Countries")).map(([, clicks]) => clicks)).toEqual(
        allGeo.data.map(({ clicks }) => clicks),
      );
    });
  });

  test("allows keyboard navigation through the chart, and announces its values", async () => {
    const { id } = await client.links.create({ url: "https://example.com/by-keys" });
    await runAs(owner, async (page) => {
      await page.goto(`/${account.id}/live/links/${id}?timezone=UTC`);
      const chart = page.getByRole("group", { name: "Clicks over time" });
      await chart.focus();
      await page.keyboard.press("ArrowLeft");
      await chart
        .getByRole("status")
        .getByText(/clicks, .* unique/)
        .waitFor();
    });
  });

  test("creates an API key that is shown once, rotates it and revokes it", async () => {
    await runAs(owner, async (page) => {
      await goTo(page, "API keys");
      await page.getByRole("button", { name: "New API key" }).click();
      const dialog = page.getByRole("dialog", { name: "New API key" });
      await dialog.getByRole("button", { name: "Create key" }).click();
      await dialog.getByText("Required").waitFor();
      await dialog.getByLabel("Name").fill("From the dashboard");
      await dialog.getByLabel("analytics:read").check();
      await dialog.getByRole("button", { name: "Create key" }).click();
      const value = (await page.getByTestId("new-key").textContent()) ?? "";
      expect(value).toMatch(/^sk_live_\w{61}$/);
      // Escape does not close the dialog with the key.
      await page.keyboard.press("Escape");
      await page.getByTestId("new-key").waitFor();
      expect(await tryKey(value)).toBe(200);
      await page.getByRole("button", { name: "I have saved it" }).click();
      await findRow(page, "From the dashboard").getByText("Active").waitFor();
      expect(await page.content()).not.toContain(value);
      await goTo(page, "Links");
      await goTo(page, "API keys");
      await findRow(page, "From the dashboard").getByText(value.slice(0, 12)).waitFor();
      expect(await page.content()).not.toContain(value);

      await chooseAction(page, "From the dashboard", "Rotate");
      await page.getByLabel("The old key").selectOption("0");
      await page.getByRole("button", { name: "Rotate" }).click();
      const next = (await page.getByTestId("new-key").textContent()) ?? "";
      await page.getByRole("button", { name: "I have saved it" }).click();
      expect([await tryKey(value), await tryKey(next)]).toEqual([403, 200]);
      await findRow(page, "Revoked").waitFor();

      await findRow(page, "Active")
        .filter({ hasText: "From the dashboard" })
        .getByRole("button")
        .click();
      await page.getByRole("menuitem", { name: "Revoke" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
      await page.getByText("The key has been revoked.").waitFor();
      expect(await tryKey(next)).toBe(403);
    });
  });

  test("separates test mode from live mode", async () => {
    const { user } = await createEmptyAccount();
    await runAs(user, async (page) => {
      await page.getByRole("button", { name: "Test", exact: true }).click();
      await page.getByText("Test mode: these links").waitFor();
      await page.getByText("No links yet").waitFor();
      await page.getByRole("button", { name: "New link" }).click();
      await page.getByLabel("Destination").fill("https://example.com/in-test");
      await page.getByRole("button", { name: "Create link" }).click();
      await page.getByText("https://example.com/in-test").waitFor();
      await page.getByRole("button", { name: "Live", exact: true }).click();
      await page.getByText("No links yet").waitFor();
    });
  });

  test("adds a domain, shows the DNS record it needs, verifies it, and does not remove it while it has links", async () => {
    const { user } = await createEmptyAccount();
    await runAs(user, async (page) => {
      await goTo(page, "Domains");
      await page.getByText("No domains yet").waitFor();
      await page.getByRole("button", { name: "Add domain" }).click();
      await page.getByLabel("Domain", { exact: true }).fill("not a domain");
      await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
      await page.getByRole("dialog").getByRole("alert").waitFor();
      await page.getByLabel("Domain", { exact: true }).fill("go.dashboard.example");
      await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
      const card = page.getByRole("region", { name: "go.dashboard.example" });
      await card.getByText("Pending").waitFor();
      await card.getByRole("button", { name: "Verify now" }).click();
      await card.getByRole("alert").waitFor();
      const [value = ""] = await card.locator("dd code").nth(1).allTextContents();
      dns.set("_shorthop.go.dashboard.example", [value]);
      await card.getByRole("button", { name: "Verify now" }).click();
      await card.getByText("Verified", { exact: true }).waitFor();

      await goTo(page, "Links");
      await page.getByRole("button", { name: "New link" }).click();
      await page.getByLabel("Destination").fill("https://example.com/on-domain");
      await page.getByLabel("Domain").selectOption("go.dashboard.example");
      await page.getByLabel("Alias").fill("here");
      await page.getByRole("button", { name: "Create link" }).click();
      await findRow(page, "go.dashboard.example").waitFor();

      await goTo(page, "Domains");
      await page.getByRole("button", { name: "Remove go.dashboard.example" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await page.getByRole("dialog").getByRole("alert").getByText("links").waitFor();
    });
  });

  test("shows limits and their use", async () => {
    const own = await createAccount(stack, "free");
    const user = await createUser(stack, own.id);
    for (let i = 0; i < 7; i++) await call(`${stack.info().api_url}/v1/links`, { key: own.key });
    await runAs(user, async (page) => {
      await goTo(page, "Usage");
      await page.getByRole("meter", { name: "Requests per day: 7 of 1,000 used" }).waitFor();
      await page.getByRole("meter", { name: "POST /v1/links: 0 of 100 used" }).waitFor();
      await page.getByRole("meter", { name: "API keys: 1 of 10 used" }).waitFor();
      await page.getByRole("meter", { name: "Links created per day: 0 of 2,400 used" }).waitFor();
    });
  });

  test("invites a user, who joins with a new password and sees what the role allows", async () => {
    let invitation = "";
    // A link to see, independent of other tests.
    await client.links.create({ url: "https://example.com/for-the-invited" });
    await runAs(owner, async (page) => {
      await goTo(page, "Members");
      await page.getByRole("button", { name: "Invite" }).click();
      await page.getByLabel("E-mail address").fill("invited@example.com");
      await page.getByLabel("Role", { exact: true }).selectOption("viewer");
      await page.getByRole("button", { name: "Create invitation" }).click();
      invitation = (await page.locator(".secret code").textContent()) ?? "";
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByText("invited@example.com").waitFor();
      expect(await page.content()).not.toContain(invitation);
    });
    const { page, consoleErrors } = await openSignIn(browser, stack);
    await page.goto(invitation);
    await page.getByText("as viewer").waitFor();
    await page.getByLabel("Your name").fill("Invited Person");
    await page.getByLabel("Choose a password").fill("short");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByText("Must have 10 characters at least").waitFor();
    await page.getByLabel("Choose a password").fill("long enough now");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
    await page.getByRole("table", { name: "Links" }).waitFor();
    expect(await page.getByRole("button", { name: "New link" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    await page.goto(`/${account.id}/live/settings/keys`);
    await page.getByText("API keys are for owners").waitFor();
    expect(consoleErrors).toEqual([]);
    await page.context().close();

    await runAs(owner, async (page) => {
      await goTo(page, "Members");
      await page.getByLabel("Role of Invited Person").selectOption("member");
      await page.getByText("The role has been changed.").waitFor();
      await page.getByRole("button", { name: "Remove Invited Person" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await findRow(page, "Invited Person").waitFor({ state: "detached" });
    });
  });

  test("changes the password, and signs out all sessions", async () => {
    const user = await createUser(stack, account.id);
    const elsewhere = await openSignIn(browser, stack);
    await signInOnPage(elsewhere.page, user);
    await runAs(user, async (page) => {
      await goTo(page, "Profile");
      await page.getByLabel("Current password").fill(user.password);
      await page.getByLabel("New password", { exact: true }).fill("another password");
      await page.getByLabel("Confirm new password").fill("another pasword");
      await page.getByRole("button", { name: "Change password" }).click();
      await page.getByText("The passwords do not match").waitFor();
      await page.getByLabel("Confirm new password").fill("another password");
      await page.getByRole("button", { name: "Change password" }).click();
      await page.getByText("The password has been changed").waitFor();
      // The other browser's next request leads to the sign-in page.
      await goTo(elsewhere.page, "Usage");
      await elsewhere.page.getByRole("heading", { name: "Sign in" }).waitFor();
      await page.getByRole("button", { name: "Sign out everywhere" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
    });
    await elsewhere.page.context().close();
  });

  test("escapes text from users and visitors", async () => {
    const evil = `"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const link = await client.links.create({
      url: `https://example.com/?q=${encodeURIComponent(evil)}`,
      alias: "dash-evil",
      title: evil,
      tags: [evil.slice(0, 50)],
    });
    await fetch(link.short_url, {
      redirect: "manual",
      headers: {
        "user-agent": `Mozilla/5.0 ${evil} Chrome/131.0.0.0`,
        referer: `https://evil.example/${evil}`,
      },
    });
    await runAs(owner, async (page) => {
      await page.getByText(evil, { exact: true }).first().waitFor();
      await page.goto(`/${account.id}/live/links/${link.id}?period=24h`);
      await page.getByRole("heading", { level: 1 }).getByText(evil).waitFor();
      await eventually(async () => {
        await page.reload();
        await page.locator("[data-stat=total_clicks]").waitFor();
        const text = await page.locator("[data-stat=total_clicks] .stat-value").textContent();
        const bots = await page.locator("[data-stat=bot_clicks] .stat-value").textContent();
        expect(Number(text) + Number(bots)).toBe(1);
      }, TIMEOUT_MS);
      for (const path of [
        `/${account.id}/live/links?search=${encodeURIComponent(evil)}`,
        `/${account.id}/live/links?tag=${encodeURIComponent(evil)}`,
        `/${account.id}/live/links/${encodeURIComponent(evil)}`,
        `/invite/${encodeURIComponent(evil)}`,
      ]) {
        await page.goto(path);
        await page.locator("main").waitFor();
        expect(await page.title()).not.toBe("owned");
        expect(await page.locator("img[src=x]").count()).toBe(0);
      }
      await page.goto(`/${account.id}/live/links`);
    });
  });

  test("reports an unreachable service, and continues when it is back", async () => {
    const { user } = await createEmptyAccount();
    const { page } = await openSignIn(browser, stack);
    await signInOnPage(page, user);
    await page.route("**/v1/domains**", (route) => route.abort());
    await goTo(page, "Domains");
    await page.getByRole("alert").getByText("The service cannot be reached.").waitFor();
    await page.unroute("**/v1/domains**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("No domains yet").waitFor();
    await page.context().close();
  });
});
