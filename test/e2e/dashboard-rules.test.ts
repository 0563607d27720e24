/**
 * Goal: users can say in the dashboard where a link leads. Method: a real browser on a real stack;
 * the redirector shows whether it does.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser, Page } from "playwright-core";

import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { chromiumPath, openBrowser, visitSignedIn } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;
const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1";
const OWN = "https://example.com/own";

const withBrowser = describe.skipIf(chromiumPath === undefined);

let stack: SharedStack;
let browser: Browser;
let user: TestUser;
let viewer: TestUser;
let account: string;
let client: Client;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  stack = await useStack();
  const created = await createAccount(stack, "enterprise");
  account = created.id;
  user = await createUser(stack, account);
  viewer = await createUser(stack, account, "viewer");
  client = createClient({ baseUrl: stack.info().api_url, apiKey: created.key });
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
});

const visitAs = (who: TestUser, path: string, steps: (page: Page) => Promise<void>) =>
  visitSignedIn(browser, stack, { who, path: `/${account}/live${path}`, steps });

/** Where the link leads. */
async function follow(url: string, headers: Record<string, string> = {}): Promise<string | number> {
  const response = await fetch(url, { redirect: "manual", headers });
  return response.headers.get("location") ?? response.status;
}

const ruleOf = (page: Page, n: number) => page.getByRole("listitem", { name: `Rule ${n}` });

const readUrls = (page: Page) =>
  page
    .getByLabel("Redirect to")
    .evaluateAll((all) => all.map((input) => String(Reflect.get(input, "value"))));

const save = async (page: Page) => {
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The rules have been saved.").last().waitFor();
};

