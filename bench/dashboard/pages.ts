/** The pages of the dashboard that are measured, and what people do on them. */
import type { Page } from "playwright-core";

export type MeasuredPage = {
  name: string;
  path: string;
  /** Selector of the page's content. */
  ready: string;
  /** What people do once the page is shown; each step is an interaction that is measured. */
  use?: (page: Page) => Promise<void>;
};

/** Pauses of somebody who types, in milliseconds. */
const TYPING = { delay: 60 };

async function useLinks(page: Page): Promise<void> {
  await page.getByLabel("Search links").pressSequentially("summer", TYPING);
  await page.waitForURL(/search=summer/);
  await page.waitForLoadState("networkidle");
  await page.getByLabel("Select all links on this page").click();
  await page.getByRole("group", { name: "Selected links" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "New link" }).click();
  await page.getByLabel("Destination").pressSequentially("example.com/a", TYPING);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").first().waitFor({ state: "hidden" });
  await page.keyboard.press("Control+k");
  await page
    .getByRole("combobox", { name: "Pages, actions and links" })
    .pressSequentially("sale", TYPING);
  await page.keyboard.press("Escape");
}

async function useAnalytics(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Show as table" }).click();
  await page.getByLabel("Compare with").selectOption("none");
  await page.getByRole("button", { name: "7 days" }).click();
  await page.locator(".breakdown button").first().click();
  await page.getByRole("group", { name: "Filters" }).waitFor();
}

/** Every page of an account; `link` is one with many clicks. */
export const listPages = (account: string, link: string): MeasuredPage[] => {
  const at = (path: string) => `/${account}/live${path}`;
  return [
    { name: "links", path: at("/links"), ready: "table", use: useLinks },
    {
      name: "link",
      path: at(`/links/${link}?period=30d`),
      ready: ".country.shade-5",
      use: useAnalytics,
    },
    {
      name: "analytics",
      path: at("/analytics?period=30d"),
      ready: ".heat.shade-5",
      use: useAnalytics,
    },
    {
      name: "analytics, counts",
      path: at("/analytics?period=30d"),
      ready: "[data-stat=total_clicks]",
    },
    {
      name: "tags",
      path: at("/tags"),
      ready: "table .tag",
      use: (page) => page.getByLabel("Search tags").pressSequentially("sale", TYPING),
    },
    { name: "tag", path: at("/tags/sale"), ready: ".stat" },
    { name: "rules", path: at(`/links/${link}/rules`), ready: ".rules-page" },
    { name: "import", path: at("/links/import"), ready: ".file-picker" },
    { name: "live", path: at("/live"), ready: ".stat" },
    { name: "domains", path: at("/domains"), ready: "main h1" },
    { name: "usage", path: at("/usage"), ready: "meter" },
    { name: "keys", path: at("/settings/keys"), ready: "table" },
    { name: "members", path: at("/settings/members"), ready: "table" },
    { name: "branding", path: at("/settings/branding"), ready: ".brand-preview" },
    { name: "profile", path: at("/settings/profile"), ready: ".rows li" },
  ];
};
