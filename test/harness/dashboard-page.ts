/** What people do on pages of the dashboard, and what they look for there. */
import type { Locator, Page } from "playwright-core";

import type { Client } from "../../clients/typescript/src/index.ts";
import type { Dns } from "./dns.ts";

/** Goes to a page by the navigation. */
export const goTo = (page: Page, name: string): Promise<void> =>
  page.getByRole("navigation", { name: "Main" }).getByRole("link", { name, exact: true }).click();

export const rowOf = (page: Page, text: string): Locator =>
  page.getByRole("row").filter({ hasText: text });

/** Chooses an action in the menu of a row. */
export async function chooseAction(page: Page, row: string, action: string): Promise<void> {
  await rowOf(page, row).getByRole("button", { name: "Actions for" }).click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

export const paramsOf = (page: Page): URLSearchParams => new URL(page.url()).searchParams;

export const isFocused = (page: Page, control: Locator): Promise<void> =>
  control.and(page.locator(":focus")).waitFor();

/** Most presses of Tab to a control: a page, its frame and a dialog have fewer. */
const TABS_MAX = 80;

/** Presses Tab until the control has the focus. Throws if it is not reached. */
export async function tabTo(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  const focused = control.and(page.locator(":focus"));
  for (let presses = 0; presses <= TABS_MAX; presses++) {
    if ((await focused.count()) === 1) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${control.toString()}.`);
}

/** Reaches a control with Tab and presses Enter on it. */
export async function enter(page: Page, control: Locator): Promise<void> {
  await tabTo(page, control);
  await page.keyboard.press("Enter");
}

/** Reaches a field with Tab, and replaces its text. */
export async function write(page: Page, field: Locator, text: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

export const readClipboard = async (page: Page): Promise<string> =>
  String(await page.evaluate("navigator.clipboard.readText()"));

/** Adds a domain that is verified; returns its id. */
export async function addDomain(client: Client, dns: Dns, host: string): Promise<string> {
  const { id, verification } = await client.domains.create(host);
  dns.set(verification.name, [verification.value]);
  await client.domains.verify(id);
  return id;
}

/** Where a link leads: its destination, or the status of a page. */
export async function follow(
  url: string,
  headers: Record<string, string> = {},
): Promise<string | number> {
  const response = await fetch(url, { redirect: "manual", headers });
  return response.headers.get("location") ?? response.status;
}
