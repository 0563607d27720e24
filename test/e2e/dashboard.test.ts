/**
 * Goal: users sign in to a dashboard that is there at once and in their language, and manage their
 * account with it as far as their role allows. Method: a real browser on a real stack, operated as
 * people do: by labels, names and keys.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Page } from "playwright-core";
import { Webhook } from "standardwebhooks";

import { KEY_NETWORKS_MAX } from "../../shared/contracts/key-schemas.ts";
import { call } from "../harness/api.ts";
import { noteWhenShown, openSignIn, readScriptBytes, signInOnPage } from "../harness/browser.ts";
import { DashboardBrowser, type TestAccount, withBrowser } from "../harness/dashboard-browser.ts";
import { addDomain, chooseAction, goTo, rowOf } from "../harness/dashboard-page.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { longTest } from "../harness/property-runs.ts";
import { WebhookReceiver } from "../harness/webhook-receiver.ts";

const TIMEOUT_MS = 20_000;

/** The script of the application, which the page and its first requests do not wait for. */
const APPLICATION = /\/chunk-\w+\.js$/;

const FIRST_LOAD_BYTES_MAX = 150 * 1024;

const dns = await forFile(Dns.start());
const dashboard = await forFile(DashboardBrowser.open(dns));
/** Tests that change something which others see have an account of their own. */
const account = await dashboard.addAccount();
const first = await account.client.links.create({ url: "https://example.com/" });

const urlOf = (path: string) => `${dashboard.stack.info().dashboard_url}${path}`;

const linksTable = (page: Page) => page.getByRole("table", { name: "Links" });

