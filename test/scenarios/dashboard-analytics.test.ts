/**
 * Goal: users can question their clicks in the dashboard. Method: a real browser on a real stack;
 * what the page shows is compared with the API's responses.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Page } from "playwright-core";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { withPostgres } from "../harness/admin.ts";
import { insert } from "../harness/analytics-reference.ts";
import { call, IPHONE } from "../harness/api.ts";
import { DashboardBrowser, type TestAccount, withBrowser } from "../harness/dashboard-browser.ts";
import { goTo, paramsOf, readClipboard } from "../harness/dashboard-page.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";

const TIMEOUT_MS = 20_000;

/** A tag that URLs and routers are likely to change. */
const ODD_TAG = "50% off/now, -&= ü";

/** The clicks of each link, by device, country and campaign. */
const CLICKS = [
  ["mobile", "US", "letter"],
  ["mobile", "GB", "letter"],
  ["mobile", "GB", "100%"],
  ["desktop", "US", "letter"],
  ["desktop", "BR", "100%"],
  ["desktop", "GB", ""],
] as const;

const timesSchema = z.object({ heatmap: z.array(z.array(z.int())) });

type Seeded = TestAccount & { urls: string[] };

/** Creates an account with two links, which have the clicks. */
async function seed(): Promise<Seeded> {
  const account = await dashboard.addAccount();
  const host = new URL(dashboard.stack.info().short_url).hostname;
  const urls: string[] = [];
  const rows: object[] = [];
  for (const tags of [[ODD_TAG, "both"], ["both"]]) {
    const link = await account.client.links.create({ url: "https://example.com/", tags });
    urls.push(link.short_url);
    for (const [device, country, utm_campaign] of CLICKS)
      rows.push({
        ts: Date.now() - 60_000,
        link_id: decodeId("link", link.id),
        account_id: decodeId("acct", account.id),
        mode: "live",
        class: "human",
        visitor: 1 + (rows.length % 5),
        country,
        region: `${country}-1`,
        region_name: "Region",
        city: "City",
        browser: "Safari",
        os: "iOS",
        device,
        referrer: "direct",
        host,
        utm_campaign,
        journal_id: decodeId("acct", account.id),
        segment: 0,
        idx: rows.length,
      });
  }
  // The worker would have stored their number, of which lists of links and tags are made.
  await withPostgres(
    dashboard.stack,
    (sql) => sql`
      update link_counters set clicks = ${CLICKS.length}
       where link_id in (select id from links where account_id = ${decodeId("acct", account.id) ?? ""})`,
  );
  const lines = rows.map((row) => JSON.stringify(row)).join("\n");
  await insert(dashboard.stack, "INSERT INTO clicks FORMAT JSONEachRow", lines);
  return { ...account, urls };
}

const dashboard = await forFile(DashboardBrowser.open());
/** Tests that change something have an account of their own. */
const seeded = await seed();

