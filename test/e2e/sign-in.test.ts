/**
 * Goal: people sign in by what they have set up, on pages that everybody can use. Method: a real
 * browser on a real stack.
 */
import { expect, test } from "bun:test";

import type { Page } from "playwright-core";

import { codeOf } from "../harness/authenticator.ts";
import { AXE, findOverflow, runAxe } from "../harness/axe.ts";
import { openSignIn, signInOnPage } from "../harness/browser.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import { goTo } from "../harness/dashboard-page.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { forFile } from "../harness/for-file.ts";

const dashboard = await forFile(DashboardBrowser.open());
const account = await dashboard.addAccount();

/** Opens the page "Profile" in a browser of its own, as a new user. */
async function openProfile(): Promise<{ page: Page; user: TestUser; consoleErrors: string[] }> {
  const user = await createUser(dashboard.stack, account.id);
  const opened = await openSignIn(dashboard.browser, dashboard.stack, {
    reducedMotion: "reduce",
    // The page's content security policy blocks axe's script.
    bypassCSP: true,
  });
  await opened.page.context().addInitScript({ path: AXE });
  await opened.page.reload();
  await signInOnPage(opened.page, user);
  await goTo(opened.page, "Profile");
  return { ...opened, user };
}

/** What is wrong with the page for people with disabilities or small screens. */
async function findProblems(page: Page, where: string): Promise<string[]> {
  return [...(await runAxe(page, where)), ...(await findOverflow(page, where))];
}

async function enterPassword(page: Page, { email, password }: TestUser): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const signOut = async (page: Page): Promise<void> => {
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await loaded;
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
};

withBrowser("a second factor", () => {
  test("is set up, asked for at the sign-in, replaced by a recovery code, and removed", async () => {
    const { page, user, consoleErrors } = await openProfile();
    await page.getByRole("button", { name: "Set up a second factor" }).click();
    await page.getByRole("dialog").getByLabel("Current password").fill(user.password);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("img", { name: "QR code for the app" }).waitFor();
    const secret = (await page.getByTestId("second-factor-secret").textContent()) ?? "";
    const codes = ((await page.getByTestId("recovery-codes").textContent()) ?? "").split("\n");
    expect(codes).toHaveLength(10);
    const problems = await findProblems(page, "set-up");
    const uri = `otpauth://totp/x?secret=${secret}`;
    await page.getByLabel("Code of the app").fill(codeOf(uri, -1));
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByText("10 recovery codes are left").waitFor();
    await signOut(page);

    await enterPassword(page, user);
    await page.getByRole("heading", { name: "Enter a code" }).waitFor();
    problems.push(...(await findProblems(page, "code")));
    await page.getByLabel("Code").fill("000000");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("The code is wrong, or has been used.").waitFor();
    await page.getByLabel("Code").fill(codeOf(uri));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
    await signOut(page);

    await enterPassword(page, user);
    await page.getByLabel("Code").fill(codes[0] ?? "");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("9 recovery codes are left").waitFor();
    await page.getByRole("button", { name: "Remove the second factor" }).click();
    await page.getByRole("dialog").getByLabel("Current password").fill(user.password);
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Set up a second factor" }).waitFor();
    await signOut(page);
    await enterPassword(page, user);
    await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
    expect([...problems, ...consoleErrors]).toEqual([]);
    await page.context().close();
  });
});

withBrowser("an account", () => {
  test("asks for a second factor of a role, and those who lack one for setting it up", async () => {
    const own = await dashboard.addAccount();
    const user = await createUser(dashboard.stack, own.id);
    const { page, consoleErrors } = await openSignIn(dashboard.browser, dashboard.stack, {
      reducedMotion: "reduce",
      bypassCSP: true,
    });
    await page.context().addInitScript({ path: AXE });
    await page.reload();
    await signInOnPage(page, user);
    await goTo(page, "Members");
    await page.getByRole("checkbox", { name: "Owner" }).click();
    await page.getByText("needs a second factor. Set one up").waitFor();
    const problems = await findProblems(page, "needed");
    await page.getByRole("button", { name: "Set up a second factor" }).waitFor();
    await signOut(page);
    expect([...problems, ...consoleErrors]).toEqual([]);
    await page.context().close();
  });
});

withBrowser("the list of sessions", () => {
  test("ends one of them", async () => {
    const { page, user } = await openProfile();
    const elsewhere = await openSignIn(dashboard.browser, dashboard.stack, {
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    });
    await signInOnPage(elsewhere.page, user);
    await page.reload();
    await page.getByRole("button", { name: "End the session: Firefox on Linux" }).click();
    await page.getByText("The session has ended.").waitFor();
    await elsewhere.page.reload();
    await elsewhere.page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.context().close();
    await elsewhere.page.context().close();
  });
});

/** An authenticator of the browser's own, which knows its user and answers at once. */
async function addAuthenticator(page: Page, isUserVerified = true): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  });
}

withBrowser("a passkey", () => {
  test("is added with the password, signs in alone, and is removed", async () => {
    const { page, user, consoleErrors } = await openProfile();
    await addAuthenticator(page);
    await page.getByRole("button", { name: "Add a passkey" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("This machine");
    await dialog.getByLabel("Current password").fill("not the password");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByText("The current password is wrong.").waitFor();
    const problems = await findProblems(page, "new passkey");
    await dialog.getByLabel("Current password").fill(user.password);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await page.getByText("This machine").waitFor();
    await dialog.waitFor({ state: "detached" });
    problems.push(...(await findProblems(page, "passkeys")));
    await signOut(page);

    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Remove the passkey: This machine" }).click();
    await dialog.getByLabel("Current password").fill(user.password);
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("The passkey has been removed.").waitFor();
    await signOut(page);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("alert").getByText("The passkey is not known here").waitFor();
    expect([...problems, ...consoleErrors]).toEqual([]);
    await page.context().close();
  });
});
