/** Goal: an owner sees in the dashboard who did what, and finds what happened to one link. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser } from "playwright-core";
import * as z from "zod";

import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { chromiumPath, openBrowser, visitSignedIn } from "../harness/browser.ts";
import { createUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const WITHIN_MS = 20_000;

let stack: SharedStack;
let browser: Browser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  stack = await useStack();
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
});

/** The name of a link on the page. */
const nameOf = ({ short_url }: { short_url: string }) => short_url.replace(/^https?:\/\//, "");

const created = z.object({ id: z.string(), short_url: z.string() });

async function change(key: string, method: string, path: string, body?: Record<string, unknown>) {
  const response = await call(`${stack.info().api_url}${path}`, {
    key,
    method,
    ...(body === undefined ? {} : { body }),
  });
  expect(response.status).toBeLessThan(300);
  return response.body;
}

describe.skipIf(chromiumPath === undefined)("activity", () => {
  test("has who changed what, newest first, of a type or a link, and links to it", async () => {
    const account = await createAccount(stack, "pro");
    const owner = await createUser(stack, account.id);
    const add = async (title: string) =>
      created.parse(
        await change(account.key, "POST", "/v1/links", { url: "https://example.com/", title }),
      );
    const [sale, other] = [await add("Sale"), await add("Other")];
    await change(account.key, "PATCH", `/v1/links/${sale.id}`, { title: "Spring sale" });
    await change(account.key, "DELETE", `/v1/links/${other.id}`);

    await visitSignedIn(browser, stack, {
      who: owner,
      path: `/${account.id}/live/activity`,
      async steps(page) {
        const rows = page.locator(".activity li");
        await rows.first().waitFor();
        const expectTitles = (...titles: string[]) =>
          eventually(
            async () => expect(await rows.locator("strong").allTextContents()).toEqual(titles),
            WITHIN_MS,
          );
        await expectTitles(
          "Link deleted",
          "Link changed",
          "Link created",
          "Link created",
          "Member joined",
          "API key created",
        );
        const changed = rows.filter({ hasText: "Link changed" });
        expect(await changed.innerText()).toContain(nameOf(sale));
        expect(await changed.locator("dl").innerText()).toMatch(
          /title[^]*Sale[^]*→[^]*Spring sale/,
        );
        await changed.getByText("API key").waitFor();
        // What is gone has no page.
        expect(await rows.first().getByRole("link").count()).toBe(0);

        await changed.getByRole("button", { name: `Only ${nameOf(sale)}` }).click();
        await page.getByRole("button", { name: `No longer only ${nameOf(sale)}` }).waitFor();
        await expectTitles("Link changed", "Link created");

        await page.getByLabel("Event").selectOption("Link created");
        await expectTitles("Link created");
        expect(new URL(page.url()).search).toBe(`?link=${sale.id}&type=link.created`);

        await page.getByLabel("Event").selectOption("Domain deleted");
        await page.getByText("Nothing happened").waitFor();
        await page.goBack();
        await rows.getByRole("link", { name: nameOf(sale) }).click();
        await page.getByRole("heading", { name: "Spring sale" }).waitFor();
      },
    });
  });

  test("loads older events, and shows what a person did by name", async () => {
    const account = await createAccount(stack, "pro");
    const owner = await createUser(stack, account.id);
    const links = Array.from({ length: 60 }, (_, i) => ({ url: `https://example.com/${i}` }));
    await change(account.key, "POST", "/v1/links/bulk", { links });
    await visitSignedIn(browser, stack, {
      who: owner,
      path: `/${account.id}/live/activity`,
      async steps(page) {
        const rows = page.locator(".activity li");
        await rows.nth(49).waitFor();
        expect(await rows.count()).toBe(50);
        await page.getByRole("button", { name: "Load older" }).click();
        await rows.nth(60).waitFor();
        await page.getByRole("button", { name: "Load older" }).waitFor({ state: "detached" });
        const joined = rows.filter({ hasText: "Member joined" });
        expect(await joined.innerText()).toContain("The operator");
        await page.getByRole("link", { name: "Links", exact: true }).click();
        await page.getByRole("button", { name: "Actions for" }).first().click();
        await page.getByRole("menuitem", { name: "Delete" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("deleted").first().waitFor();
        await page.getByRole("link", { name: "Activity" }).click();
        const deleted = rows.filter({ hasText: "Link deleted" });
        await deleted.getByText(/^Person \d+$/).waitFor();
      },
    });
  });

  test("is for owners: the API refuses the others, and the page says so", async () => {
    const account = await createAccount(stack, "pro");
    for (const role of ["member", "viewer"] as const)
      await visitSignedIn(browser, stack, {
        who: await createUser(stack, account.id, role),
        path: `/${account.id}/live/activity`,
        async steps(page) {
          await page.getByText("Activity is for owners of the account").waitFor();
          expect(await page.getByRole("link", { name: "Activity" }).count()).toBe(0);
          const status = await page.evaluate(
            async (path) => (await fetch(path)).status,
            `/api/${account.id}/live/v1/events`,
          );
          expect(status).toBe(403);
        },
      });
  });
});