/** Opens the view "Phones" as somebody who may not change it. */
async function openSavedView(page: Page): Promise<void> {
  await waitForTotal(page, 12);
  await page.getByRole("button", { name: "Views", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Saved views" });
  await dialog.getByRole("button", { name: "Phones", exact: true }).click();
  await waitForTotal(page, 6);
  const params = paramsOf(page);
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
    await dashboard.visit(seeded, "/analytics?timezone=UTC", async (page) => {
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
    await dashboard.visit(seeded, "/analytics?timezone=UTC", async (page) => {
      await waitForTotal(page, 12);
      await choose(page, "Devices", "Mobile");
      await waitForTotal(page, 6);
      expect(paramsOf(page).getAll("device")).toEqual(["mobile"]);
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
      expect(paramsOf(page).getAll("device")).toEqual(["-mobile"]);
      // Each card is answered on its own.
      const devices = page.getByRole("list", { name: "Devices", exact: true });
      await devices.getByText("Desktop").waitFor();
      await eventually(async () =>
        expect(await readList(page, "Devices")).toEqual([["Desktop", 2]]),
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
    await dashboard.visit(seeded, "/analytics?timezone=UTC", async (page) => {
      await waitForTotal(page, 12);
      const [first] = await eventually(async () => {
        const countries = (await readList(page, "Countries")) as [string, number][];
        expect(countries.length).toBeGreaterThan(1);
        return countries as [[string, number], ...unknown[]];
      });
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
    await dashboard.visit(seeded, "/analytics?timezone=UTC&period=7d", async (page) => {
      await waitForTotal(page, 12);
      await page.getByText("Clicks before").waitFor();
      expect(await page.locator(".line-earlier").getAttribute("d")).toStartWith("M");
      await page.getByRole("button", { name: "Show as table" }).click();
      const table = page.getByRole("table", { name: "Clicks over time" });
      await table.getByRole("columnheader", { name: "Before" }).waitFor();
      await page.getByLabel("Compare with").selectOption("none");
      await table.getByRole("columnheader", { name: "Before" }).waitFor({ state: "detached" });
      expect(paramsOf(page).get("compare")).toBe("none");
      await page.getByRole("button", { name: "All time" }).click();
      await waitForTotal(page, 12);
      expect(await page.getByLabel("Compare with").count()).toBe(0);
    });
  });

  test("draw today's segment dotted, and show periods of the calendar", async () => {
    await dashboard.visit(seeded, "/analytics?timezone=UTC&period=7d", async (page) => {
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
      expect(paramsOf(page).get("period")).toBe("this-year");
      await days.first().getByText("Jan 1", { exact: true }).waitFor();
      await days.last().getByText("(so far)").waitFor();
    });
  });

  test("show the clicks by weekday and hour, as the API counts them", async () => {
    const { heatmap } = timesSchema.parse(
      (
        await call(`${dashboard.stack.info().api_url}/v1/analytics/times?timezone=Asia/Kathmandu`, {
          key: seeded.key,
        })
      ).body,
    );
    await dashboard.visit(seeded, "/analytics?timezone=Asia/Kathmandu", async (page) => {
      const cells = page.getByRole("table", { name: "Clicks by weekday and hour" });
      await cells.waitFor();
      const shown = await cells
        .locator(".heat")
        .evaluateAll((all) => all.map((cell) => Number(cell.textContent)));
      expect(shown).toEqual(heatmap.flat());
    });
  });

  test("show all values of a dimension, searched, combined with another one, and saved as they are shown", async () => {
    await dashboard.visit(seeded, "/analytics?timezone=UTC", async (page) => {
      await page.getByRole("button", { name: "All devices" }).click();
      const dialog = page.getByRole("dialog", { name: "Device" });
      await dialog.getByText("2 values").waitFor();
      await dialog.getByLabel("And by").selectOption("utm_campaign");
      const both = page.getByRole("dialog", { name: "Device and UTM campaign" });
      await both.getByText("5 values").waitFor();
      await both.getByLabel("Search").fill("letter");
      await both.getByText("2 values").waitFor();
      await page.route("**/*.js", (route) => route.abort("internetdisconnected"));
      await both.getByRole("button", { name: "Save as CSV" }).click();
      await page.getByText("The service cannot be reached.").waitFor();
      await page.unroute("**/*.js");
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

  test("show the same numbers as the API, also to the keyboard, compare them with the previous period, and show clicks live", async () => {
    const account = await dashboard.addAccount();
    const { client } = account;
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

    const path = `/links/${link.id}?period=7d&timezone=Asia/Kathmandu`;
    await dashboard.visit(account, path, async (page) => {
      const statCard = (name: string) => page.locator(`[data-stat=${name}] .stat-value`);
      await statCard("total_clicks").waitFor();
      const query = { period: "7d", timezone: "Asia/Kathmandu" } as const;
      const compared = { ...query, compare: "previous" } as const;
      const summary = await client.analytics.summary(link.id, compared);
      expect(await statCard("total_clicks").textContent()).toBe(String(addresses.length));
      expect(await statCard("unique_clicks").textContent()).toBe(
        String(summary.summary.unique_clicks),
      );

      const chart = page.getByRole("group", { name: "Clicks over time" });
      await chart.focus();
      await page.keyboard.press("ArrowLeft");
      await chart
        .getByRole("status")
        .getByText(/clicks, .* unique/)
        .waitFor();

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

      const geo = await client.analytics.geo(link.id, { ...query, group_by: "country" });
      const countries = z.array(z.object({ country_name: z.string(), clicks: z.int() }));
      expect(await readList(page, "Countries")).toEqual(
        countries.parse(geo.data).map((row) => [row.country_name, row.clicks]),
      );
      await page.locator(".country.shade-5").first().waitFor();
      const cities = await client.analytics.geo(link.id, { ...query, group_by: "city" });
      await page.getByRole("button", { name: "Cities" }).click();
      await page.getByRole("list", { name: "Cities" }).waitFor();
      expect((await readList(page, "Cities")).map(([, clicks]) => clicks)).toEqual(
        cities.data.map((row) => row.clicks),
      );
      expect(await readList(page, "Devices")).toEqual([["Mobile", addresses.length]]);
      await page.getByRole("button", { name: "Systems" }).click();
      expect(await readList(page, "Systems")).toEqual([["iOS", addresses.length]]);
      expect(await readList(page, "Referrers")).toEqual([["ycombinator.com", addresses.length]]);

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
      expect((await readList(page, "Countries")).map(([, clicks]) => clicks)).toEqual(
        allGeo.data.map(({ clicks }) => clicks),
      );
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

      const host = new URL(dashboard.stack.info().short_url).hostname;
      await page.goto(`/${own.id}/live/domains/${host}?timezone=UTC`);
      await waitForTotal(page, 12);

      await page.goto(`/${own.id}/live/tags?timezone=UTC`);
      await page.getByRole("button", { name: "Edit both" }).click();
      await page.getByLabel("Name", { exact: true }).fill("renamed");
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByText("2 links changed.").waitFor();
      await table.getByRole("link", { name: "renamed" }).waitFor();
      const ofPeriod = page.getByRole("table", { name: "Clicks by tag" });
      await ofPeriod.getByRole("row").filter({ hasText: "renamed" }).getByText("12").waitFor();
    };
    await dashboard.visit(own, "/tags?timezone=UTC", steps);
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
      await eventually(async () =>
        expect(await readList(page, "Reasons")).toEqual([["Disabled link", 3]]),
      );
      const tabs = page.getByRole("group", { name: "What did not work by" });
      await tabs.getByRole("button", { name: "Unknown aliases" }).click();
      await page.getByText("None in this period.").waitFor();
      await tabs.getByRole("button", { name: "Over time" }).click();
      const table = page.getByRole("table", { name: "What did not work over time" });
      await eventually(async () => expect(await table.locator("tbody tr").count()).toBe(1));
      await tabs.getByRole("button", { name: "Links" }).click();
      const links = page.getByRole("list", { name: "Links that failed" });
      await links.getByRole("link", { name: new URL(short_url).pathname }).click();
      await reasons.getByText("Disabled link").waitFor();
      expect(await tabs.getByRole("button", { name: "Unknown aliases" }).count()).toBe(0);
      // Of another link.
      await page.goto(`/${own.id}/live/tags/both`);
      await waitForTotal(page, 12);
      expect(await tabs.count()).toBe(0);
    };
    await dashboard.visit(own, "/analytics?timezone=UTC", steps);
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
      // A field says what is wrong once it was left.
      await page.keyboard.press("Tab");
      await form.getByText("At least 8 characters").waitFor();
      await form.getByLabel("Password").fill(password);
      await form.getByLabel("Expires").fill("2099-01-01T12:00");
      await form.getByText("Embedding").click();
      await form.getByLabel("Sites that may embed").fill("https://www.example.com/path");
      await page.keyboard.press("Tab");
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
      expect(await readClipboard(page)).toBe(url);
      await created.getByRole("button", { name: "I have saved it" }).click();

      // That of the account is not among those of the link.
      const row = list.getByRole("row").filter({ hasText: "For the customer" });
      await row.getByText("Clicks, Country, Device, UTM campaign").waitFor();
      await row.getByText("With a password, until Jan 1, 2099").waitFor();
      expect(await list.getByRole("row").count()).toBe(2);

      const reader = await dashboard.browser.newPage();
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
    await dashboard.visit(own, `/links/${link?.id}?timezone=UTC`, steps);
  });

  test("are saved as views of filters, period and comparison, for everyone in the account", async () => {
    const saved = "/analytics?timezone=UTC&device=mobile&period=7d&compare=none";
    await dashboard.visit(seeded, saved, async (page) => {
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
    await dashboard.visit(seeded, "/analytics?timezone=UTC", openSavedView, "viewer");
    await dashboard.visit(seeded, "/analytics?timezone=UTC", async (page) => {
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
      await fetch(url, { redirect: "manual", headers: { "user-agent": IPHONE } });
      await total.getByText("13", { exact: true }).waitFor();
      await page.locator(".live-list li").first().getByText(new URL(url).pathname).waitFor();
      // The list is asked for on its own.
      await page.locator(".live-list li").nth(12).waitFor();
      expect(await page.locator(".live-list li").count()).toBe(13);
    };
    await dashboard.visit(own, "/live", steps);
    // Only what is known to be deleted is called so.
    await dashboard.visit(own, "/live", async (page) => {
      let refused = 0;
      await page.route("**/v1/links/link_*", (route) => {
        refused++;
        return route.fulfill({ status: 429, json: {} });
      });
      await page.reload();
      // Each is asked for twice.
      await eventually(async () => expect(refused).toBeGreaterThan(3), TIMEOUT_MS);
      await page.locator(".live-list li").first().getByText("link_").waitFor();
      expect(await page.getByText("(deleted)").count()).toBe(0);
    });
  });

  test("show the clicks of a link as they happen, also after the stream was refused", async () => {
    const { id } = await seeded.client.links.create({ url: "https://example.com/" });
    await dashboard.visit(seeded, `/links/${id}`, async (page) => {
      let isRefused = true;
      await page.route("**/stream*", (route) =>
        isRefused ? route.fulfill({ status: 403, json: {} }) : route.fallback(),
      );
      await page.reload();
      await page.getByText("connection lost, reconnecting").waitFor();
      isRefused = false;
      await page.locator(".pulse-open").waitFor();
    });
  });
});
