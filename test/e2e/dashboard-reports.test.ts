/** Goal: a person sets up a report in the dashboard, has it made, looks at it, and ends it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser } from "playwright-core";

import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { chromiumPath, openBrowser, visitSignedIn } from "../harness/browser.ts";
import { createUser } from "../harness/dashboard.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

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

describe.skipIf(chromiumPath === undefined)("reports", () => {
  test("are created, changed, made, paused and deleted by members", async () => {
    const account = await createAccount(stack, "pro");
    await visitSignedIn(browser, stack, {
      who: await createUser(stack, account.id, "member"),
      path: `/${account.id}/live/reports`,
      async steps(page) {
        await page.getByRole("button", { name: "New report" }).click();
        await page.getByLabel("Name").fill("Monday numbers");
        await page.getByLabel("Time zone").selectOption("Europe/Berlin");
        await page.getByRole("button", { name: "Create report" }).click();
        const table = page.getByRole("table", { name: "Reports" });
        const row = table.getByRole("row", { name: /Monday numbers/ });
        await row.getByText("Weekly").waitFor();

        const act = async (name: string) => {
          await page.getByRole("button", { name: "Actions for Monday numbers" }).click();
          await page.getByRole("menuitem", { name }).click();
        };
        await act("Change");
        await page.getByLabel("Tag").fill("spring");
        await page.getByLabel("Period").selectOption("monthly");
        await page.getByRole("button", { name: "Save" }).click();
        await row.getByText("Monthly").waitFor();
        await row.getByText("spring").waitFor();

        await act("Make it now");
        await page.getByText("The report has been made.").waitFor();
        await act("Last runs");
        const runs = page.getByRole("dialog").getByRole("table", { name: "Last runs" });
        await runs.getByText("on request").waitFor();
        await page.getByRole("button", { name: "Close" }).click();

        await act("Pause");
        await row.getByText("Paused").waitFor();
        await act("Delete");
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("No reports yet").waitFor();
      },
    });
  });

  test("are shown to viewers, who cannot change them", async () => {
    const account = await createAccount(stack, "pro");
    const { status } = await call(`${stack.info().api_url}/v1/reports`, {
      key: account.key,
      body: { name: "For all", period: "weekly" },
    });
    expect(status).toBe(201);
    await visitSignedIn(browser, stack, {
      who: await createUser(stack, account.id, "viewer"),
      path: `/${account.id}/live/reports`,
      async steps(page) {
        await page.getByRole("table").getByText("For all").waitFor();
        expect(await page.getByRole("button", { name: "New report" }).count()).toBe(0);
        await page.getByRole("button", { name: "Actions for For all" }).click();
        expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Last runs"]);
      },
    });
  });
});
