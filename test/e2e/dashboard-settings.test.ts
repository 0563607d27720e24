/**
 * Goal: every setting of a link and of a domain can be set in the dashboard, and users see what
 * became of them. Method: a real browser on a real stack; the redirector and the API show what was
 * set.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { Browser, Page } from "playwright-core";

import { type Client, createClient, type NewLink } from "../../clients/typescript/src/index.ts";
import { admin, createAccount } from "../harness/admin.ts";
import { callOnce } from "../harness/api.ts";
import {
  chromiumPath,
  openBrowser,
  openSignIn,
  signInOnPage,
  visitSignedIn,
} from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;
const OWN = "https://example.com/own";
const IMAGE = "https://images.example.com/card.svg";
const CHAT = { "user-agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)" };

/** A link with every setting that the API takes, but a password. */
const EVERYTHING = {
  url: OWN,
  alias: "exp-all",
  title: "Everything, at once",
  tags: ["a", "b"],
  external_id: "order-7",
  starts_at: "2029-01-01T00:00:00.000Z",
  expires_at: "2030-01-01T00:00:00.000Z",
  expired_url: "https://example.com/over",
  disabled: true,
  archived: true,
  max_clicks: 100,
  limit_counts: "human",
  confirm: true,
  rules: [
    {
      id: "rule_01k9z3v6x7e8w9r0t1y2n3h4m5",
      url: "https://example.com/de",
      conditions: [{ type: "country", in: ["DE", "AT"] }],
    },
  ],
  split: {
    arms: [{ id: "arm_01k9z3v6x7e8w9r0t1y2n3h4m5", url: "https://example.com/b", weight: 30 }],
    until: "2029-06-01T00:00:00.000Z",
  },
  preview: { title: "Card", description: "Text", image: IMAGE },
  forward_path: "append",
  forward_query: true,
  utm_source: "s",
  utm_medium: "m",
  utm_campaign: "c",
  utm_term: "t",
  utm_content: "o",
} satisfies NewLink;

const withBrowser = describe.skipIf(chromiumPath === undefined);

let dns: Dns;
let stack: SharedStack;
let browser: Browser;
let user: TestUser;
let viewer: TestUser;
let account: string;
let client: Client;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  dns = await startDns();
  stack = await useStack({ dns });
  const created = await createAccount(stack, "enterprise");
  account = created.id;
  user = await createUser(stack, account);
  viewer = await createUser(stack, account, "viewer");
  client = createClient({ baseUrl: stack.info().api_url, apiKey: created.key });
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

const visitAs = (who: TestUser, path: string, steps: (page: Page) => Promise<void>) =>
  visitSignedIn(browser, stack, { who, path: `/${account}/live${path}`, steps });

/** What visitors get: the destination, or the status of a page. */
async function follow(url: string, options: Parameters<typeof callOnce>[1] = {}) {
  const response = await callOnce(url, options);
  return response.headers.get("location") ?? response.status;
}

/** Adds a domain that is verified; returns its id. */
async function addDomain(host: string, owner = client): Promise<string> {
  const { id, verification } = await owner.domains.create(host);
  dns.set(verification.name, [verification.value]);
  await owner.domains.verify(id);
  return id;
}

const rowOf = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

