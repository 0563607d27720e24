/**
 * Goal: users can question their clicks in the dashboard. Method: a real browser on a real stack;
 * what the page shows is compared with the API's responses.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Browser, Page } from "playwright-core";
import * as z from "zod";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { chromiumPath, openBrowser, openSignIn, signInOnPage } from "../harness/browser.ts";
import { createUser } from "../harness/dashboard.ts";
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
const WINDOWS =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

/** A tag that URLs and routers are likely to change. */
const ODD_TAG = "50% off/now, -&= ü";

/** Clicks by user agent, address and campaign. */
const CLICKS: readonly (readonly [string, string, string])[] = [
  [IPHONE, "8.8.8.8", "letter"],
  [IPHONE, "81.2.69.142", "letter"],
  [IPHONE, "81.2.69.142", "100%25"],
  [WINDOWS, "8.8.8.8", "letter"],
  [WINDOWS, "200.160.2.3", "100%25"],
  [WINDOWS, "81.2.69.142", ""],
];

const timesSchema = z.object({ heatmap: z.array(z.array(z.int())) });

const withBrowser = describe.skipIf(chromiumPath === undefined);

let stack: SharedStack;
let browser: Browser;
/** Tests that change something have an account of their own. */
let seeded: Seeded;

/** Creates an account with two links, which have the clicks, and waits until these are counted. */
async function seed() {
  const { id: account, key } = await createAccount(stack, "enterprise", UNLIMITED);
  const client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
  const urls: string[] = [];
  for (const tags of [[ODD_TAG, "both"], ["both"]]) {
    const link = await client.links.create({ url: "https://example.com/", tags });
    urls.push(link.short_url);
    for (const click of CLICKS) await visit(link.short_url, click);
  }
  await eventually(async () => {
    const { summary } = await client.analytics.account({ period: "24h" });
    expect(summary.total_clicks).toBe(2 * CLICKS.length);
  }, TIMEOUT_MS);
  return { account, key, client, urls, user: await createUser(stack, account) };
}

type Seeded = Awaited<ReturnType<typeof seed>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  stack = await useStack();
  browser = await openBrowser();
  seeded = await seed();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
});

async function visit(url: string, [agent, address, campaign]: (typeof CLICKS)[number]) {
  const query = campaign === "" ? "" : `?utm_campaign=${campaign}`;
  const headers = { "user-agent": agent, "x-forwarded-for": address };
  const { status } = await fetch(url + query, { redirect: "manual", headers });
  expect(status).toBe(302);
}

/** Runs the steps in a new browser context; fails on console errors. */
async function signedIn(
  path: string,
  steps: (page: Page) => Promise<void>,
  { user, account } = seeded,
): Promise<void> {
  const { page, consoleErrors } = await openSignIn(browser, stack);
  await signInOnPage(page, user);
  await page.goto(`/${account}/live${path}`);
  await steps(page);
  expect(consoleErrors).toEqual([]);
  await page.context().close();
}

