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

/** Something that is done to open a dialog, or to wait for it. */
type Step = (page: Page) => Promise<unknown>;

const toStep =
  <T extends unknown[]>(take: (page: Page, ...given: T) => Promise<unknown>) =>
  (...given: T): Step =>
  (page) =>
    take(page, ...given);

const press = toStep((page, name: string, exact: boolean = false) =>
  page.getByRole("button", { name, exact }).first().click(),
);
const choose = toStep((page, name: string) => page.getByRole("menuitem", { name }).click());
const click = toStep((page, text: string, exact: boolean = false) =>
  page.getByText(text, { exact }).click(),
);
const check = toStep((page, label: string) => page.getByLabel(label).check());
const fill = toStep((page, label: string, text: string) => page.getByLabel(label).fill(text));
const type = toStep((page, key: string) => page.keyboard.press(key));
const scrollTo = toStep((page, label: string) => page.getByLabel(label).scrollIntoViewIfNeeded());
const see = toStep((page, selector: string) => page.locator(selector).first().waitFor());
const seeField = toStep((page, label: string, exact: boolean = false) =>
  page.getByLabel(label, { exact }).waitFor(),
);

const chooseFile: Step = async (page) => {
  const buffer = Buffer.from(IMPORTED);
  const file = { name: "bitly.csv", mimeType: "text/csv", buffer };
  await page.getByLabel("Choose a CSV file").setInputFiles(file);
  await page.getByRole("table", { name: "First rows" }).waitFor();
};

const SELECT_ALL = check("Select all links on this page");

/** Opens the dialog of a further change of all links on the page. */
const toChange = (name: string): Step[] => [
  SELECT_ALL,
  press("More changes"),
  choose(name),
  see("role=dialog"),
];

/** Opens the form of the only link in the list. */
const EDIT: readonly Step[] = [press("Actions for"), choose("Edit"), seeField("Destination")];

export type View = {
  name: string;
  /** Path of the page. */
  path: string;
  /** Selector that must match before the page counts as loaded. */
  ready: string;
  open?: (page: Page) => Promise<void>;
};

/** The dialogs of a page, each by its name. */
const dialogsOf = (path: string, ready: string, dialogs: Record<string, readonly Step[]>): View[] =>
  Object.entries(dialogs).map(([name, steps]) => ({
    name,
    path,
    ready,
    async open(page) {
      for (const step of steps) await step(page);
    },
  }));