withBrowser("the sign-in", () => {
  test("rejects a wrong password, which it keeps if it gets no answer, uses nothing of another session, and leaves nothing when it ends", async () => {
    const owner = await dashboard.join(account);
    const { page } = await openSignIn(dashboard.browser, dashboard.stack);
    // The list is requested without a session.
    await page.goto(`/${account.id}/live/links`);
    await page.getByLabel("E-mail address").fill(owner.email);
    await page.getByLabel("Password").fill("not the password");
    await page.route("**/auth/sign-in", (route) => route.abort("internetdisconnected"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("The service cannot be reached.").waitFor();
    expect(await page.getByLabel("Password").inputValue()).toBe("not the password");
    await page.unroute("**/auth/sign-in");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText("The e-mail address or the password is wrong.")
      .waitFor();
    expect(await page.getByLabel("Password").inputValue()).toBe("");
    await signInOnPage(page, owner);
    await linksTable(page).waitFor();
    const loaded = page.waitForEvent("load");
    await page.getByRole("button", { name: "Sign out" }).click();
    await loaded;
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    // Going back does not show the account either.
    await page.goBack().catch(() => null);
    await page.goto(`/${account.id}/live/links`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.context().close();
  });

  test("is asked for once more when a session ends, and what was typed is still there", async () => {
    const user = await createUser(dashboard.stack, account.id);
    const { page, consoleErrors } = await openSignIn(dashboard.browser, dashboard.stack);
    await signInOnPage(page, user);
    await page.getByRole("button", { name: "New link" }).click();
    const form = page.getByRole("dialog", { name: "New link" });
    await form.getByLabel("Destination").fill("https://example.com/typed");
    await page.context().clearCookies();
    await form.getByRole("button", { name: "Create link" }).click();
    const again = page.getByRole("dialog", { name: "Sign in" });
    expect(await again.getByLabel("E-mail address").inputValue()).toBe(user.email);
    const forgotten = again.getByRole("link", { name: "Forgot password?" });
    expect(await forgotten.getAttribute("target")).toBe("_blank");
    // As a browser does, whatever the page wants, when "back" is pressed twice.
    await page.evaluate("document.querySelectorAll('dialog').forEach((open) => open.close())");
    await again.getByLabel("Password").fill(user.password);
    await again.getByRole("button", { name: "Sign in" }).click();
    await again.waitFor({ state: "detached" });
    await form.getByText("You are not signed in any more.").waitFor();
    await form.getByRole("button", { name: "Create link" }).click();
    await page.getByText("The link is ready").waitFor();
    await linksTable(page).getByText("example.com/typed").first().waitFor();
    expect(consoleErrors).toEqual([]);
    await page.context().close();
  });

  test("is asked for by a page that somebody stays on after signing out, and for a download, but not for signing out", async () => {
    const user = await createUser(dashboard.stack, account.id);
    const { page, consoleErrors } = await openSignIn(dashboard.browser, dashboard.stack);
    await signInOnPage(page, user);
    const again = page.getByRole("dialog", { name: "Sign in" });
    const signIn = async () => {
      await again.getByLabel("Password").fill(user.password);
      await again.getByRole("button", { name: "Sign in" }).click();
      await again.waitFor({ state: "detached" });
    };
    // Requests of the page itself would ask for it as well.
    const waitUntil = "networkidle";
    await page.goto(`/${account.id}/live/activity`, { waitUntil });
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Export (NDJSON)" }).click();
    await signIn();

    await page.goto(`/${account.id}/live/links/${first.id}/rules`);
    await page.getByRole("button", { name: "Add rule" }).click();
    page.once("dialog", (question) => void question.dismiss());
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn();
    await page.getByRole("button", { name: "Discard" }).click();

    await page.reload({ waitUntil });
    await page.context().clearCookies();
    const loaded = page.waitForEvent("load");
    await page.getByRole("button", { name: "Sign out" }).click();
    await loaded;
    await page.getByRole("heading", { name: "Sign in", level: 1 }).waitFor();
    expect(consoleErrors).toEqual([]);
    await page.context().close();
  });

  longTest("ends in all browsers when the password is changed, or one wants it", async () => {
    const user = await createUser(dashboard.stack, account.id);
    const open = () => openSignIn(dashboard.browser, dashboard.stack);
    const [{ page, consoleErrors }, elsewhere] = await Promise.all([open(), open()]);
    await signInOnPage(elsewhere.page, user);
    await signInOnPage(page, user);
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
    expect(consoleErrors).toEqual([]);
    await page.context().close();
    await elsewhere.page.context().close();
  });
});

/** Notes the paths of the requests that a page sends to the API. */
function noteRequests(page: Page): string[] {
  const paths: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/^\/(api|auth)\//.test(pathname)) paths.push(pathname);
  });
  return paths;
}

withBrowser("a page", () => {
  longTest("shows the product in the chosen theme before its application has loaded", async () => {
    await dashboard.visit(account, "/links", async (page) => {
      await page.evaluate("localStorage.setItem('shorthop-theme', 'dark')");
      await page.route(APPLICATION, () => {});
      await page.reload({ waitUntil: "commit" });
      await page.getByText("Shorthop", { exact: true }).waitFor();
      expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    });
  });

  test("requests its session, data and scripts beside the application, once, and keeps still meanwhile", async () => {
    await dashboard.visit(account, "/links", async (page) => {
      const list = `/api/${account.id}/live/v1/links`;
      const requested = noteRequests(page);
      await page.route(APPLICATION, () => {});
      const both = Promise.all(
        ["/auth/session", list].map((path) =>
          page.waitForRequest((request) => new URL(request.url()).pathname === path),
        ),
      );
      await page.reload({ waitUntil: "commit" });
      await both;
      await page.unrouteAll({ behavior: "ignoreErrors" });

      requested.length = 0;
      await noteWhenShown(page, "table");
      await page.goto(`/${account.id}/live/links`);
      await linksTable(page).waitFor();
      expect(requested.filter((path) => path === "/auth/session")).toHaveLength(1);
      expect(requested.filter((path) => path === list)).toHaveLength(1);
      const bytes = await readScriptBytes(page);
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThan(FIRST_LOAD_BYTES_MAX);

      // For people who ask for reduced motion, as this browser does.
      await page.route("**/v1/links**", () => {});
      await page.reload();
      await page.locator(".skeleton").first().waitFor();
      const endless = await page.evaluate(
        "document.getAnimations().filter(({ effect }) => effect.getTiming().iterations !== 1).length",
      );
      expect(endless).toBe(0);
    });
  });

  test("whose script cannot be loaded says so, and is there after another try", async () => {
    await dashboard.visit(account, "/links", async (page) => {
      await linksTable(page).waitFor();
      await page.route("**/*.js", (route) => route.abort("internetdisconnected"));
      await goTo(page, "Usage");
      await page.getByRole("alert").getByText("The service cannot be reached.").waitFor();
      await page.unroute("**/*.js");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
    });
  });

  test("has scripts that are compressed, and immutable if their name contains a hash", async () => {
    const page = await (await fetch(urlOf("/"))).text();
    const [, script = ""] = /src="([^"]+\.js)"/.exec(page) ?? [];
    const response = await fetch(urlOf(script), { headers: { "accept-encoding": "br, gzip" } });
    expect(response.headers.get("content-encoding")).toBe("br");
    expect(response.headers.get("cache-control")).toContain("immutable");
    const plain = await fetch(urlOf(script), { headers: { "accept-encoding": "br;q=0" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(await response.text());
  });

  test("escapes text from users and visitors", async () => {
    const evil = `"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const link = await account.client.links.create({
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
    await dashboard.visit(account, "/links", async (page) => {
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
    });
  });
});

async function signInInGerman(page: Page, user: TestUser): Promise<void> {
  await page.getByLabel("E-Mail-Adresse").fill(user.email);
  await page.getByLabel("Passwort").fill(user.password);
  await page.getByRole("button", { name: "Anmelden" }).click();
  await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
}

const goToInGerman = (page: Page, name: string) =>
  page
    .getByRole("navigation", { name: "Hauptnavigation" })
    .getByRole("link", { name, exact: true })
    .click();

/** The language and the direction that the document declares. */
const documentLanguage = (page: Page) =>
  page.evaluate("[document.documentElement.lang, document.documentElement.dir]");

async function readInGerman(page: Page): Promise<void> {
  expect(await documentLanguage(page)).toEqual(["de", "ltr"]);
  await page.getByText("2 Links").waitFor();
  const today = new Intl.DateTimeFormat("de", {
    dateStyle: "medium",
    timeZone: "Europe/Berlin",
  });
  await page.getByText(today.format(new Date())).first().waitFor();

  await page.getByRole("button", { name: "Neuer Link" }).click();
  const dialog = page.getByRole("dialog", { name: "Neuer Link" });
  await dialog.getByLabel("Ziel", { exact: true }).fill("https://example.com/de");
  await dialog.getByText("Zeitplan und Zustand").click();
  await dialog.getByLabel("Läuft ab").fill("2020-01-01T00:00");
  await dialog.getByText("Muss in der Zukunft liegen").waitFor();
  await dialog.getByRole("button", { name: "Abbrechen" }).click();
  await page.getByRole("button", { name: "Verwerfen" }).click();

  await goToInGerman(page, "Statistik");
  await page.getByText("Eindeutige Besucher").first().waitFor();
  await page.getByRole("region", { name: "Orte" }).waitFor();
  await page.getByText("Keine Klicks in diesem Zeitraum.").first().waitFor();

  await goToInGerman(page, "API-Schlüssel");
  await page.getByRole("columnheader", { name: "Berechtigungen" }).waitFor();
  await goToInGerman(page, "Verbrauch");
  await page.getByText("Angelegte Links pro Tag").waitFor();
}

async function chooseEnglish(page: Page): Promise<void> {
  await goToInGerman(page, "Profil");
  const choice = page.getByLabel("Anzeigesprache");
  await choice.focus();
  await choice.selectOption({ label: "English" });
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
  // The choice keeps the focus, for the keyboard.
  await page.locator("select:focus").and(page.getByLabel("Display language")).waitFor();
  expect(await documentLanguage(page)).toEqual(["en", "ltr"]);
  await page.reload();
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
  expect(await documentLanguage(page)).toEqual(["en", "ltr"]);

  await page.getByLabel("Display language").selectOption({ label: "As in the browser: Deutsch" });
  await page.getByRole("heading", { name: "Profil", exact: true, level: 1 }).waitFor();
  expect(await documentLanguage(page)).toEqual(["de", "ltr"]);
}

withBrowser("in a browser that prefers German, the dashboard", () => {
  test("is in German, with its numbers and dates, and in English as soon as that is chosen", async () => {
    const own = await dashboard.addAccount();
    for (let i = 0; i < 2; i++) await own.client.links.create({ url: `https://example.com/${i}` });
    const { page, consoleErrors } = await openSignIn(dashboard.browser, dashboard.stack, {
      locale: "de-DE",
      reducedMotion: "reduce",
    });
    await signInInGerman(page, await createUser(dashboard.stack, own.id));
    await readInGerman(page);
    await chooseEnglish(page);
    expect(consoleErrors).toEqual([]);
    await page.context().close();
  });
});

/** Returns the status of a request with the key. */
const tryKey = async (key: string): Promise<number> =>
  (await call(`${dashboard.stack.info().api_url}/v1/links`, { key })).status;

withBrowser("an account", () => {
  test("has API keys, which are shown once, limited to networks, rotated and revoked", async () => {
    await dashboard.visit(account, "/settings/keys", async (page) => {
      await page.getByRole("button", { name: "New API key" }).click();
      const dialog = page.getByRole("dialog", { name: "New API key" });
      await dialog.getByRole("button", { name: "Create key" }).click();
      await dialog.getByText("Required").waitFor();
      await dialog.getByLabel("Name").fill("From the dashboard");
      await dialog.getByLabel("analytics:read").check();
      const networks = page.getByLabel("Networks");
      const many = Array.from({ length: KEY_NETWORKS_MAX + 1 }, (_, i) => `10.0.0.${i}`);
      await networks.fill(many.join(" "));
      await dialog.getByText(`At most ${KEY_NETWORKS_MAX} items`).waitFor();
      await networks.fill("203.0.113.9\n127.0.0.0/33, ::1");
      await dialog.getByRole("button", { name: "Create key" }).click();
      await dialog
        .getByRole("alert")
        .getByText('"Networks 2": must be an IP address or a CIDR block')
        .waitFor();
      await networks.and(page.locator("[aria-invalid]:focus")).waitFor();
      await networks.fill("203.0.113.9\n127.0.0.0/8, ::1");
      await dialog.getByRole("alert").waitFor({ state: "detached" });
      await dialog.getByRole("button", { name: "Create key" }).click();
      const value = (await page.getByTestId("new-key").textContent()) ?? "";
      expect(value).toMatch(/^sk_live_\w{61}$/);
      // Escape does not close the dialog with the key.
      await page.keyboard.press("Escape");
      await page.getByTestId("new-key").waitFor();
      expect(await tryKey(value)).toBe(200);
      await page.getByRole("button", { name: "I have saved it" }).click();
      const created = rowOf(page, "From the dashboard");
      await created.getByText("Active").waitFor();
      await created.getByText("Only in 203.0.113.9/32, 127.0.0.0/8, ::1/128").waitFor();
      await created.getByText(/^Created .* by you$/).waitFor();
      await rowOf(page, "First key").getByText("by the operator").waitFor();
      expect(await page.content()).not.toContain(value);
      await goTo(page, "Links");
      await goTo(page, "API keys");
      await created.getByText(value.slice(0, 12)).waitFor();
      await page.reload();
      await created.getByText("127.0.0.0/24", { exact: true }).waitFor();
      expect(await page.content()).not.toContain(value);

      await chooseAction(page, "From the dashboard", "Rotate");
      await page.getByLabel("The old key").selectOption("0");
      expect(await networks.inputValue()).toBe("203.0.113.9/32\n127.0.0.0/8\n::1/128");
      await networks.fill("nowhere");
      await page.getByRole("button", { name: "Rotate" }).click();
      await networks.and(page.locator("[aria-invalid]")).waitFor();
      await networks.fill("");
      await page.getByRole("button", { name: "Rotate" }).click();
      const next = (await page.getByTestId("new-key").textContent()) ?? "";
      await page.getByRole("button", { name: "I have saved it" }).click();
      expect([await tryKey(value), await tryKey(next)]).toEqual([403, 200]);
      await rowOf(page, "Revoked").waitFor();
      expect(await page.getByText("Only in").count()).toBe(1);

      await rowOf(page, "Active")
        .filter({ hasText: "From the dashboard" })
        .getByRole("button")
        .click();
      await page.getByRole("menuitem", { name: "Revoke" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
      await page.getByText("The key has been revoked.").waitFor();
      expect(await tryKey(next)).toBe(403);
    });
  });

  longTest(
    "has limits, whose use is shown, also after the service could not be reached",
    async () => {
      const own = await dashboard.addAccount("free");
      for (let i = 0; i < 7; i++) await tryKey(own.key);
      await dashboard.visit(own, "/links", async (page) => {
        await page.route("**/v1/limits", (route) => route.abort("internetdisconnected"));
        await goTo(page, "Usage");
        await page.getByRole("alert").getByText("The service cannot be reached.").waitFor();
        await page.unroute("**/v1/limits");
        await page.getByRole("button", { name: "Try again" }).click();
        await page.getByRole("meter", { name: "Requests per day: 7 of 1,000 used" }).waitFor();
        await page.getByRole("meter", { name: "POST /v1/links: 0 of 100 used" }).waitFor();
        await page.getByRole("meter", { name: "API keys: 1 of 10 used" }).waitFor();
        await page.getByRole("meter", { name: "Links created per day: 0 of 2,400 used" }).waitFor();
        // What was read stays, with why it is not read again.
        await page.route("**/v1/limits", (route) => route.abort("internetdisconnected"));
        await page.getByRole("alert").getByText("The service cannot be reached.").waitFor();
        await page.getByRole("meter", { name: "API keys: 1 of 10 used" }).waitFor();
        await page.unroute("**/v1/limits");
        await page.getByRole("alert").waitFor({ state: "detached" });
      });
    },
  );

  test("has members: one is invited, joins, sees what the role allows, sets a forgotten password, and is removed", async () => {
    let invitation = "";
    await dashboard.visit(account, "/settings/members", async (page) => {
      await page.getByRole("button", { name: "Invite" }).click();
      await page.getByLabel("E-mail address").fill("invited@example.com");
      await page.getByLabel("Role", { exact: true }).selectOption("viewer");
      await page.getByRole("button", { name: "Create invitation" }).click();
      invitation = (await page.locator(".secret code").textContent()) ?? "";
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByText("invited@example.com").waitFor();
      expect(await page.content()).not.toContain(invitation);
    });
    const { page, consoleErrors } = await openSignIn(dashboard.browser, dashboard.stack);
    await page.goto(invitation);
    await page.getByText("as viewer").waitFor();
    await page.getByLabel("Your name").fill("Invited Person");
    await page.getByLabel("Choose a password").fill("short");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByText("At least 10 characters").waitFor();
    await page.getByLabel("Choose a password").fill("long enough now");
    // The invitation is used up, also if the sign-in that follows is refused.
    await page.route("**/auth/sign-in", (route) => route.fulfill({ status: 429, json: {} }));
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.unroute("**/auth/sign-in");
    await page.getByLabel("E-mail address").fill("invited@example.com");
    await page.getByLabel("Password", { exact: true }).fill("long enough now");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
    await linksTable(page).waitFor();
    expect(await page.getByRole("button", { name: "New link" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    await page.goto(`/${account.id}/live/settings/keys`);
    await page.getByText("API keys are for owners").waitFor();
    expect(consoleErrors).toEqual([]);
    await page.context().close();

    let link = "";
    await dashboard.visit(account, "/settings/members", async (page) => {
      await page.getByLabel("Role of Invited Person").selectOption("member");
      await page.getByText("The role has been changed.").waitFor();
      await page.getByRole("button", { name: "Link for a new password of Invited Person" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Create link" }).click();
      link = (await page.getByTestId("reset-link").textContent()) ?? "";
      await page.getByRole("button", { name: "Done" }).click();
    });
    await setForgottenPassword(link);

    await dashboard.visit(account, "/settings/members", async (page) => {
      await page.getByRole("button", { name: "Remove Invited Person" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await rowOf(page, "Invited Person").waitFor({ state: "detached" });
    });
  });

  test("has webhooks, created with a secret that is shown once, tested, looked at, paused and deleted", async () => {
    let status = 200;
    await using receiver = new WebhookReceiver(
      () => new Response("what the receiver said", { status }),
    );
    const own = await dashboard.addAccount("pro");
    const createLink = () => own.client.links.create({ url: "https://example.com/" });
    await dashboard.visit(own, "/webhooks", async (page) => {
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
      }, TIMEOUT_MS);
      const event = new Webhook(secret).verify(first?.body ?? "", first?.headers ?? {});
      expect(event).toMatchObject({ type: "webhook.test" });

      status = 500;
      await createLink();
      await eventually(async () => expect(receiver.got.length).toBeGreaterThan(1), TIMEOUT_MS);
      await table.getByRole("link", { name: receiver.url }).click();
      const failed = page.getByRole("row", { name: /link\.created/ });
      await failed.getByText("500 in").click();
      await failed.getByText("what the receiver said").waitFor();
      status = 200;
      await failed.getByRole("button", { name: "Actions for event_" }).click();
      await page.getByRole("menuitem", { name: "Deliver now" }).click();
      await failed.getByText("Delivered", { exact: true }).waitFor();

      await page.goBack();
      await act("Pause");
      await table.getByText("Paused").waitFor();
      const before = receiver.got.length;
      await createLink();
      await act("Delete");
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("No webhooks yet").waitFor();
      expect(receiver.got.length).toBe(before);
    });
  });

  longTest("has reports, created, changed, made, paused and deleted by members", async () => {
    const own = await dashboard.addAccount("pro");
    await dashboard.visit(
      own,
      "/reports",
      async (page) => {
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
        // It is read where it is made, and downloaded.
        const made = page.getByRole("dialog", { name: /^Monday numbers: / });
        await made.getByText("Links with the tag “spring”").waitFor();
        const [file] = await Promise.all([
          page.waitForEvent("download"),
          made.getByRole("button", { name: "Download as CSV" }).click(),
        ]);
        expect(readFileSync(await file.path(), "utf8")).toContain("Clicks,,0");
        await made.getByRole("button", { name: "Last runs" }).click();
        const runs = page.getByRole("dialog").getByRole("table", { name: "Last runs" });
        await runs.getByText("on request").waitFor();
        await page.getByRole("button", { name: "Close" }).click();

        await act("Pause");
        await row.getByText("Paused").waitFor();
        await act("Delete");
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("No reports yet").waitFor();
      },
      "member",
    );
  });

  longTest(
    "has its activity: who changed what, newest first, of a type or a link, and links to it",
    async () => {
      const own = await dashboard.addAccount("pro");
      await dashboard.join(own);
      const { links } = own.client;
      const add = (title: string) => links.create({ url: "https://example.com/", title });
      const [sale, other] = [await add("Sale"), await add("Other")];
      await links.update(sale.id, { title: "Spring sale" });
      await links.delete(other.id);
      const name = sale.short_url.replace(/^https?:\/\//, "");
      await dashboard.visit(own, "/activity", async (page) => {
        const rows = page.locator(".activity li");
        await rows.first().waitFor();
        const expectTitles = (...titles: string[]) =>
          eventually(
            async () => expect(await rows.locator("strong").allTextContents()).toEqual(titles),
            TIMEOUT_MS,
          );
        await expectTitles(
          "Link deleted",
          "Link changed",
          "Link created",
          "Link created",
          "Member joined",
          "API key created",
          "Account created",
        );
        const changed = rows.filter({ hasText: "Link changed" });
        expect(await changed.innerText()).toContain(name);
        expect(await changed.locator("dl").innerText()).toMatch(
          /Title[^]*Sale[^]*→[^]*Spring sale/,
        );
        await changed.getByText("API key").waitFor();
        // What is gone has no page.
        expect(await rows.first().getByRole("link").count()).toBe(0);

        await changed.getByRole("button", { name: `Only ${name}` }).click();
        await page.getByRole("button", { name: `No longer only ${name}` }).waitFor();
        await expectTitles("Link changed", "Link created");

        await page.getByLabel("Event").selectOption("Link created");
        await expectTitles("Link created");
        expect(new URL(page.url()).search).toBe(`?link=${sale.id}&type=link.created`);

        await page.getByLabel("Event").selectOption("Domain deleted");
        await page.getByText("Nothing happened").waitFor();
        await page.goBack();
        await rows.getByRole("link", { name: name }).click();
        await page.getByRole("heading", { name: "Spring sale" }).waitFor();

        // Older events are loaded on demand, and what a person did has the name.
        await links.createMany(
          Array.from({ length: 60 }, (_, i) => ({ url: `https://example.com/${i}` })),
        );
        await page.goto(`/${own.id}/live/links`);
        await chooseAction(page, "example.com/57", "Delete");
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("deleted").first().waitFor();
        await goTo(page, "Activity");
        await rows
          .first()
          .getByText(/^Person \d+$/)
          .waitFor();
        await rows.nth(49).waitFor();
        expect(await rows.count()).toBe(50);
        await page.getByRole("button", { name: "Load older" }).click();
        await rows.nth(66).waitFor();
        await page.getByRole("button", { name: "Load older" }).waitFor({ state: "detached" });
        const joined = rows.filter({ hasText: "Member joined" });
        expect(await joined.innerText()).toContain("The operator");
      });
    },
  );
});

type RolePage = { path: string; viewer: string; member?: string; absent?: readonly string[] };

/**
 * What viewers, and members if they see another, read on pages that they cannot change, and buttons
 * that are not for them.
 */
const ROLE_PAGES: readonly RolePage[] = [
  { path: "/links", viewer: "/for-roles", absent: ["New link"] },
  {
    path: "/domains",
    viewer: "Unknown short links redirect to",
    absent: ["Settings of", "Add domain"],
  },
  {
    path: "/webhooks",
    viewer: "Webhooks are for members and owners",
    member: "https://hooks.example.invalid/",
    absent: ["New webhook", "Actions for"],
  },
  { path: "/reports", viewer: "For all", absent: ["New report"] },
  { path: "/activity", viewer: "Activity is for owners of the account" },
  { path: "/settings/keys", viewer: "API keys are for owners" },
];

/** Pages on which members do what owners do. */
const MEMBERS_CHANGE = new Set(["/links", "/domains", "/reports"]);

/** Adds one of everything to an account; returns the id of its link. */
async function addEverything({ client }: TestAccount): Promise<string> {
  const domain = await addDomain(client, dns, "go.roles.example");
  await client.domains.update(domain, { not_found_url: "https://example.com/none" });
  await client.webhooks.create({ url: "https://hooks.example.invalid/", events: ["*"] });
  await client.reports.create({ name: "For all", period: "weekly" });
  const { id } = await client.links.create({
    url: "https://example.com/for-roles",
    rules: [{ url: "https://example.com/de", conditions: [{ type: "country", in: ["DE"] }] }],
  });
  return id;
}

/** Uses what viewers have of reports, keys and rules. */
async function useAsViewer(page: Page, root: string, link: string): Promise<void> {
  await page.goto(`${root}/reports`);
  await page.getByRole("button", { name: "Actions for For all" }).click();
  expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Last runs"]);
  await page.keyboard.press("Escape");

  await page.keyboard.press("c");
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Commands" });
  await palette.getByRole("option", { name: "Links" }).waitFor();
  expect(await palette.getByRole("option", { name: "New link" }).count()).toBe(0);
  expect(await page.getByRole("dialog", { name: "New link" }).count()).toBe(0);

  await page.goto(`${root}/links/${link}/rules`);
  const rule = page.getByRole("listitem", { name: "Rule 1" });
  expect(await rule.getByLabel("Country: one of").inputValue()).toBe("Germany");
  expect(await rule.getByLabel("Redirect to").isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Save", exact: true }).count()).toBe(0);
  await page.getByLabel("Country", { exact: true }).selectOption("DE");
  await page.getByText("Rule 1: redirects to").waitFor();
}

withBrowser("members and viewers", () => {
  test("see what their role allows, and no more", async () => {
    const own = await dashboard.addAccount();
    const link = await addEverything(own);
    const root = `/${own.id}/live`;
    const read = async (page: Page, role: "member" | "viewer") => {
      for (const { path, absent = [], ...texts } of ROLE_PAGES) {
        if (role === "member" && MEMBERS_CHANGE.has(path)) continue;
        await page.goto(root + path);
        await page
          .getByText(texts[role] ?? texts.viewer)
          .first()
          .waitFor();
        for (const name of absent)
          expect([path, name, await page.getByRole("button", { name }).count()]).toEqual([
            path,
            name,
            0,
          ]);
      }
      expect(await page.getByRole("link", { name: "Activity" }).count()).toBe(0);
      const status = await page.evaluate(
        async (path) => (await fetch(path)).status,
        `/api/${own.id}/live/v1/events`,
      );
      expect(status).toBe(403);
    };
    await dashboard.visit(own, "/links", (page) => read(page, "member"), "member");
    await dashboard.visit(
      own,
      "/links",
      async (page) => {
        await read(page, "viewer");
        await useAsViewer(page, root, link);
      },
      "viewer",
    );
  });
});

/** Looks for what to do without mails, then uses an owner's link, once. */
async function setForgottenPassword(link: string): Promise<void> {
  const { page } = await openSignIn(dashboard.browser, dashboard.stack);
  await page.getByRole("link", { name: "Forgot password?" }).click();
  await page.getByText("This service sends no mails.").waitFor();
  await page.goto(link);
  const password = page.getByLabel("New password");
  await password.fill("pepper-anchor-window");
  await page.getByRole("button", { name: "Show what is typed" }).click();
  expect(await password.getAttribute("type")).toBe("text");
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("The password has been set").waitFor();
  await page.goto(link);
  await page.getByText("This link has been used or has expired.").waitFor();
  await page.goto("/");
  await page.getByLabel("E-mail address").fill("invited@example.com");
  await page.getByLabel("Password", { exact: true }).fill("pepper-anchor-window");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
  await page.context().close();
}
