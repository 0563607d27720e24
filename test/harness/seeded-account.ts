/**
 * An account with links and clicks, and the dashboard's pages and dialogs that tests and
 * screenshots visit.
 */
import type { Page } from "playwright-core";

import { type Client, createClient, type NewLink } from "../../clients/typescript/src/index.ts";
import { decodeId } from "../../shared/ids.ts";
import { admin, createAccount } from "./admin.ts";
import { createUser, type TestUser } from "./dashboard.ts";
import type { Dns } from "./dns.ts";
import { createPng } from "./png.ts";
import type { SharedStack } from "./stack.ts";

const LINKS = [
  ["spring", "Spring sale", "https://shop.example.com/sale?season=spring", ["marketing", "q2"]],
  ["launch", "Product launch video", "https://video.example.com/watch/launch-2026", ["marketing"]],
  ["docs", "Getting started", "https://docs.example.com/guides/getting-started", ["docs"]],
  ["jobs", "We are hiring", "https://example.com/careers/engineering", []],
  ["talk", "Conference talk", "https://conf.example.com/2026/talks/short-links", ["events"]],
  ["letter", "Newsletter, November", "https://letters.example.com/2026/11?issue=42", ["marketing"]],
] as const;

const RULED: NewLink = {
  alias: "tour-app",
  title: "The app",
  url: "https://example.com/app",
  rules: [
    {
      url: "https://apps.apple.com/app/id1",
      conditions: [
        { type: "os", in: ["iOS"] },
        { type: "device", in: ["tablet"] },
      ],
    },
    {
      url: "https://example.com/de",
      conditions: [
        { type: "country", in: ["DE", "AT"] },
        {
          type: "schedule",
          time_zone: "Europe/Berlin",
          days: [1, 2, 3, 4, 5, 6, 7],
          from: "00:00",
          to: "24:00",
        },
      ],
    },
  ],
  split: {
    arms: [
      { url: "https://example.com/app-b", weight: 30 },
      { url: "https://example.com/app-c", weight: 20 },
    ],
  },
};

/** A link with settings, and links in every state that lists show. */
const SET: NewLink = {
  alias: "tour-card",
  title: "Invitation",
  url: "https://example.com/party",
  max_clicks: 250,
  starts_at: "2026-01-01T08:00:00Z",
  expires_at: "2099-01-01T00:00:00Z",
  preview: {
    title: "You are invited",
    description: "An evening with friends, music and a very long table. Bring whom you like.",
    image: "https://images.example.com/card.svg",
  },
};

const STATES: readonly NewLink[] = [
  { alias: "tour-off", title: "Last year’s sale", url: "https://example.com/old", disabled: true },
  {
    alias: "tour-soon",
    title: "Next year",
    url: "https://example.com/n",
    starts_at: "2098-01-01T00:00:00Z",
  },
  { alias: "tour-down", title: "A guest’s page", url: "https://guests.example.com/1" },
];

/** The image of the card: nothing is fetched from elsewhere. */
const CARD_IMAGE = `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630">
  <rect width="1200" height="630" fill="#f2a65a"/><circle cx="850" cy="260" r="170" fill="#fff3d6"/>
  <path d="M0 630 L420 260 L700 520 L860 400 L1200 630 Z" fill="#5b3a70"/></svg>`;

const CLICKS = 24_000;

