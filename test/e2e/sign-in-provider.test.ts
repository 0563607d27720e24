/**
 * Goal: people sign in with a provider of OpenID Connect, and out; a process asks the provider by
 * itself, which is what its warning shows when it starts without one. Method: a real browser, a
 * real provider on loopback, and a real stack with a further API process, at which nobody but the
 * provider signs people in. Whom the provider lets go is out by `api/oidc/service.test.ts`.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import type { Page } from "playwright-core";
import * as z from "zod";

import { cachedFolder } from "../../dashboard/cache.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { createAccount } from "../harness/admin.ts";
import { AXE, findOverflow, runAxe } from "../harness/axe.ts";
import { chromiumPath, openBrowser, openContext } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { TestProvider } from "../harness/oidc-provider.ts";
import { type ExtraProcess, startApi } from "../harness/processes.ts";
import { PROJECT_DIR, startStack } from "../harness/stack.ts";

const withBrowser = describe.skipIf(chromiumPath === undefined);

const stack = await forFile(startStack());
const browser =
  chromiumPath === undefined ? undefined : await forFile(openBrowser(), (b) => b.close());
const account = await createAccount(stack, "business");
const emergency = await createUser(stack, account.id);
const origin = `http://localhost:${findFreePort()}`;
const provider = await forFile(TestProvider.start(origin));

const settings = {
  ...provider.env,
  OIDC_NAME: "Corp",
  OIDC_ACCOUNT: account.id,
  OIDC_ROLE_CLAIM: "groups",
  OIDC_ROLES: "admins=owner,staff=member",
  OIDC_DOMAINS: "corp.example",
  OIDC_BREAK_GLASS: emergency.email,
  OIDC_ONLY: "true",
  DASHBOARD_URL: origin,
  DASHBOARD_HOST: "127.0.0.1",
  DASHBOARD_PORT: new URL(origin).port,
  DASHBOARD_SECRET: "a secret of this test, long enough",
  DASHBOARD_DIR: cachedFolder(join(PROJECT_DIR, ".local", "dashboard")),
};

let api: ExtraProcess;
await forFile((api = await startApi(stack, settings)), () => api.stop());

/** Opens the sign-in page in a browser without cookies. */
async function open(): Promise<{ page: Page; consoleErrors: string[] }> {
  if (browser === undefined) throw new Error("There is no Chromium.");
  const opened = await openContext(browser, stack, {
    baseURL: origin,
    reducedMotion: "reduce",
    // The page's content security policy blocks axe's script.
    bypassCSP: true,
  });
  await opened.page.context().addInitScript({ path: AXE });
  await opened.page.goto("/");
  return opened;
}

const goOn = (page: Page): Promise<void> =>
  page.getByRole("button", { name: "Continue with Corp" }).click();

const isIn = (page: Page): Promise<void> =>
  page.getByRole("heading", { name: "Links", level: 1 }).waitFor();

const isOut = (page: Page): Promise<void> =>
  page.getByRole("heading", { name: "Sign in" }).waitFor();

async function enterPassword(page: Page, { email, password }: TestUser): Promise<void> {
  await page.getByRole("button", { name: "Use a password" }).click();
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const sessionSchema = z.object({
  user: z.object({ email: z.string() }),
  accounts: z.array(z.object({ role: z.string() })),
});

/** Who is signed in, and their roles. */
async function readSession(page: Page): Promise<{ email: string; roles: string[] }> {
  const session = await page.evaluate(`fetch("/auth/session").then((response) => response.json())`);
  const { user, accounts } = sessionSchema.parse(session);
  return { email: user.email, roles: accounts.map(({ role }) => role) };
}

/** Signs out here and, on its page, at the provider, which leads back. */
async function signOut(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("button", { name: "Sign out here too" }).click();
  await page.waitForURL(`${origin}/`);
  await isOut(page);
}

withBrowser("somebody of the provider", () => {
  test("signs in with the role of a claim, as it is each time, and out here and there", async () => {
    const { page, consoleErrors } = await open();
    await page.getByRole("button", { name: "Continue with Corp" }).waitFor();
    const problems = [...(await runAxe(page, "sign-in")), ...(await findOverflow(page, "sign-in"))];
    const person = provider.meet();
    await goOn(page);
    await isIn(page);
    expect(await readSession(page)).toEqual({ email: person.email, roles: ["member"] });
    await signOut(page);
    provider.know({ ...person, groups: ["staff", "admins"] });
    await goOn(page);
    await isIn(page);
    expect(await readSession(page)).toEqual({ email: person.email, roles: ["owner"] });
    await signOut(page);
    // The provider does not remember who was there.
    const other = provider.meet();
    await goOn(page);
    await isIn(page);
    expect(await readSession(page)).toEqual({ email: other.email, roles: ["member"] });
    expect([...problems, ...consoleErrors]).toEqual([]);
    await page.context().close();
  });

  test("signs in again in another tab, beside what was typed", async () => {
    const { page, consoleErrors } = await open();
    provider.meet();
    await goOn(page);
    await isIn(page);
    await page.keyboard.press("c");
    const destination = page.getByRole("dialog", { name: "New link" }).getByLabel("Destination");
    await destination.fill("https://example.com/typed");
    await page.context().clearCookies();
    await page.keyboard.press("Enter");
    const cover = page.getByRole("dialog", { name: "Sign in" });
    await cover.waitFor();
    const [tab] = await Promise.all([page.context().waitForEvent("page"), goOn(page)]);
    await isIn(tab);
    await tab.close();
    // As the browser does once this tab is shown again.
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await cover.waitFor({ state: "detached" });
    expect(await destination.inputValue()).toBe("https://example.com/typed");
    expect(consoleErrors).toEqual([]);
    await page.context().close();
  });

  test("is refused, and told why, without a role and with another's address of a domain that is not trusted", async () => {
    const { page, consoleErrors } = await open();
    provider.meet({ groups: ["strangers"] });
    await goOn(page);
    await page.getByRole("alert").getByText("Your provider gives you no role here.").waitFor();
    const known = await createUser(stack);
    provider.people.clear();
    await page.context().clearCookies();
    provider.meet({ email: known.email });
    await goOn(page);
    await page.getByRole("alert").getByText("Somebody has your e-mail address here").waitFor();
    expect([...(await runAxe(page, "refused")), ...consoleErrors]).toEqual([]);
    await page.context().close();
  });
});

withBrowser("without the provider", () => {
  test("a process starts, says so, signs that owner in and out, and others when it is back", async () => {
    provider.state = "down";
    await api.stop();
    api = await startApi(stack, settings);
    const health = await eventually(async () => {
      const response = await fetch(`${api.metricsUrl}/readyz`);
      expect(response.status).toBe(200);
      const body = z.object({ warnings: z.record(z.string(), z.string()) });
      const { warnings } = body.parse(await response.json());
      expect(warnings["provider"]).toBeString();
      return warnings["provider"];
    });
    expect(health).toContain("responds with 503");
    const { page } = await open();
    await goOn(page);
    await page.getByRole("alert").getByText("The provider cannot be reached.").waitFor();
    await enterPassword(page, emergency);
    await isIn(page);
    const loaded = page.waitForEvent("load");
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await loaded;
    await isOut(page);
    provider.state = "up";
    const person = provider.meet();
    await goOn(page);
    await isIn(page);
    expect((await readSession(page)).email).toBe(person.email);
    await page.context().close();
  });
});
