/** An account with links and clicks, and the dashboard's pages and dialogs that tests and screenshots visit. */
import type { Page } from "playwright-core";

import { createClient } from "../../clients/typescript/src/index.ts";
import { decodeId } from "../../shared/ids.ts";
import { createAccount } from "./admin.ts";
import { createUser, type TestUser } from "./dashboard.ts";
import type { Stack } from "./stack.ts";

const LINKS = [
  ["spring", "Spring sale", "https://shop.example.com/sale?season=spring", ["marketing", "q2"]],
  ["launch", "Product launch video", "https://video.example.com/watch/launch-2026", ["marketing"]],
  ["docs", "Getting started", "https://docs.example.com/guides/getting-started", ["docs"]],
  ["jobs", "We are hiring", "https://example.com/careers/engineering", []],
  ["talk", "Conference talk", "https://conf.example.com/2026/talks/short-links", ["events"]],
  ["letter", "Newsletter, November", "https://letters.example.com/2026/11?issue=42", ["marketing"]],
] as const;

const CLICKS = 24_000;

/** Inserts clicks within ClickHouse: more by day than by night, more recent than old ones. */
const HISTORY = (linkId: string, accountId: string, clicks: number) => `
  INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, region, region_name, city,
                      browser, os, device, referrer, journal_id, segment, idx)
  SELECT now64(3, 'UTC') - toUInt32(pow(rand(1) / 4294967295, 1.6) * 80 * 86400) - (rand(2) % 43200), '${linkId}',
         '${accountId}', 'live', if(number % 11 = 0, 'bot', 'human'), cityHash64(rand(3) % ${clicks}),
         ['US', 'DE', 'GB', 'IN', 'BR', 'JP', 'FR', 'AU', 'ZA', 'CA'][1 + intDiv(rand(4) % 100, 10)
           * (1 - rand(5) % 2)] AS country,
         'X', concat('Region of ', country), concat('City of ', country),
         ['Chrome', 'Safari', 'Firefox', 'Edge'][1 + rand(6) % 4],
         ['Windows', 'iOS', 'Android', 'macOS', 'Linux'][1 + rand(7) % 5],
         ['mobile', 'desktop', 'desktop', 'tablet'][1 + rand(8) % 4],
         ['direct', 'google.com', 'news.ycombinator.com', 'linkedin.com', 'bsky.app'][1 + rand(9) % 5],
         '${accountId}', 0, 0
    FROM numbers(${clicks})
  SETTINGS max_partitions_per_insert_block = 0`;

export type SeededAccount = { user: TestUser; account: string; link: string };

/** Creates the account, its users, links, clicks and a domain. */
export async function seedAccount(stack: Stack): Promise<SeededAccount> {
  const { clickhouse_url, api_url } = stack.info();
  const { id: account, key } = await createAccount(stack, "business");
  const user = await createUser(stack, account);
  await createUser(stack, account, "member");
  await createUser(stack, account, "viewer");
  const client = createClient({ baseUrl: api_url, apiKey: key });
  const ids: string[] = [];
  for (const [alias, title, url, tags] of LINKS) {
    const { id } = await client.links.create({
      alias: `tour-${alias}`,
      title,
      url,
      tags: [...tags],
    });
    ids.push(id);
    const query = HISTORY(
      decodeId("link", id) ?? "",
      decodeId("acct", account) ?? "",
      Math.round(CLICKS / ids.length ** 2),
    );
    const response = await fetch(clickhouse_url, { method: "POST", body: query });
    if (!response.ok) throw new Error(await response.text());
  }
  await client.domains.create("go.tour.example");
  return { user, account, link: ids[0] ?? "" };
}

type View = {
  name: string;
  /** Path of the page. */
  path: string;
  /** Selector that must match before the page counts as loaded. */
  ready: string;
  open?: (page: Page) => Promise<void>;
};

/** Every page, and every dialog with content of its own. */
export const listViews = ({ account, link }: SeededAccount): View[] => {
  const at = (path: string, mode = "live") => `/${account}/${mode}${path}`;
  return [
    { name: "links", path: at("/links"), ready: "table" },
    { name: "links-none", path: at("/links", "test"), ready: ".empty" },
    {
      name: "link-new",
      path: at("/links"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "New link" }).click();
        await page.getByText("UTM parameters").click();
        await page.getByLabel("Destination").fill("nonsense");
      },
    },
    {
      name: "link-menu",
      path: at("/links"),
      ready: "table",
      open: (page) => page.getByRole("button", { name: "Actions for" }).first().click(),
    },
    {
      name: "link-qr",
      path: at("/links"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "Actions for" }).first().click();
        await page.getByRole("menuitem", { name: "QR code" }).click();
        await page.getByRole("img", { name: "QR code of" }).waitFor();
      },
    },
    { name: "import", path: at("/links/import"), ready: ".file-picker" },
    {
      name: "analytics-link",
      path: at(`/links/${link}?period=90d&timezone=Europe/Berlin`),
      ready: ".country.shade-5",
    },
    {
      name: "analytics-table",
      path: at(`/links/${link}?period=7d&timezone=UTC`),
      ready: ".country.shade-5",
      async open(page) {
        await page.getByRole("button", { name: "Show as table" }).click();
        await page.getByRole("button", { name: "Custom" }).click();
      },
    },
    { name: "analytics", path: at("/analytics?timezone=UTC"), ready: ".breakdown a" },
    { name: "domains", path: at("/domains"), ready: ".dns" },
    { name: "usage", path: at("/usage"), ready: "meter" },
    { name: "keys", path: at("/settings/keys"), ready: "table" },
    {
      name: "key-new",
      path: at("/settings/keys"),
      ready: "table",
      open: (page) => page.getByRole("button", { name: "New API key" }).click(),
    },
    { name: "members", path: at("/settings/members"), ready: "table" },
    { name: "profile", path: at("/settings/profile"), ready: ".rows li" },
    { name: "nowhere", path: at("/nowhere"), ready: ".empty" },
    {
      name: "failed",
      path: at("/usage"),
      ready: ".error-state",
    },
  ];
};

/** Opens a view and waits until it is loaded. */
export async function openView(page: Page, { name, path, ready, open }: View): Promise<void> {
  if (name === "failed") await page.route("**/v1/limits", (route) => route.abort());
  await page.goto(path);
  await page.locator(ready).first().waitFor();
  await open?.(page);
  // Waits for animations to end, so that screenshots are stable.
  await page.evaluate(
    "Promise.all(document.getAnimations().filter((a) => a.effect.getTiming().iterations === 1).map((a) => a.finished))",
  );
  await page.unroute("**/v1/limits");
}

export const VARIANTS = [
  { name: "desktop-light", colorScheme: "light", viewport: { width: 1280, height: 860 } },
  { name: "desktop-dark", colorScheme: "dark", viewport: { width: 1280, height: 860 } },
  { name: "phone-light", colorScheme: "light", viewport: { width: 390, height: 844 } },
  { name: "phone-dark", colorScheme: "dark", viewport: { width: 390, height: 844 } },
] as const;
