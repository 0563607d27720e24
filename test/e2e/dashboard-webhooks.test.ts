/** Goal: a person sets up a webhook in the dashboard, sees what was delivered, and stops it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser } from "playwright-core";
import { Webhook } from "standardwebhooks";

import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { chromiumPath, openBrowser, visitSignedIn } from "../harness/browser.ts";
import { createUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const WITHIN_MS = 15_000;

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

type Got = { body: string; headers: Record<string, string> };

/** A receiver that responds with a status of its own. */
function startReceiver() {
  const got: Got[] = [];
  const receiver = { status: 200, got };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      got.push({ body: await request.text(), headers: Object.fromEntries(request.headers) });
      return new Response("what the receiver said", { status: receiver.status });
    },
  });
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${server.port}/hook`,
    [Symbol.asyncDispose]: () => server.stop(true),
  });
}

const createLink = (key: string) =>
  call(`${stack.info().api_url}/v1/links`, { key, body: { url: "https://example.com/" } });

describe.skipIf(chromiumPath === undefined)("webhooks", () => {
  test("are created with a secret that is shown once, tested, looked at, paused and deleted", async () => {
    await using receiver = startReceiver();
    const account = await createAccount(stack, "pro");
    const owner = await createUser(stack, account.id);
    await visitSignedIn(browser, stack, {
      who: owner,
      path: `/${account.id}/live/webhooks`,
      async steps(page) {
        await page.getByRole("button", { name: "New webhook" }).click();
        await page.getByLabel("URL").fill(receiver.url);
        await page.getByLabel("Events").fill("link.created, link.deleted");
        await page.keyboard.press("Enter");
        const secret = (await page.getByTestId("webhook-secret").textContent()) ?? "";
        expect(secret).toStartWith("whsec_");
        await page.getByRole("dialog").getByRole("button", { name: /saved/i }).click();
        const table = page.getByRole("table", { name: "Webhooks" });
        await table.getByText("link.created, link.deleted").waitFor();
        expect(await page.content()).not.toContain(secret);

        const act = async (name: string) => {
          await page.getByRole("button", { name: `Actions for ${receiver.url}` }).click();
          await page.getByRole("menuitem", { name }).click();
        };
        await act("Send a test");
        const [first] = await eventually(async () => {
          expect(receiver.got).toHaveLength(1);
          return receiver.got;
        }, WITHIN_MS);
        const event = new Webhook(secret).verify(first?.body ?? "", first?.headers ?? {});
        expect(event).toMatchObject({ type: "webhook.test" });

        receiver.status = 500;
        await createLink(account.key);
        await eventually(async () => expect(receiver.got.length).toBeGreaterThan(1), WITHIN_MS);
        await table.getByRole("link", { name: receiver.url }).click();
        const failed = page.getByRole("row", { name: /link\.created/ });
        await failed.getByText("500 in").click();
        await failed.getByText("what the receiver said").waitFor();
        receiver.status = 200;
        await failed.getByRole("button", { name: "Actions for event_" }).click();
        await page.getByRole("menuitem", { name: "Deliver now" }).click();
        await failed.getByText("Delivered", { exact: true }).waitFor();

        await page.goBack();
        await act("Pause");
        await table.getByText("Paused").waitFor();
        const before = receiver.got.length;
        await createLink(account.key);
        await act("Delete");
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("No webhooks yet").waitFor();
        expect(receiver.got.length).toBe(before);
      },
    });
  });

  test("are shown to members, who cannot change them, and not to viewers", async () => {
    const account = await createAccount(stack, "pro");
    const { body } = await call(`${stack.info().api_url}/v1/webhooks`, {
      key: account.key,
      body: { url: "https://hooks.example.invalid/", events: ["*"] },
    });
    expect(body).toMatchObject({ url: "https://hooks.example.invalid/" });
    const path = `/${account.id}/live/webhooks`;
    await visitSignedIn(browser, stack, {
      who: await createUser(stack, account.id, "member"),
      path,
      async steps(page) {
        await page.getByText("https://hooks.example.invalid/").waitFor();
        expect(await page.getByRole("button", { name: "New webhook" }).count()).toBe(0);
        expect(await page.getByRole("button", { name: "Actions for" }).count()).toBe(0);
      },
    });
    await visitSignedIn(browser, stack, {
      who: await createUser(stack, account.id, "viewer"),
      path,
      async steps(page) {
        await page.getByText("Webhooks are for members and owners").waitFor();
        expect(await page.getByText("hooks.example.invalid").count()).toBe(0);
      },
    });
  });
});
