/** Every page and dialog of the dashboard, and what is checked on each. */
import type { Page } from "playwright-core";

import { AXE, findCutTables, findOverflow, runAxe } from "./axe.ts";
import { openContext } from "./browser.ts";
import type { DashboardBrowser } from "./dashboard-browser.ts";
import type { SeededAccount } from "./seeded-account.ts";

/** The image of the card: nothing is fetched from elsewhere. */
const CARD_IMAGE = `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630">
  <rect width="1200" height="630" fill="#f2a65a"/><circle cx="850" cy="260" r="170" fill="#fff3d6"/>
  <path d="M0 630 L420 260 L700 520 L860 400 L1200 630 Z" fill="#5b3a70"/></svg>`;

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

/** The dialogs of a page, each by its name. */
const dialogsOf = (
  path: string,
  ready: string,
  dialogs: Record<string, (page: Page) => Promise<void>>,
): View[] => Object.entries(dialogs).map(([name, open]) => ({ name, path, ready, open }));

/** Every page, and every dialog with content of its own. */
export const listViews = ({ account, link, ruled, down, webhook }: SeededAccount): View[] => {
  const at = (path: string, mode = "live") => `/${account}/${mode}${path}`;
  return [
    { name: "links", path: at("/links"), ready: "table" },
    { name: "links-none", path: at("/links", "test"), ready: ".empty" },
    ...dialogsOf(at("/links"), "table", {
      async "link-new"(page) {
        await page.getByRole("button", { name: "New link" }).click();
        await page.getByText("UTM parameters").click();
        await page.getByLabel("Destination").fill("nonsense");
      },
      async "link-discard"(page) {
        await page.getByRole("button", { name: "New link" }).click();
        await page.getByLabel("Destination").fill("example.com/unsaved");
        await page.keyboard.press("Escape");
        await page.getByRole("dialog", { name: "Discard your changes?" }).waitFor();
      },
      async "link-created"(page) {
        await page.getByRole("button", { name: "New link" }).click();
        await page.getByLabel("Destination").fill("example.com/created");
        await page.keyboard.press("Enter");
        await page.getByRole("img", { name: "QR code of" }).waitFor();
        // The list behind the dialog has it, too.
        const row = page.locator("[aria-busy=false] tbody tr", { hasText: "example.com/created" });
        await row.first().waitFor();
      },
      "links-selected": (page) => page.getByLabel("Select all links on this page").check(),
      async "links-tags"(page) {
        await page.getByLabel("Select all links on this page").check();
        await page
          .getByRole("group", { name: "Selected links" })
          .getByRole("button", { name: "Tags" })
          .click();
        await page.getByLabel("Add", { exact: true }).waitFor();
      },
      async "links-replace"(page) {
        await openChange(page, "Replace in destinations");
        await page.getByLabel("Find").fill("example.com");
      },
      "links-utm": (page) => openChange(page, "UTM parameters"),
      "links-move": (page) => openChange(page, "Move to a domain"),
      "links-password": (page) => openChange(page, "Password"),
      async "links-export"(page) {
        await page.getByRole("button", { name: "Export" }).click();
        await page.getByRole("dialog", { name: "Export links" }).waitFor();
      },
      async "link-utm-templates"(page) {
        await page.getByRole("button", { name: "New link" }).click();
        await page.getByText("UTM parameters").click();
        await page.getByRole("button", { name: "Templates" }).click();
        await page.getByRole("dialog", { name: "UTM templates" }).getByLabel("Name").waitFor();
      },
      async palette(page) {
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Pages, actions and links" }).fill("link");
        await page.getByRole("option", { name: "Conference talk" }).waitFor();
      },
      async shortcuts(page) {
        await page.keyboard.press("?");
        await page.getByLabel("Single keys are shortcuts").waitFor();
      },
      "link-menu": (page) => page.getByRole("button", { name: "Actions for" }).first().click(),
      async "link-qr"(page) {
        await page.getByRole("button", { name: "Actions for" }).first().click();
        await page.getByRole("menuitem", { name: "QR code" }).click();
        await page.getByRole("img", { name: "QR code of" }).waitFor();
      },
    }),
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
      name: "links-saved-filters",
      path: at("/links?utm_source=newsletter"),
      ready: ".empty",
      async open(page) {
        await page.getByRole("button", { name: "Saved filters" }).click();
        await page.getByRole("dialog").getByLabel("Name").waitFor();
      },
    },
    ...dialogsOf(at("/links?search=tour-card"), "table", {
      async "link-limit"(page) {
        await openEditor(page);
        await page.getByText("Schedule and state").click();
        await page.getByText("Limit and confirmation").click();
        await page.getByLabel("Click limit").scrollIntoViewIfNeeded();
      },
      async "link-preview"(page) {
        await openEditor(page);
        await page.getByText("Preview", { exact: true }).click();
        await page.getByRole("img", { name: "The card’s image" }).scrollIntoViewIfNeeded();
      },
      async "link-path"(page) {
        await openEditor(page);
        await page.getByText("Password, query and path").click();
        await page.getByText("Your own id").click();
        await page.getByLabel("External id").scrollIntoViewIfNeeded();
      },
    }),
    {
      name: "link-taken-down",
      path: at(`/links/${down}?timezone=UTC`),
      ready: ".alert",
    },
    { name: "import", path: at("/links/import"), ready: ".file-picker" },
    ...dialogsOf(at("/links/import"), ".file-picker", {
      "import-columns": chooseFile,
      async "import-checked"(page) {
        await chooseFile(page);
        await page.getByRole("button", { name: "Check 7 rows" }).click();
        await page.getByRole("table", { name: "Rows that are not imported" }).waitFor();
      },
    }),
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
    ...dialogsOf(at("/analytics?timezone=UTC"), ".heat.shade-5", {
      "analytics-add-filter": (page) => page.getByRole("button", { name: "Add filter" }).click(),
      async "share-new"(page) {
        await page.getByRole("button", { name: "Share", exact: true }).click();
        await page.getByRole("button", { name: "New share" }).click();
        await page.getByText("Embedding").click();
      },
      async "share-list"(page) {
        await page.getByRole("button", { name: "Share", exact: true }).click();
        await page.getByRole("table", { name: "Shared statistics" }).waitFor();
      },
      async "saved-views"(page) {
        await page.getByRole("button", { name: "Views", exact: true }).click();
        await page.getByLabel("Name").fill("Campaigns of this month");
        await page.getByRole("button", { name: "Save view" }).click();
        await page.getByRole("list", { name: "Saved views" }).waitFor();
      },
    }),
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
    ...dialogsOf(at("/settings/keys"), "table", {
      "key-new": (page) => page.getByRole("button", { name: "New API key" }).click(),
      async "key-rotate"(page) {
        await page.getByRole("button", { name: "Actions for CI" }).click();
        await page.getByRole("menuitem", { name: "Rotate" }).click();
      },
    }),
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
    ...dialogsOf(at("/reports"), "table", {
      "report-new": (page) => page.getByRole("button", { name: "New report" }).click(),
      async "report-runs"(page) {
        await page.getByRole("button", { name: "Actions for" }).click();
        await page.getByRole("menuitem", { name: "Last runs" }).click();
        await page.getByRole("table", { name: "Last runs" }).waitFor();
      },
    }),
    { name: "members", path: at("/settings/members"), ready: "table" },
    {
      name: "member-reset",
      path: at("/settings/members"),
      ready: "table",
      async open(page) {
        await page.getByRole("button", { name: "Link for a new password of" }).first().click();
        await page.getByRole("button", { name: "Create link" }).click();
        await page.getByRole("button", { name: "Copy link" }).waitFor();
      },
    },
    { name: "forgot-password", path: "/forgot-password", ready: "main p" },
    { name: "reset-password", path: "/reset-password/none", ready: ".alert" },
    { name: "branding", path: at("/settings/branding"), ready: ".brand-preview" },
    { name: "profile", path: at("/settings/profile"), ready: ".rows li" },
    { name: "nowhere", path: at("/nowhere"), ready: ".empty" },
    {
      name: "failed",
      path: at("/usage"),
      ready: "h1",
      async open(page) {
        await page.route("**/v1/limits", (route) => route.abort("internetdisconnected"));
        await page.reload();
        await page.locator(".error-state").waitFor();
      },
    },
  ];
};