/** Opens the view "Phones" as somebody who may not change it. */
async function openSavedView(page: Page): Promise<void> {
  await waitForTotal(page, 12);
  await page.getByRole("button", { name: "Views", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Saved views" });
  await dialog.getByRole("button", { name: "Phones", exact: true }).click();
  await waitForTotal(page, 6);
  const params = new URL(page.url()).searchParams;
  expect(Object.fromEntries(params)).toEqual({
    timezone: "UTC",
    device: "mobile",
    period: "7d",
    compare: "none",
  });
  await page.getByRole("button", { name: "Views", exact: true }).click();
  await dialog.getByRole("button", { name: "Phones", exact: true }).waitFor();
  expect(await dialog.getByRole("button", { name: "Delete the view Phones" }).count()).toBe(0);
  expect(await dialog.getByRole("button", { name: "Save view" }).count()).toBe(0);
}

const readTotal = async (page: Page): Promise<number> =>
  Number(await page.locator("[data-stat=total_clicks] .stat-value").textContent());

const waitForTotal = (page: Page, total: number) =>
  page
    .locator("[aria-busy=false] [data-stat=total_clicks] .stat-value")
    .getByText(String(total), { exact: true })
    .waitFor();

/** The values of a list with their clicks. */
/** Time until the page shows what it has requested. */
const SHOWN_MS = 10_000;

const readList = (page: Page, label: string) =>
  page
    .getByRole("list", { name: label, exact: true })
    .locator("li")
    .evaluateAll((all) =>
      all.map((row) => [
        row.querySelector(".breakdown-name")?.firstChild?.textContent,
        Number(row.querySelector(".breakdown-clicks")?.textContent),
      ]),
    );

const choose = (page: Page, list: string, value: string) =>
  page.getByRole("list", { name: list, exact: true }).getByRole("button", { name: value }).click();

withBrowser("the analytics of the dashboard", () => {
  test("name links without a request for each", async () => {
    const aliases = seeded.urls.map((url) => new URL(url).pathname.slice(1));
    await signedIn("/analytics?timezone=UTC", async (page) => {
      const asked: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      await page.reload();
      const list = page.getByRole("list", { name: "Links", exact: true });
      for (const alias of aliases) await list.getByRole("link", { name: alias }).waitFor();
      await page.getByRole("button", { name: "All links" }).click();
      const table = page.getByRole("dialog").getByRole("table", { name: "Values" });
      for (const alias of aliases) await table.getByRole("link", { name: alias }).waitFor();
      expect(asked.some((path) => path.endsWith("/analytics/breakdown"))).toBe(true);
      expect(asked.filter((path) => path.includes("/links/"))).toEqual([]);
    });
  });

  test("filter everything by a click on a value; the filters are in the URL and can be reversed and removed", async () => {
    await signedIn("/analytics?timezone=UTC", async (page) => {
      await waitForTotal(page, 12);
      await choose(page, "Devices", "Mobile");
      await waitForTotal(page, 6);
      expect(new URL(page.url()).searchParams.getAll("device")).toEqual(["mobile"]);
      await page.getByRole("button", { name: "Campaigns", exact: true }).click();
      await choose(page, "Campaigns", "100%");
      await waitForTotal(page, 2);
      const expected = await seeded.client.analytics.account({
        period: "30d",
        device: "mobile",
        utm_campaign: "100%",
      });
      expect(await readTotal(page)).toBe(expected.summary.total_clicks);

      // The URL alone restores the view.
      await page.reload();
      await waitForTotal(page, 2);
      const filters = page.getByRole("group", { name: "Filters" });
      await filters.getByText("UTM campaign").waitFor();

      await filters.getByRole("button", { name: "Device is Mobile: reverse" }).click();
      await waitForTotal(page, 2);
      expect(new URL(page.url()).searchParams.getAll("device")).toEqual(["-mobile"]);
      // Each card is answered on its own.
      const devices = page.getByRole("list", { name: "Devices", exact: true });
      await devices.getByText("Desktop").waitFor();
      await eventually(
        async () => expect(await readList(page, "Devices")).toEqual([["Desktop", 2]]),
        SHOWN_MS,
      );
      await filters.getByRole("button", { name: "Remove filter UTM campaign 100%" }).click();
      await waitForTotal(page, 6);
      await filters.getByRole("button", { name: "Remove filter Device Mobile" }).click();
      await waitForTotal(page, 12);
      await page.goBack();
      await waitForTotal(page, 6);
    });
  });

  test("take several values of one kind for alternatives, and a second click undoes the first", async () => {
    await signedIn("/analytics?timezone=UTC", async (page) => {
      await waitForTotal(page, 12);
      const [first] = await eventually(async () => {
        const countries = (await readList(page, "Countries")) as [string, number][];
        expect(countries.length).toBeGreaterThan(1);
        return countries as [[string, number], ...unknown[]];
      }, SHOWN_MS);
      await choose(page, "Countries", first[0]);
      await waitForTotal(page, first[1]);
      // In a country the list is of its regions; the map and the other cards are filtered as well.
      await page.getByRole("list", { name: "Regions" }).waitFor();
      await page.getByRole("button", { name: "Countries", exact: true }).click();
      await choose(page, "Countries", first[0]);
      await waitForTotal(page, 12);
      await page.locator(`.country.shade-5`).first().click();
      await page.getByRole("group", { name: "Filters" }).getByText("Country").waitFor();
    });
  });

  test("compare with the period before, the year before, or nothing", async () => {
    await signedIn("/analytics?timezone=UTC&period=7d", async (page) => {
      await waitForTotal(page, 12);
      await page.getByText("Clicks before").waitFor();
      expect(await page.locator(".line-earlier").getAttribute("d")).toStartWith("M");
      await page.getByRole("button", { name: "Show as table" }).click();
      const table = page.getByRole("table", { name: "Clicks over time" });
      await table.getByRole("columnheader", { name: "Before" }).waitFor();
      await page.getByLabel("Compare with").selectOption("none");
      await table.getByRole("columnheader", { name: "Before" }).waitFor({ state: "detached" });
      expect(new URL(page.url()).searchParams.get("compare")).toBe("none");
      await page.getByRole("button", { name: "All time" }).click();
      await waitForTotal(page, 12);
      expect(await page.getByLabel("Compare with").count()).toBe(0);
    });
  });

  test("draw today's segment dotted, and show periods of the calendar", async () => {
    await signedIn("/analytics?timezone=UTC&period=7d", async (page) => {
      await waitForTotal(page, 12);
      expect(await page.locator(".line-clicks.line-unfinished").getAttribute("d")).toStartWith("M");
      await page.getByRole("button", { name: "Show as table" }).click();
      const days = page.getByRole("table", { name: "Clicks over time" }).getByRole("rowheader");
      await days.last().getByText("(so far)").waitFor();
      const period = page.getByLabel("Calendar period");
      await period.selectOption("yesterday");
      await waitForTotal(page, 0);
      await period.selectOption("this-year");
      await waitForTotal(page, 12);
      expect(new URL(page.url()).searchParams.get("period")).toBe("this-year");
      await days.first().getByText("Jan 1", { exact: true }).waitFor();
      await days.last().getByText("(so far)").waitFor();
    });
  });

  test("show the clicks by weekday and hour, as the API counts them", async () => {
    const { heatmap } = timesSchema.parse(
      (
        await call(`${stack.info().api_url}/v1/analytics/times?timezone=Asia/Kathmandu`, {
          key: seeded.key,
        })
      ).body,
    );
    await signedIn("/analytics?timezone=Asia/Kathmandu", async (page) => {
      const cells = page.getByRole("table", { name: "Clicks by weekday and hour" });
      await cells.waitFor();
      const shown = await cells
        .locator(".heat")
        .evaluateAll((all) => all.map((cell) => Number(cell.textContent)));
      expect(shown).toEqual(heatmap.flat());
    });
  });

  test("show all values of a dimension, searched, combined with another one, and saved as they are shown", async () => {
    await signedIn("/analytics?timezone=UTC", async (page) => {
      await page.getByRole("button", { name: "All devices" }).click();
      const dialog = page.getByRole("dialog", { name: "Device" });
      await dialog.getByText("2 values").waitFor();
      await dialog.getByLabel("And by").selectOption("utm_campaign");
      const both = page.getByRole("dialog", { name: "Device and UTM campaign" });
      await both.getByText("5 values").waitFor();
      await both.getByLabel("Search").fill("letter");
      await both.getByText("2 values").waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        both.getByRole("button", { name: "Save as CSV" }).click(),
      ]);
      const lines = readFileSync(await download.path(), "utf8")
        .trim()
        .split(/\r?\n/);
      expect(lines).toEqual([
        "device,utm_campaign,clicks,unique_clicks,percentage",
        expect.stringMatching(/^mobile,letter,4,/),
        expect.stringMatching(/^desktop,letter,2,/),
      ]);
      await both.getByRole("button", { name: "Mobile" }).first().click();
      await page.keyboard.press("Escape");
      await waitForTotal(page, 6);
    });
  });

  test("have a page for each tag and domain; tags can be renamed", async () => {
    const own = await seed();
    const [first = "", second = ""] = own.urls.map((url) => new URL(url).pathname);
    const steps = async (page: Page) => {
      const table = page.getByRole("table", { name: "Tags" });
      await table.getByRole("row").filter({ hasText: "both" }).getByText("12").waitFor();
      await table.getByRole("link", { name: ODD_TAG }).click();
      await page.getByRole("heading", { level: 1, name: ODD_TAG }).waitFor();
      await waitForTotal(page, 6);
      await page.getByRole("link", { name: first }).waitFor();
      expect(await page.getByRole("link", { name: second }).count()).toBe(0);
      await page.reload();
      await waitForTotal(page, 6);
      await page.getByRole("link", { name: "Show its links" }).click();
      await page.getByText("1 link", { exact: true }).waitFor();

      const host = new URL(stack.info().short_url).hostname;
      await page.goto(`/${own.account}/live/domains/${host}?timezone=UTC`);
      await waitForTotal(page, 12);

      await page.goto(`/${own.account}/live/tags?timezone=UTC`);
      await page.getByRole("button", { name: "Edit both" }).click();
      await page.getByLabel("Name", { exact: true }).fill("renamed");
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByText("2 links changed.").waitFor();
      await table.getByRole("link", { name: "renamed" }).waitFor();
      const ofPeriod = page.getByRole("table", { name: "Clicks by tag" });
      await ofPeriod.getByRole("row").filter({ hasText: "renamed" }).getByText("12").waitFor();
    };
    await signedIn("/tags?timezone=UTC", steps, own);
  });

  test("show what did not work, by reason and by link", async () => {
    const own = await seed();
    const { id, short_url } = await own.client.links.create({ url: "https://example.com/" });
    await own.client.links.update(id, { disabled: true });
    // A HEAD request is not counted.
    await eventually(
      async () => expect((await fetch(short_url, { method: "HEAD" })).status).toBe(404),
      TIMEOUT_MS,
    );
    for (let i = 0; i < 3; i++)
      expect((await fetch(short_url, { redirect: "manual" })).status).toBe(404);
    await eventually(async () => {
      const { summary } = await own.client.analytics.failures();
      expect(summary).toMatchObject({ total: 3, disabled: 3 });
    }, TIMEOUT_MS);
    const steps = async (page: Page) => {
      const reasons = page.getByRole("list", { name: "Reasons", exact: true });
      await reasons.getByText("Disabled link").waitFor();
      await eventually(
        async () => expect(await readList(page, "Reasons")).toEqual([["Disabled link", 3]]),
        SHOWN_MS,
      );
      const tabs = page.getByRole("group", { name: "What did not work by" });
      await tabs.getByRole("button", { name: "Unknown aliases" }).click();
      await page.getByText("None in this period.").waitFor();
      await tabs.getByRole("button", { name: "Over time" }).click();
      const table = page.getByRole("table", { name: "What did not work over time" });
      await eventually(
        async () => expect(await table.locator("tbody tr").count()).toBe(1),
        SHOWN_MS,
      );
      await tabs.getByRole("button", { name: "Links" }).click();
      const links = page.getByRole("list", { name: "Links that failed" });
      await links.getByRole("link", { name: new URL(short_url).pathname }).click();
      await reasons.getByText("Disabled link").waitFor();
      expect(await tabs.getByRole("button", { name: "Unknown aliases" }).count()).toBe(0);
      // Of another link.
      await page.goto(`/${own.account}/live/tags/both`);
      await waitForTotal(page, 12);
      expect(await tabs.count()).toBe(0);
    };
    await signedIn("/analytics?timezone=UTC", steps, own);
  });

  test("are shared by a URL that is shown once, with a password, an expiry and chosen breakdowns, until it is revoked", async () => {
    const own = await seed();
    await own.client.shares.create({ name: "Of the account" });
    const [link] = await Array.fromAsync(own.client.links.all());
    const password = "correct horse battery";
    const steps = async (page: Page) => {
      await page.getByRole("button", { name: "Share", exact: true }).click();
      const list = page.getByRole("dialog", { name: "Shared statistics" });
      await list.getByText("Not shared yet").waitFor();
      await list.getByRole("button", { name: "New share" }).click();
      const form = page.getByRole("dialog", { name: "New share" });
      await form.getByLabel("Name").fill("For the customer");
      await form.getByLabel("Referrer", { exact: true }).uncheck();
      await form.getByLabel("UTM campaign").check();
      await form.getByLabel("Password").fill("short");
      await form.getByText("At least 8 characters").waitFor();
      await form.getByLabel("Password").fill(password);
      await form.getByLabel("Expires").fill("2099-01-01T12:00");
      await form.getByText("Embedding").click();
      await form.getByLabel("Sites that may embed").fill("https://www.example.com/path");
      await form.getByText("Must be an origin").waitFor();
      await form.getByLabel("Sites that may embed").fill("https://www.example.com");
      await form.getByRole("button", { name: "Create share" }).click();

      const created = page.getByRole("dialog", { name: "Your new share" });
      const url = (await created.getByTestId("share-url").textContent()) ?? "";
      expect(url).toMatch(/^http.*\/shared\/[\w-]{43}$/);
      expect(await created.getByTestId("embed-code").textContent()).toStartWith(
        `<iframe src="${url}"`,
      );
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await created.getByRole("button", { name: "Copy URL" }).click();
      await page.getByText("Copied.").waitFor();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(url);
      await created.getByRole("button", { name: "I have saved it" }).click();

      // That of the account is not among those of the link.
      const row = list.getByRole("row").filter({ hasText: "For the customer" });
      await row.getByText("Clicks, Country, Device, UTM campaign").waitFor();
      await row.getByText("With a password, until Jan 1, 2099").waitFor();
      expect(await list.getByRole("row").count()).toBe(2);

      const reader = await browser.newPage();
      await reader.goto(url);
      await reader.getByLabel("Password").fill(password);
      await reader.keyboard.press("Enter");
      await reader.getByRole("heading", { name: "For the customer" }).waitFor();

      await row.getByRole("button", { name: "Revoke For the customer" }).click();
      await page
        .getByRole("dialog", { name: "Revoke this share?" })
        .getByRole("button", { name: "Revoke" })
        .click();
      await list.getByText("Not shared yet").waitFor();
      expect((await reader.goto(url))?.status()).toBe(404);
      await reader.close();
    };
    await signedIn(`/links/${link?.id}?timezone=UTC`, steps, own);
  });

  test("are saved as views of filters, period and comparison, for everyone in the account", async () => {
    const viewer = await createUser(stack, seeded.account, "viewer");
    await signedIn("/analytics?timezone=UTC&device=mobile&period=7d&compare=none", async (page) => {
      await waitForTotal(page, 6);
      await page.getByRole("button", { name: "Views", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Saved views" });
      await dialog.getByRole("button", { name: "Save view" }).click();
      await dialog.getByText("Required").waitFor();
      await dialog.getByLabel("Name").fill("Phones");
      await dialog.getByRole("button", { name: "Save view" }).click();
      await page.getByText("The view has been saved.").waitFor();
      await dialog.getByRole("button", { name: "Phones", exact: true }).waitFor();
    });
    await signedIn("/analytics?timezone=UTC", openSavedView, { ...seeded, user: viewer });
    await signedIn("/analytics?timezone=UTC", async (page) => {
      const dialog = page.getByRole("dialog", { name: "Saved views" });
      const phones = dialog.getByRole("button", { name: "Phones", exact: true });
      await page.getByRole("button", { name: "Views", exact: true }).click();
      await dialog.getByRole("button", { name: "Delete the view Phones" }).click();
      await phones.waitFor({ state: "detached" });
      // In the open dialog: the page behind it is inert.
      await page.getByRole("button", { name: "Undo" }).click();
      await phones.waitFor();
      await dialog.getByRole("button", { name: "Delete the view Phones" }).click();
      await phones.waitFor({ state: "detached" });
      await page.reload();
      await page.getByRole("button", { name: "Views", exact: true }).click();
      await dialog.getByLabel("Name").waitFor();
      expect(await dialog.getByRole("list").count()).toBe(0);
    });
  });

  test("show the clicks of the whole account as they happen", async () => {
    const own = await seed();
    const [, url = ""] = own.urls;
    const steps = async (page: Page) => {
      const total = page.locator("[data-stat=total_clicks] .stat-value");
      await total.getByText("12", { exact: true }).waitFor();
      await visit(url, [IPHONE, "1.1.1.1", ""]);
      await total.getByText("13", { exact: true }).waitFor();
      await page.locator(".live-list li").first().getByText(new URL(url).pathname).waitFor();
      // The list is asked for on its own.
      await page.locator(".live-list li").nth(12).waitFor();
      expect(await page.locator(".live-list li").count()).toBe(13);
    };
    await signedIn("/live", steps, own);
  });
});
