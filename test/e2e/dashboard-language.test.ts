/**
 * Goal: the dashboard speaks the user's language, and another one as soon as it is chosen. Method: a real browser that
 * prefers German, on a real stack.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser, Page } from "playwright-core";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { chromiumPath, openBrowser, openSignIn } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const TIMEOUT_MS = 60_000;

const withBrowser = describe.skipIf(chromiumPath === undefined);

let dns: Dns;
let stack: SharedStack;
let browser: Browser;
let user: TestUser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  dns = await startDns();
  stack = await useStack({ dns });
  const account = await createAccount(stack, "enterprise");
  user = await createUser(stack, account.id);
  const client = createClient({ baseUrl: stack.info().api_url, apiKey: account.key });
  for (let i = 0; i < 2; i++) {
    await client.links.create({ url: `https://example.com/${i}`, alias: `lang-${i}` });
  }
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

async function signInInGerman(page: Page): Promise<void> {
  await page.getByLabel("E-Mail-Adresse").fill(user.email);
  await page.getByLabel("Passwort").fill(user.password);
  await page.getByRole("button", { name: "Anmelden" }).click();
  await page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
}

const goTo = (page: Page, name: string) =>
  page
    .getByRole("navigation", { name: "Hauptnavigation" })
    .getByRole("link", { name, exact: true })
    .click();

/** The language and the direction that the document declares. */
const documentLanguage = (page: Page) =>
  page.evaluate("[document.documentElement.lang, document.documentElement.dir]");

withBrowser("in a browser that prefers German, the dashboard", () => {
  test(
    "is in German, with its numbers and dates",
    async () => {
      const { page, consoleErrors } = await openSignIn(browser, stack, { locale: "de-DE" });
      await signInInGerman(page);
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

      await goTo(page, "Statistik");
      await page.getByText("Eindeutige Besucher").first().waitFor();
      await page.getByRole("region", { name: "Orte" }).waitFor();
      await page.getByText("Keine Klicks in diesem Zeitraum.").first().waitFor();

      await goTo(page, "API-Schlüssel");
      await page.getByRole("columnheader", { name: "Berechtigungen" }).waitFor();
      await goTo(page, "Verbrauch");
      await page.getByText("Angelegte Links pro Tag").waitFor();
      expect(consoleErrors).toEqual([]);
      await page.context().close();
    },
    TIMEOUT_MS,
  );

  test(
    "is in English as soon as that is chosen, and stays so",
    async () => {
      const { page, consoleErrors } = await openSignIn(browser, stack, { locale: "de-DE" });
      await signInInGerman(page);
      await goTo(page, "Profil");
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

      await page
        .getByLabel("Display language")
        .selectOption({ label: "As in the browser: Deutsch" });
      await page.getByRole("heading", { name: "Profil", exact: true, level: 1 }).waitFor();
      expect(await documentLanguage(page)).toEqual(["de", "ltr"]);
      expect(consoleErrors).toEqual([]);
      await page.context().close();
    },
    TIMEOUT_MS,
  );
});