/** Inserts clicks within ClickHouse: more by day than by night, more recent than old ones. */
const HISTORY = (linkId: string, accountId: string, clicks: number) => `
  INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, region, region_name, city,
                      browser, os, device, referrer, utm_source, journal_id, segment, idx)
  SELECT now64(3, 'UTC') - toUInt32(pow(rand(1) / 4294967295, 1.6) * 80 * 86400) - (rand(2) % 43200), '${linkId}',
         '${accountId}', 'live', if(number % 11 = 0, 'bot', 'human'), cityHash64(rand(3) % ${clicks}),
         ['US', 'DE', 'GB', 'IN', 'BR', 'JP', 'FR', 'AU', 'ZA', 'CA'][1 + intDiv(rand(4) % 100, 10)
           * (1 - rand(5) % 2)] AS country,
         'X', concat('Region of ', country), concat('City of ', country),
         ['Chrome', 'Safari', 'Firefox', 'Edge'][1 + rand(6) % 4],
         ['Windows', 'iOS', 'Android', 'macOS', 'Linux'][1 + rand(7) % 5],
         ['mobile', 'desktop', 'desktop', 'tablet'][1 + rand(8) % 4],
         ['direct', 'google.com', 'news.ycombinator.com', 'linkedin.com', 'bsky.app'][1 + rand(9) % 5],
         ['newsletter', '', 'ads'][1 + rand(10) % 3],
         '${accountId}', 0, 0
    FROM numbers(${clicks})
  SETTINGS max_partitions_per_insert_block = 0`;

/** Inserts failed requests for a link, of the last days. */
const FAILURES = (linkId: string, accountId: string) => `
  INSERT INTO failures (account_id, mode, domain, link_id, reason, bucket, requests)
  SELECT '${accountId}', 'live', '', '${linkId}', ['expired', 'wrong_password', 'limit_reached'][1 + number % 3],
         toStartOfHour(now()) - number * 86400, 1 + number
    FROM numbers(12)`;

export type SeededAccount = {
  user: TestUser;
  account: string;
  /** The link with most of the clicks, one with rules and a split, and one that is taken down. */
  link: string;
  ruled: string;
  down: string;
  /** The page of shared statistics of the account, with its branding. */
  share: string;
  /** A webhook whose receiver cannot be reached. */
  webhook: string;
};

/** Creates the account, its users, links, clicks and a domain. */
export async function seedAccount(stack: SharedStack, dns: Dns): Promise<SeededAccount> {
  const { clickhouse_url, api_url } = stack.info();
  const { id: account, key } = await createAccount(stack, "business");
  const user = await createUser(stack, account);
  await createUser(stack, account, "member");
  await createUser(stack, account, "viewer");
  const client = createClient({ baseUrl: api_url, apiKey: key });
  // Before the links: it gets an event for each. Nobody can have this name (RFC 6761).
  const webhook = await client.webhooks.create({
    url: "https://hooks.example.invalid/shorthop",
    events: ["link.created", "link.updated"],
    description: "The shop's stock",
  });
  const report = await client.reports.create({ name: "Monday numbers", period: "weekly" });
  await client.reports.send(report.id);
  const ids: string[] = [];
  for (const [alias, title, url, tags] of LINKS) {
    const { id } = await client.links.create({
      alias: `tour-${alias}`,
      title,
      url,
      tags: [...tags],
    });
    ids.push(id);
    const [linkId = "", accountId = ""] = [decodeId("link", id), decodeId("acct", account)];
    for (const body of [
      HISTORY(linkId, accountId, Math.round(CLICKS / ids.length ** 2)),
      FAILURES(linkId, accountId),
    ]) {
      const response = await fetch(clickhouse_url, { method: "POST", body });
      if (!response.ok) throw new Error(await response.text());
    }
  }
  await client.links.update(ids.at(-1) ?? "", {
    title: "Newsletter, November 2026",
    tags: ["marketing", "letters"],
    expires_at: "2099-01-01T00:00:00Z",
  });
  await client.domains.create("go.tour.example");
  await client.shares.create({
    name: "For the customer",
    breakdowns: ["country", "utm_campaign"],
    password: "a long password",
    expires_at: "2099-01-01T00:00:00Z",
  });
  await client.branding.update({
    name: "Tour & Sons",
    color: "#0f766e",
    logo: createPng(240, 56).toString("base64"),
  });
  const { url: share } = await client.shares.create({
    name: "Spring campaign",
    timezone: "Europe/Berlin",
    breakdowns: ["country", "city", "device", "browser", "referrer", "utm_source"],
  });
  await createDomainWithSettings(client, dns);
  const { data } = await client.links.createMany([...STATES, SET, RULED]);
  await admin(stack, ["links", "disable", "--alias", "tour-down"]);
  const [down, , ruled] = data.slice(-3).map((entry) => ("link" in entry ? entry.link.id : ""));
  return {
    user,
    account,
    link: ids[0] ?? "",
    ruled: ruled ?? "",
    down: down ?? "",
    share,
    webhook: webhook.id,
  };
}