/** Every page, and every dialog with content of its own. */
export const listViews = ({ account, link, ruled, down, webhook }: SeededAccount): View[] => {
  const at = (path: string, mode = "live") => `/${account}/${mode}${path}`;
  return [
    { name: "links", path: at("/links"), ready: "table" },
    { name: "links-none", path: at("/links", "test"), ready: ".empty" },
    ...dialogsOf(at("/links"), "table", {
      "link-new": [press("New link"), click("UTM parameters"), fill("Destination", "nonsense")],
      "link-discard": [
        press("New link"),
        fill("Destination", "example.com/unsaved"),
        type("Escape"),
        see("role=dialog[name=/Discard your changes/]"),
      ],
      "link-created": [
        press("New link"),
        fill("Destination", "example.com/created"),
        type("Enter"),
        see("role=img[name=/QR code of/]"),
        // The list behind the dialog has it, too.
        see("[aria-busy=false] tbody tr:has-text('example.com/created')"),
      ],
      "links-selected": [SELECT_ALL],
      "links-tags": [
        SELECT_ALL,
        (page) =>
          page
            .getByRole("group", { name: "Selected links" })
            .getByRole("button", { name: "Tags" })
            .click(),
        seeField("Add", true),
      ],
      "links-replace": [...toChange("Replace in destinations"), fill("Find", "example.com")],
      "links-utm": toChange("UTM parameters"),
      "links-move": toChange("Move to a domain"),
      "links-password": toChange("Password"),
      "links-export": [press("Export"), see("role=dialog[name=/Export links/]")],
      "link-utm-templates": [
        press("New link"),
        click("UTM parameters"),
        press("Templates"),
        see("role=dialog[name=/UTM templates/] >> role=textbox[name=/Name/]"),
      ],
      palette: [
        type("Control+k"),
        fill("Pages, actions and links", "link"),
        see("role=option[name=/Conference talk/]"),
      ],
      shortcuts: [type("?"), seeField("Single keys are shortcuts")],
      "link-menu": [press("Actions for")],
      "link-qr": [press("Actions for"), choose("QR code"), see("role=img[name=/QR code of/]")],
    }),
    ...dialogsOf(at("/links?tag=marketing"), "table", {
      "links-filter": [
        press("Filter", true),
        (page) => page.getByRole("group", { name: "Filter" }).getByLabel("Tag").waitFor(),
      ],
    }),
    ...dialogsOf(at("/links?utm_source=newsletter"), ".empty", {
      "links-saved-filters": [
        press("Saved filters"),
        see("role=dialog >> role=textbox[name=/Name/]"),
      ],
    }),
    ...dialogsOf(at("/links?search=tour-card"), "table", {
      "link-limit": [
        ...EDIT,
        click("Schedule and state"),
        click("Limit and confirmation"),
        scrollTo("Click limit"),
      ],
      "link-preview": [
        ...EDIT,
        click("Preview", true),
        (page) => page.getByRole("img", { name: "The card’s image" }).scrollIntoViewIfNeeded(),
      ],
      "link-path": [
        ...EDIT,
        click("Password, query and path"),
        click("Your own id"),
        scrollTo("External id"),
      ],
    }),
    { name: "link-taken-down", path: at(`/links/${down}?timezone=UTC`), ready: ".alert" },
    { name: "import", path: at("/links/import"), ready: ".file-picker" },
    ...dialogsOf(at("/links/import"), ".file-picker", {
      "import-columns": [chooseFile],
      "import-checked": [
        chooseFile,
        press("Check 7 rows"),
        see("role=table[name=/Rows that are not imported/]"),
      ],
    }),
    {
      name: "analytics-link",
      path: at(`/links/${link}?period=90d&timezone=Europe/Berlin`),
      ready: ".country.shade-5",
    },
    ...dialogsOf(at(`/links/${link}?period=7d&timezone=UTC`), ".country.shade-5", {
      "analytics-table": [press("Show as table"), press("Custom")],
    }),
    { name: "analytics", path: at("/analytics?timezone=UTC"), ready: ".breakdown a" },
    {
      name: "analytics-filtered",
      path: at("/analytics?timezone=UTC&country=DE&device=-tablet&compare=previous"),
      ready: ".heat.shade-5",
    },
    ...dialogsOf(at("/analytics?timezone=UTC"), ".heat.shade-5", {
      "analytics-add-filter": [press("Add filter")],
      "share-new": [press("Share", true), press("New share"), click("Embedding")],
      "share-list": [press("Share", true), see("role=table[name=/Shared statistics/]")],
      "saved-views": [
        press("Views", true),
        fill("Name", "Campaigns of this month"),
        press("Save view"),
        see("role=list[name=/Saved views/]"),
      ],
    }),
    ...dialogsOf(at(`/links/${link}?timezone=UTC`), ".heat.shade-5", {
      "analytics-all-values": [press("All countries"), see("role=dialog >> role=table")],
    }),
    ...dialogsOf(at(`/links/${ruled}/rules`), ".rules-page .explanation li", {
      rules: [
        (page) => page.getByLabel("Country", { exact: true }).selectOption("DE"),
        see("text=Rule 2: redirects to"),
      ],
    }),
    { name: "live", path: at("/live"), ready: ".stat" },
    { name: "tags", path: at("/tags?timezone=UTC"), ready: "table .tag" },
    { name: "tag", path: at("/tags/marketing?timezone=UTC"), ready: ".breakdown a" },
    { name: "domains", path: at("/domains"), ready: ".dns" },
    ...dialogsOf(at("/domains"), ".dns", {
      "domain-settings": [press("Settings of sho.tour.example"), click("Files for apps")],
    }),
    { name: "usage", path: at("/usage"), ready: "meter" },
    { name: "keys", path: at("/settings/keys"), ready: "table" },
    ...dialogsOf(at("/settings/keys"), "table", {
      "key-new": [press("New API key")],
      "key-rotate": [press("Actions for CI"), choose("Rotate")],
    }),
    { name: "activity", path: at("/activity"), ready: ".activity li" },
    {
      name: "activity-link",
      path: at(`/activity?type=link.created&link=${link}`),
      ready: ".activity li",
    },
    { name: "activity-none", path: at("/activity?type=webhook.disabled"), ready: ".empty" },
    { name: "webhooks", path: at("/webhooks"), ready: "table" },
    ...dialogsOf(at("/webhooks"), "table", {
      "webhook-new": [press("New webhook"), fill("URL", "nonsense")],
    }),
    { name: "webhook-deliveries", path: at(`/webhooks/${webhook}`), ready: "table" },
    { name: "reports", path: at("/reports"), ready: "table" },
    ...dialogsOf(at("/reports"), "table", {
      "report-new": [press("New report")],
      "report-runs": [
        press("Actions for"),
        choose("Last runs"),
        see("role=table[name=/Last runs/]"),
      ],
    }),
    { name: "members", path: at("/settings/members"), ready: "table" },
    ...dialogsOf(at("/settings/members"), "table", {
      "member-reset": [
        press("Link for a new password of"),
        press("Create link"),
        see("role=button[name=/Copy link/]"),
      ],
    }),
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