async function edit(
  page: Page,
  row: string,
  section: string,
  change: (page: Page) => Promise<void>,
) {
  await rowOf(page, row).getByRole("button", { name: "Actions for" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await page.getByText(section).click();
  await change(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

withBrowser("the form of a link", () => {
  test("sets a click limit and a confirmation, and shows what is left", async () => {
    await visitAs(user, "/links", async (page) => {
      await page.getByRole("button", { name: "New link" }).click();
      const dialog = page.getByRole("dialog", { name: "New link" });
      await dialog.getByLabel("Destination").fill(OWN);
      await dialog.getByLabel("Alias").fill("limited");
      await dialog.getByText("Limit and confirmation").click();
      await dialog.getByLabel("Click limit").fill("0");
      await dialog.getByText("At least 1").waitFor();
      await dialog.getByLabel("Click limit").fill("3");
      await dialog.getByLabel("Ask before redirecting").check();
      await dialog.getByRole("button", { name: "Create link" }).click();
      await rowOf(page, "limited").getByText("3 clicks left").waitFor();
      const { short_url, id } = await client.links.lookUp({ alias: "limited" });
      expect(await follow(short_url)).toBe(200);

      await edit(page, "limited", "Limit and confirmation", () =>
        page.getByLabel("Ask before redirecting").uncheck(),
      );
      expect(await follow(short_url)).toBe(OWN);
      await eventually(async () => {
        expect(await client.links.get(id)).toMatchObject({ max_clicks: 3, clicks_left: 2 });
      }, TIMEOUT_MS);
      await page.reload();
      await rowOf(page, "limited").getByText("2 clicks left").waitFor();
      await edit(page, "limited", "Limit and confirmation", async () => {
        await page.getByText("2 of 3 clicks are left.").waitFor();
        await page.getByLabel("Click limit").fill("1");
        await page.getByLabel("What consumes a click").selectOption("Only people");
      });
      expect(await client.links.get(id)).toMatchObject({ max_clicks: 1, limit_counts: "human" });
      await rowOf(page, "limited").getByText("Limit reached").waitFor();
      await edit(page, "limited", "Limit and confirmation", () =>
        page.getByLabel("Click limit").fill(""),
      );
      expect(Object.keys(await client.links.get(id))).not.toContain("max_clicks");
    });
  });

  test("sets a preview, with the card as it will look", async () => {
    await visitAs(user, "/links", async (page) => {
      const asked: string[] = [];
      await page.route("https://images.example.com/**", async (route) => {
        asked.push(route.request().url());
        await route.fulfill({
          contentType: "image/svg+xml",
          body: '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630"/>',
        });
      });
      await page.getByRole("button", { name: "New link" }).click();
      const dialog = page.getByRole("dialog", { name: "New link" });
      await dialog.getByLabel("Destination").fill(OWN);
      await dialog.getByLabel("Alias").fill("carded");
      await dialog.getByText("Preview", { exact: true }).click();
      await dialog.getByLabel("Card image").pressSequentially(IMAGE);
      await dialog.getByText("Required").waitFor();
      await dialog.getByLabel("Card title").fill("Spring sale");
      await dialog.getByLabel("Card description").fill("Everything must go.");
      const card = dialog.getByRole("figure");
      await card.getByText("Everything must go.").waitFor();
      await card.getByText(new URL(stack.info().short_url).host).waitFor();
      const image = card.getByRole("img", { name: "The card’s image" });
      await image.scrollIntoViewIfNeeded();
      await eventually(async () => {
        expect(await image.evaluate((one) => Number(Reflect.get(one, "naturalWidth")))).toBe(1200);
      }, TIMEOUT_MS);
      expect(asked).toEqual([IMAGE]);
      await dialog.getByRole("button", { name: "Create link" }).click();
      await rowOf(page, "carded").waitFor();
      const link = await client.links.lookUp({ alias: "carded" });
      expect(link.preview).toEqual({
        title: "Spring sale",
        description: "Everything must go.",
        image: IMAGE,
      });
      const response = await callOnce(link.short_url, { headers: CHAT });
      expect(String(response.body)).toContain("Everything must go.");
      await edit(page, "carded", "Preview", async () => {
        for (const label of ["Card title", "Card description", "Card image"]) {
          await page.getByLabel(label).fill("");
        }
      });
      expect(await client.links.get(link.id)).not.toHaveProperty("preview");
    });
  });

  test("sets paths, an external id and the archive, from which a link comes back", async () => {
    const { id, short_url } = await client.links.create({ url: OWN, alias: "kept" });
    await visitAs(user, "/links", async (page) => {
      const pickPath = async (value: string) => {
        await page.getByLabel("Longer paths").selectOption(value);
      };
      await edit(page, "kept", "Password, query and path", () => pickPath("append"));
      expect(await follow(`${short_url}/a/b`)).toBe(`${OWN}/a/b`);
      await edit(page, "kept", "Your own id", () => page.getByLabel("External id").fill("order-1"));
      expect((await client.links.get(id)).external_id).toBe("order-1");
      await edit(page, "kept", "Schedule and state", () => page.getByLabel("Archived").check());
      await rowOf(page, "kept").waitFor({ state: "detached" });
      expect(await follow(short_url)).toBe(OWN);
      await page.getByLabel("Show", { exact: true }).selectOption("Only archived");
      await rowOf(page, "kept").getByText("Archived").waitFor();
      await edit(page, "kept", "Schedule and state", () => page.getByLabel("Archived").uncheck());
      await page.getByText("No matching links").waitFor();
      await page.getByLabel("Show", { exact: true }).selectOption("All links");
      await rowOf(page, "kept").waitFor();
    });
  });

  test("names the field that the API refuses", async () => {
    await client.links.create({ url: OWN, alias: "first", external_id: "once" });
    await visitAs(user, "/links", async (page) => {
      await page.getByRole("button", { name: "New link" }).click();
      const dialog = page.getByRole("dialog", { name: "New link" });
      await dialog.getByLabel("Destination").fill(OWN);
      await dialog.getByText("Your own id").click();
      await dialog.getByLabel("External id").fill("once");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await dialog.getByText("Another link has this external_id.").waitFor();
      await dialog.getByLabel("External id").fill("twice");
      await dialog.getByText("Schedule and state").click();
      const own = `${stack.info().short_url}/first`;
      await dialog.getByLabel("Once expired, redirect to").fill(own);
      await dialog.getByRole("button", { name: "Create link" }).click();
      const described = dialog
        .getByLabel("Once expired, redirect to")
        .and(page.locator("[aria-invalid]"));
      await described.waitFor();
    });
  });
});

withBrowser("links that are exported and imported", () => {
  test("have every setting again, and none is opened without its password", async () => {
    const created = await createAccount(stack, "enterprise");
    const owner = await createUser(stack, created.id);
    const own = createClient({ baseUrl: stack.info().api_url, apiKey: created.key });
    const host = "go.exported.example";
    await addDomain(host, own);
    await own.links.create({ ...EVERYTHING, domain: host });
    await own.links.create({ url: OWN, alias: "exp-plain", title: "=1+1", tags: ["a,b", "'-c"] });
    await own.links.create({ url: OWN, alias: "exp-secret", password: "secret" });
    const readAll = async () => {
      const links = await Array.fromAsync(own.links.all({ include: "settings", archived: "any" }));
      links.sort((a, b) => a.alias.localeCompare(b.alias));
      const ofThisCopy = new Set(["id", "created_at", "updated_at"]);
      return links.map((link) =>
        Object.fromEntries(Object.entries(link).filter(([name]) => !ofThisCopy.has(name))),
      );
    };
    const before = await readAll();
    const { url, ...settings } = EVERYTHING;
    expect(before[0]).toMatchObject({ ...settings, original_url: url, domain: host });

    const { page, consoleErrors } = await openSignIn(browser, stack);
    await signInOnPage(page, owner);
    await page.getByRole("button", { name: "Export" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    const file = await download.path();
    for await (const link of own.links.all({ archived: "any" })) await own.links.delete(link.id);
    await page.goto(`/${created.id}/live/links/import`);
    await page.getByLabel("Choose a CSV file").setInputFiles(file);
    await page.getByText("The Shorthop export contains 3 rows").waitFor();
    await page.getByRole("button", { name: "Check 3 rows" }).click();
    await page.getByRole("button", { name: "Import 2 links" }).click();
    await page.getByText("2 links created, 1 not imported.").waitFor();
    await page.getByRole("row", { name: "exp-secret" }).getByText("has a password").waitFor();
    expect(consoleErrors).toEqual([]);
    await page.context().close();
    expect(await readAll()).toEqual(before.slice(0, 2));
  });
});

withBrowser("a link that the operator has taken down", () => {
  test("is shown as such, in plain words, in the list and on its page", async () => {
    const { id } = await client.links.create({ url: OWN, alias: "downed" });
    const host = await client.links.create({
      url: "https://disabled-host.example/",
      alias: "by-host",
    });
    await admin(stack, ["links", "disable", "--alias", "downed"]);
    await admin(stack, ["links", "disable", "--host", "disabled-host.example"]);
    await eventually(async () => {
      expect((await client.links.get(host.id)).status).toBe("taken_down");
    }, TIMEOUT_MS);
    await visitAs(viewer, "/links", async (page) => {
      for (const alias of ["downed", "by-host"]) {
        await rowOf(page, alias).getByText("Taken down", { exact: true }).waitFor();
        await rowOf(page, alias).getByText("Taken down by the operator").waitFor();
      }
      await page.getByRole("link", { name: "/downed" }).click();
      await page.getByText("Only the operator can lift this.").waitFor();
    });
    await visitAs(user, "/links", async (page) => {
      await rowOf(page, "downed").getByRole("button", { name: "Actions for" }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByText("An operator has taken the link down.").waitFor();
      await page.keyboard.press("Escape");
      await admin(stack, ["links", "enable", "--alias", "downed"]);
      await page.goto(`/${account}/live/links/${id}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.getByText("Taken down").count()).toBe(0);
    });
  });
});

withBrowser("the settings of a domain", () => {
  test("are what its visitors get, and can be switched off again", async () => {
    const host = "go.settings.example";
    const id = await addDomain(host);
    const { alias } = await client.links.create({ url: OWN, domain: host, alias: "MixedCase" });
    const visit = (path: string) =>
      follow(`${stack.info().short_url}${path}`, { headers: { host } });
    const becomes = (path: string, expected: string | number) =>
      eventually(async () => expect(await visit(path)).toBe(expected), TIMEOUT_MS);
    await visitAs(user, "/domains", async (page) => {
      const card = page.getByRole("region", { name: host });
      const open = async () => {
        await card.getByRole("button", { name: `Settings of ${host}` }).click();
        return page.getByRole("dialog", { name: `Settings of ${host}` });
      };
      const dialog = await open();
      await dialog
        .getByLabel("The domain itself redirects to")
        .fill("https://www.example.com/home");
      await dialog.getByLabel("Unknown short links redirect to").fill(`https://${host}/circle`);
      await dialog.getByLabel("Expired links redirect to").fill("https://www.example.com/over");
      await dialog.getByLabel("Ignore the case of aliases").check();
      await dialog.getByText("Files for apps").click();
      await dialog.getByLabel("For Android").fill("{}");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByLabel("For Android").and(page.locator("[aria-invalid]")).waitFor();
      await dialog.getByLabel("For Android").fill('[{ "relation": [] }]');
      await dialog.getByRole("button", { name: "Save" }).click();
      // The API's own check is shown at its field.
      await dialog
        .getByLabel("Unknown short links redirect to")
        .and(page.locator("[aria-invalid]"))
        .waitFor();
      await dialog
        .getByLabel("Unknown short links redirect to")
        .fill("https://www.example.com/none");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      await card.getByText("https://www.example.com/home").waitFor();
      await card.getByText("are found in any case").waitFor();
      await becomes("/", "https://www.example.com/home");
      await becomes("/nothing-here", "https://www.example.com/none");
      await becomes(`/${alias.toLowerCase()}`, OWN);
      await becomes("/.well-known/assetlinks.json", 200);

      const again = await open();
      await again.getByLabel("The domain itself redirects to").fill("");
      await again.getByLabel("Ignore the case of aliases").uncheck();
      await again.getByRole("button", { name: "Save" }).click();
      await again.waitFor({ state: "detached" });
      await becomes("/", "https://www.example.com/none");
      await becomes(`/${alias.toLowerCase()}`, "https://www.example.com/none");
      const domain = await client.domains.get(id);
      expect(domain).toMatchObject({
        not_found_url: "https://www.example.com/none",
        assetlinks: [{ relation: [] }],
      });
      expect(Object.keys(domain)).not.toContain("root_url");
    });
  });

  test("can be read, but not changed, by viewers", async () => {
    const id = await addDomain("read.settings.example");
    await client.domains.update(id, { not_found_url: "https://www.example.com/none" });
    await visitAs(viewer, "/domains", async (page) => {
      await page.getByText("Unknown short links redirect to").first().waitFor();
      expect(await page.getByRole("button", { name: "Settings of" }).count()).toBe(0);
    });
  });
});