async function createDomainWithSettings(client: Client, dns: Dns): Promise<void> {
  const { id, verification } = await client.domains.create("sho.tour.example");
  dns.set(verification.name, [verification.value]);
  await client.domains.verify(id);
  await client.domains.update(id, {
    root_url: "https://www.tour.example/",
    not_found_url: "https://www.tour.example/not-found",
    case_sensitive: false,
    assetlinks: [{ relation: ["delegate_permission/common.handle_all_urls"] }],
  });
}

/** An export with everything that an import has to say something about. */
const IMPORTED = `Link,Custom Link,Date created,Title,Destination URL,Engagements,Status,Folder
https://bit.ly/3xYzAbc,https://bit.ly/spring-brochure,2024-03-01T10:00:00+0000,Spring brochure,https://example.com/spring,812,Active,Print
https://bit.ly/4aBcDef,,2023-01-01T10:00:00+0000,"A very long title of a link that somebody has written in full, for whatever reason",https://example.com/a/very/long/path/that/goes/on/and/on?and=has&a=query,3,Archived,
https://bit.ly/tour-docs,,2023-01-01T10:00:00+0000,In use,https://example.com/docs,3,Active,
https://bit.ly/5gHiJkl,,2023-01-01T10:00:00+0000,Deleted,https://example.com/deleted,0,Deleted,
https://bit.ly/6mNoPqr,,2023-01-01T10:00:00+0000,No URL,not a url,0,Active,
https://bit.ly/7/two,,2023-01-01T10:00:00+0000,Two parts,https://example.com/two,0,Active,
https://bit.ly/8sTuVwx,,2023-01-01T10:00:00+0000,Strange,https://example.com/strange,0,Frozen,
`;

async function chooseFile(page: Page): Promise<void> {
  await page.getByLabel("Choose a CSV file").setInputFiles({
    name: "bitly.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(IMPORTED),
  });
  await page.getByRole("table", { name: "First rows" }).waitFor();
}

export type View = {
  name: string;
  /** Path of the page. */
  path: string;
  /** Selector that must match before the page counts as loaded. */
  ready: string;
  open?: (page: Page) => Promise<void>;
};