/** As long as a name of a provider may be. */
const PROVIDER = "Identity Provider of the Example Company";

/** The page of somebody who is not signed in, by how people sign in: it asks for that. */
export const SIGN_IN_VIEWS = [
  { name: "sign-in", path: "/", methods: { provider: null, provider_only: false } },
  {
    name: "sign-in-provider",
    path: "/?sign-in=no_role",
    methods: { provider: PROVIDER, provider_only: false },
  },
  {
    name: "sign-in-provider-only",
    path: "/",
    methods: { provider: PROVIDER, provider_only: true },
  },
] as const;

/** Opens the page of somebody who is not signed in, and waits until it knows how to sign in. */
export async function openSignInView(
  page: Page,
  { path, methods }: (typeof SIGN_IN_VIEWS)[number],
): Promise<void> {
  await page.route("**/auth/methods", (route) => route.fulfill({ json: methods }));
  await page.goto(path);
  const isReady = methods.provider === null ? "input[type=password]" : `text=${methods.provider}`;
  await page.locator(isReady).waitFor();
  await page.unroute("**/auth/methods");
  await endAnimations(page);
}

/** Opens the dialog of a further change of all links on the page. */
async function openChange(page: Page, name: string): Promise<void> {
  await page.getByLabel("Select all links on this page").check();
  await page.getByRole("button", { name: "More changes" }).click();
  await page.getByRole("menuitem", { name }).click();
  await page.getByRole("dialog").waitFor();
}