withBrowser("rules in the dashboard", () => {
  test("are added with validation, lead visitors, and are tried as another visitor", async () => {
    const link = await client.links.create({ url: OWN });
    await visitAs(user, `/links/${link.id}/rules`, async (page) => {
      await page.getByText("No rule matches").waitFor();
      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await ruleOf(page, 1).getByText("Required").first().waitFor();
      await page.getByText("Save to try your changes.").waitFor();
      await ruleOf(page, 1).getByLabel("Mobile").check();
      await ruleOf(page, 1).getByLabel("Redirect to").fill("https://example.com/app");
      await ruleOf(page, 1).getByRole("button", { name: "And another condition" }).click();
      await ruleOf(page, 1).getByLabel("When").nth(1).selectOption("language");
      await ruleOf(page, 1).getByLabel("Language: one of").fill("de, fr");
      await save(page);
      const german = { "user-agent": IPHONE, "accept-language": "de-AT,de;q=0.9" };
      await eventually(
        async () => expect(await follow(link.short_url, german)).toBe("https://example.com/app"),
        TIMEOUT_MS,
      );
      expect(await follow(link.short_url, { "user-agent": IPHONE })).toBe(OWN);

      // The trial is of an iPhone without a language.
      const why = page.getByRole("list", { name: "Why" });
      await why.getByText("Device: mobile").waitFor();
      await why.getByText("Language: none").waitFor();
      await page.getByText("More about the visitor").click();
      await page.getByLabel("Language", { exact: true }).fill("fr");
      await page.getByText("Rule 1: redirects to").waitFor();
      await page.getByRole("combobox", { name: "Device" }).selectOption("Windows PC");
      await why.getByText("Device: desktop").waitFor();
      await page.getByText("No rule matches").waitFor();
    });
  });

  test("are put in order by keys and by dragging", async () => {
    const link = await client.links.create({
      url: OWN,
      rules: ["a", "b", "c"].map((name) => ({
        url: `${OWN}/${name}`,
        conditions: [{ type: "query", name }],
      })),
    });
    const [a, b, c] = [`${OWN}/a`, `${OWN}/b`, `${OWN}/c`] as const;
    await visitAs(user, `/links/${link.id}/rules`, async (page) => {
      const up = page.getByRole("button", { name: "Move rule 3 up" });
      await up.focus();
      await page.keyboard.press("Enter");
      expect(await readUrls(page)).toEqual([a, c, b]);
      await page.getByText("Rule 3 is now rule 2.").waitFor();
      // The focus stays with the rule, so that it can be moved on.
      await page.keyboard.press("Enter");
      expect(await readUrls(page)).toEqual([c, a, b]);
      await page.getByRole("button", { name: "Move rule 1 down" }).focus();
      await page.keyboard.press("Enter");
      await page
        .getByRole("button", { name: "Move rule 2 down" })
        .and(page.locator(":focus"))
        .waitFor();
      await page.keyboard.press("Enter");
      expect(await readUrls(page)).toEqual([a, b, c]);
      // All rules are in view: a drag does not start when the page scrolls after the button went
      // down.
      await page.setViewportSize({ width: 1280, height: 2000 });
      const drag = (from: number, to: number) =>
        ruleOf(page, from).getByTitle("Drag to reorder").dragTo(ruleOf(page, to));
      await drag(1, 3);
      expect(await readUrls(page)).toEqual([b, c, a]);
      await drag(3, 1);
      expect(await readUrls(page)).toEqual([a, b, c]);
      await drag(3, 1);
      expect(await readUrls(page)).toEqual([c, a, b]);
      await save(page);
      await eventually(
        async () => expect(await follow(`${link.short_url}?a&b&c`)).toBe(c),
        TIMEOUT_MS,
      );
      const { rules } = await client.links.get(link.id);
      expect(rules?.map(({ url }) => url)).toEqual([c, a, b]);
      await page.getByRole("button", { name: "Remove rule 1" }).click();
      await page.getByRole("button", { name: "Discard" }).click();
      expect(await readUrls(page)).toEqual([c, a, b]);
    });
  });

  test("have a split, whose arms show their clicks and visitors", async () => {
    const link = await client.links.create({ url: OWN });
    await visitAs(user, `/links/${link.id}/rules`, async (page) => {
      await page.getByRole("button", { name: "Add arm" }).click();
      await page.getByLabel("Share of arm 1").fill("99");
      await page.getByLabel("Destination of arm 1").fill("https://example.com/b");
      await page.locator(".share-bar").getByText("99 %").waitFor();
      await page.locator(".share-bar").getByText("1 %", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Add arm" }).click();
      await page.getByLabel("Destination of arm 2").fill("https://example.com/c");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Expected weights whose sum is 100 at most").waitFor();
      await page.getByRole("button", { name: "Remove arm 2" }).click();
      await save(page);
      // Nearly all visitors get the arm once it has reached the redirector; a HEAD is no click.
      await eventually(async () => {
        const { headers } = await fetch(link.short_url, { method: "HEAD", redirect: "manual" });
        expect(headers.get("location")).toBe("https://example.com/b");
      }, TIMEOUT_MS);
      for (let i = 0; i < 20; i++)
        await follow(link.short_url, { "x-forwarded-for": `9.9.9.${i}` });
      await eventually(async () => {
        const { data } = await client.analytics.targets(link.id);
        expect(data.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(20);
      }, TIMEOUT_MS);
      const { data } = await client.analytics.targets(link.id);
      const arm = data.find(({ kind }) => kind === "arm");
      await page.reload();
      await page
        .getByText(`${arm?.clicks} clicks (${arm?.percentage.toFixed(1)} %), ${arm?.unique_clicks}`)
        .waitFor();
    });
  });

  test("can be read, but not changed, by viewers", async () => {
    const link = await client.links.create({
      url: OWN,
      rules: [{ url: `${OWN}/de`, conditions: [{ type: "country", in: ["DE"] }] }],
    });
    await visitAs(viewer, `/links/${link.id}/rules`, async (page) => {
      expect(await ruleOf(page, 1).getByLabel("Country: one of").inputValue()).toBe("DE");
      expect(await ruleOf(page, 1).getByLabel("Redirect to").isDisabled()).toBe(true);
      expect(await page.getByRole("button", { name: "Save", exact: true }).count()).toBe(0);
      await page.getByLabel("Country", { exact: true }).selectOption("DE");
      await page.getByText("Rule 1: redirects to").waitFor();
    });
  });
});

withBrowser("the schedule of a link in the dashboard", () => {
  test("starts, expires to another destination, and is disabled", async () => {
    await visitAs(user, "/links", async (page) => {
      await page.getByRole("button", { name: "New link" }).click();
      const dialog = page.getByRole("dialog", { name: "New link" });
      await dialog.getByLabel("Destination").fill(OWN);
      await dialog.getByLabel("Alias").fill("scheduled");
      await dialog.getByText("Schedule and state").click();
      await dialog.getByLabel("Starts").fill("2099-01-01T00:00");
      await dialog.getByLabel("Once expired, redirect to").fill("ftp://x");
      await dialog.getByText("The URL must be an http or https URL.").waitFor();
      await dialog.getByLabel("Once expired, redirect to").fill("https://example.com/over");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await page.getByRole("link", { name: "/scheduled" }).waitFor();
      const { short_url, id } = await client.links.lookUp({ alias: "scheduled" });
      expect(await follow(short_url)).toBe(404);

      const edit = async (change: () => Promise<void>) => {
        const row = page.getByRole("row").filter({ hasText: "scheduled" });
        await row.getByRole("button", { name: "Actions for" }).click();
        await page.getByRole("menuitem", { name: "Edit" }).click();
        await page.getByText("Schedule and state").click();
        await change();
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByRole("dialog").waitFor({ state: "detached" });
      };
      await edit(() => page.getByLabel("Starts").fill(""));
      expect(await follow(short_url)).toBe(OWN);
      await edit(() => page.getByLabel("Disabled").check());
      expect(await follow(short_url)).toBe(404);
      expect(await client.links.get(id)).toMatchObject({
        disabled: true,
        expired_url: "https://example.com/over",
      });
      await page.getByRole("link", { name: "/scheduled" }).click();
      await page.getByText("Disabled", { exact: true }).waitFor();
    });
  });
});