/** Every page, and every dialog with content of its own. */
export const listViews = ({ account, link, ruled, down, webhook }: SeededAccount): View[] => {
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
      name: "link-discard",
      path: at("/links"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "New link" }).click();
        await page.getByLabel("Destination").fill("example.com/unsaved");
        await page.keyboard.press("Escape");
        await page.getByRole("dialog", { name: "Discard your changes?" }).waitFor();
      },
    },
    {
      name: "link-created",
      path: at("/links"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "New link" }).click();
        await page.getByLabel("Destination").fill("example.com/created");
        await page.keyboard.press("Enter");
        await page.getByRole("img", { name: "QR code of" }).waitFor();
        // The list behind the dialog has it, too.
        const row = page.locator("[aria-busy=false] tbody tr", { hasText: "example.com/created" });
        await row.first().waitFor();
      },
    },
    {
      name: "links-selected",
      path: at("/links"),
      ready: "table",
      open: (page) => page.getByLabel("Select all links on this page").check(),
    },
    {
      name: "links-tags",
      path: at("/links"),
      ready: "table",
      async open(page) {
        await page.getByLabel("Select all links on this page").check();
        await page
          .getByRole("group", { name: "Selected links" })
          .getByRole("button", { name: "Tags" })
          .click();
        await page.getByLabel("Add", { exact: true }).waitFor();
      },
    },
    {
      name: "links-filter",
      path: at("/links?tag=marketing"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "Filter", exact: true }).click();
        await page.getByRole("group", { name: "Filter" }).getByLabel("Tag").waitFor();
      },
    },
    {
      name: "palette",
      path: at("/links"),
      ready: "table",
      async open(page) {
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Pages, actions and links" }).fill("link");
        await page.getByRole("option", { name: "Conference talk" }).waitFor();
      },
    },
    {
      name: "shortcuts",
      path: at("/links"),
      ready: "table",
      async open(page) {
        await page.keyboard.press("?");
        await page.getByLabel("Single keys are shortcuts").waitFor();
      },
    },
    {
      name: "link-limit",
      path: at("/links?search=tour-card"),
      ready: "table",
      async open(page) {
        await openEditor(page);
        await page.getByText("Schedule and state").click();
        await page.getByText("Limit and confirmation").click();
        await page.getByLabel("Click limit").scrollIntoViewIfNeeded();
      },
    },
    {
      name: "link-preview",
      path: at("/links?search=tour-card"),
      ready: "table",
      async open(page) {
        await openEditor(page);
        await page.getByText("Preview", { exact: true }).click();
        await page.getByRole("img", { name: "The card’s image" }).scrollIntoViewIfNeeded();
      },
    },
    {
      name: "link-path",
      path: at("/links?search=tour-card"),
      ready: "table",
      async open(page) {
        await openEditor(page);
        await page.getByText("Password, query and path").click();
        await page.getByText("Your own id").click();
        await page.getByLabel("External id").scrollIntoViewIfNeeded();
      },
    },
    {
      name: "link-taken-down",
      path: at(`/links/${down}?timezone=UTC`),
      ready: ".alert",
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
    { name: "import-columns", path: at("/links/import"), ready: ".file-picker", open: chooseFile },
    {
      name: "import-checked",
      path: at("/links/import"),
      ready: ".file-picker",
      async open(page) {
        await chooseFile(page);
        await page.getByRole("button", { name: "Check 7 rows" }).click();
        await page.getByRole("table", { name: "Rows that are not imported" }).waitFor();
      },
    },
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
    {
      name: "analytics-filtered",
      path: at("/analytics?timezone=UTC&country=DE&device=-tablet&compare=previous"),
      ready: ".heat.shade-5",
    },
    {
      name: "analytics-all-values",
      path: at(`/links/${link}?timezone=UTC`),
      ready: ".heat.shade-5",
      async open(page) {
        await page.getByRole("button", { name: "All countries" }).click();
        await page.getByRole("dialog").getByRole("table").waitFor();
      },
    },
    {
      name: "share-new",
      path: at("/analytics?timezone=UTC"),
      ready: ".heat.shade-5",
      async open(page) {
        await page.getByRole("button", { name: "Share", exact: true }).click();
        await page.getByRole("button", { name: "New share" }).click();
        await page.getByText("Embedding").click();
      },
    },
    {
      name: "share-list",
      path: at("/analytics?timezone=UTC"),
      ready: ".heat.shade-5",
      async open(page) {
        await page.getByRole("button", { name: "Share", exact: true }).click();
        await page.getByRole("table", { name: "Shared statistics" }).waitFor();
      },
    },
    {
      name: "saved-views",
      path: at("/analytics?timezone=UTC"),
      ready: ".heat.shade-5",
      async open(page) {
        await page.getByRole("button", { name: "Views", exact: true }).click();
        await page.getByLabel("Name").fill("Campaigns of this month");
        await page.getByRole("button", { name: "Save view" }).click();
        await page.getByRole("list", { name: "Saved views" }).waitFor();
      },
    },
    {
      name: "rules",
      path: at(`/links/${ruled}/rules`),
      ready: ".rules-page .explanation li",
      async open(page) {
        await page.getByLabel("Country", { exact: true }).selectOption("DE");
        await page.getByText("Rule 2: redirects to").waitFor();
      },
    },
    { name: "live", path: at("/live"), ready: ".stat" },
    { name: "tags", path: at("/tags?timezone=UTC"), ready: "table .tag" },
    { name: "tag", path: at("/tags/marketing?timezone=UTC"), ready: ".breakdown a" },
    { name: "domains", path: at("/domains"), ready: ".dns" },
    {
      name: "domain-settings",
      path: at("/domains"),
      ready: ".dns",
      async open(page) {
        await page.getByRole("button", { name: "Settings of sho.tour.example" }).click();
        await page.getByText("Files for apps").click();
      },
    },
    { name: "usage", path: at("/usage"), ready: "meter" },
    { name: "keys", path: at("/settings/keys"), ready: "table" },
    {
      name: "key-new",
      path: at("/settings/keys"),
      ready: "table",
      open: (page) => page.getByRole("button", { name: "New API key" }).click(),
    },
    { name: "activity", path: at("/activity"), ready: ".activity li" },
    {
      name: "activity-link",
      path: at(`/activity?type=link.created&link=${link}`),
      ready: ".activity li",
    },
    { name: "activity-none", path: at("/activity?type=webhook.disabled"), ready: ".empty" },
    { name: "webhooks", path: at("/webhooks"), ready: "table" },
    {
      name: "webhook-new",
      path: at("/webhooks"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "New webhook" }).click();
        await page.getByLabel("URL").fill("nonsense");
      },
    },
    { name: "webhook-deliveries", path: at(`/webhooks/${webhook}`), ready: "table" },
    { name: "reports", path: at("/reports"), ready: "table" },
    {
      name: "report-new",
      path: at("/reports"),
      ready: "table",
      open: (page) => page.getByRole("button", { name: "New report" }).click(),
    },
    {
      name: "report-runs",
      path: at("/reports"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "Actions for" }).click();
        await page.getByRole("menuitem", { name: "Last runs" }).click();
        await page.getByRole("table", { name: "Last runs" }).waitFor();
      },
    },
    { name: "members", path: at("/settings/members"), ready: "table" },
    { name: "branding", path: at("/settings/branding"), ready: ".brand-preview" },
    { name: "profile", path: at("/settings/profile"), ready: ".rows li" },
    { name: "nowhere", path: at("/nowhere"), ready: ".empty" },
    {
      name: "failed",
      path: at("/usage"),
      ready: ".error-state",
    },
  ];
};