/** Opens the form of the only link in the list. */
async function openEditor(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Actions for" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Destination").waitFor();
}

/**
 * Opens a view and waits until it is loaded; `isAfterPage` says that the page shows another page of
 * the dashboard without a dialog, and need not be loaded again. What it cannot load stays away, or
 * it would load it while it is looked at.
 */
export async function openView(
  page: Page,
  { path, ready, open }: View,
  isAfterPage = false,
): Promise<void> {
  await page.unroute("**/v1/limits");
  await page.unroute("https://images.example.com/**");
  await page.route("https://images.example.com/**", (route) =>
    route.fulfill({ contentType: "image/svg+xml", body: CARD_IMAGE }),
  );
  // What the page before has, too, would not show that this one is there.
  const isNew = !(await page.locator(ready).first().isVisible());
  if (isAfterPage && isNew)
    await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
  else await page.goto(path);
  await page.locator(ready).first().waitFor();
  await open?.(page);
  // Outdated rows are paler until the new ones are rendered.
  await page.locator("[aria-busy=true]:not(button)").first().waitFor({ state: "detached" });
  await endAnimations(page);
}

/** Waits until animations and transitions have ended or are cancelled: what is seen then stays. */
const endAnimations = (page: Page): Promise<unknown> =>
  page.evaluate(
    "Promise.allSettled(document.getAnimations().filter((a) => a.effect.getTiming().iterations === 1).map((a) => a.finished))",
  );

const PHONE = { width: 360, height: 780 };
const DESKTOP = { width: 1280, height: 860 };

/** Screens and color schemes, the narrowest first: what is out of reach there cannot be opened. */
export const VARIANTS = [
  { name: "phone-light", colorScheme: "light", viewport: PHONE },
  { name: "phone-dark", colorScheme: "dark", viewport: PHONE },
  { name: "desktop-light", colorScheme: "light", viewport: DESKTOP },
  { name: "desktop-dark", colorScheme: "dark", viewport: DESKTOP },
] as const;

export type Variant = (typeof VARIANTS)[number];

/** Lists what is wrong with an open page in each variant; it follows the screen and the scheme. */
async function findFaults(
  page: Page,
  view: string,
  variants: readonly Variant[],
): Promise<string[]> {
  const found: string[] = [];
  for (const { name, viewport, colorScheme } of variants) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await endAnimations(page);
    const where = `${view}, ${name}`;
    found.push(...(await runAxe(page, where)));
    found.push(...(await findOverflow(page, where)));
    found.push(...(await findCutTables(page, where)));
  }
  return found;
}

/**
 * Opens every view in a language, and lists what is wrong with it in each variant. The steps to
 * dialogs are in English; in other languages only pages are opened.
 */
export async function checkViews(
  browser: DashboardBrowser,
  seeded: SeededAccount,
  variants: readonly Variant[],
  language: "en" | "de" = "en",
): Promise<string[]> {
  const { page, consoleErrors } = await openContext(browser.browser, browser.stack, {
    locale: language,
    viewport: variants[0]?.viewport ?? DESKTOP,
    // What is looked at is what stays when animations have ended: drawing them would only take
    // time.
    reducedMotion: "reduce",
    // The page's content security policy blocks axe's script.
    bypassCSP: true,
  });
  await page.context().addInitScript({ path: AXE });
  const found: string[] = [];
  for (const view of SIGN_IN_VIEWS) {
    await openSignInView(page, view);
    found.push(...(await findFaults(page, `${language} ${view.name}`, variants)));
  }
  await browser.addSession(page, seeded.user);
  let isAfterPage = false;
  for (const view of listViews(seeded)) {
    if (language !== "en" && view.open !== undefined) continue;
    await openView(page, view, isAfterPage);
    found.push(...(await findFaults(page, `${language} ${view.name}`, variants)));
    isAfterPage = view.open === undefined;
  }
  for (const url of [seeded.share, `${seeded.share}?timezone=Atlantis`, seeded.locked]) {
    await page.goto(url);
    found.push(...(await findFaults(page, `${language} ${url}`, variants)));
  }
  await page.context().close();
  return [...found, ...consoleErrors];
}