/** Opens the form of the only link in the list. */
async function openEditor(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Actions for" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Destination").waitFor();
}

/**
 * Opens a view and waits until it is loaded. What it cannot load stays away, or it would load it
 * while it is looked at.
 */
export async function openView(page: Page, { name, path, ready, open }: View): Promise<void> {
  await page.unroute("**/v1/limits");
  await page.unroute("https://images.example.com/**");
  if (name === "failed") await page.route("**/v1/limits", (route) => route.abort());
  await page.route("https://images.example.com/**", (route) =>
    route.fulfill({ contentType: "image/svg+xml", body: CARD_IMAGE }),
  );
  await page.goto(path);
  await page.locator(ready).first().waitFor();
  await open?.(page);
  // Outdated rows are paler until the new ones are rendered.
  await page.locator("[aria-busy=true]:not(button)").first().waitFor({ state: "detached" });
  await endAnimations(page);
}

/** Waits until animations and transitions have ended or are cancelled: what is seen then stays. */
export const endAnimations = (page: Page): Promise<unknown> =>
  page.evaluate(
    "Promise.allSettled(document.getAnimations().filter((a) => a.effect.getTiming().iterations === 1).map((a) => a.finished))",
  );

export const VARIANTS = [
  { name: "desktop-light", colorScheme: "light", viewport: { width: 1280, height: 860 } },
  { name: "desktop-dark", colorScheme: "dark", viewport: { width: 1280, height: 860 } },
  { name: "phone-light", colorScheme: "light", viewport: { width: 390, height: 844 } },
  { name: "phone-dark", colorScheme: "dark", viewport: { width: 390, height: 844 } },
] as const;
