/**
 * Goal: every setting of a link and of a domain can be set in the dashboard, users can say where a
 * link leads, and see what became of it. Method: a real browser on a real stack; the redirector and
 * the API show what was set.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Page } from "playwright-core";

import { invalidValue } from "../../shared/contracts/errors.ts";
import { admin } from "../harness/admin.ts";
import { callOnce, IPHONE } from "../harness/api.ts";
import { AXE, runAxe } from "../harness/axe.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import {
  chooseAction,
  enter,
  follow,
  goTo,
  isFocused,
  rowOf,
  tabTo,
  write,
} from "../harness/dashboard-page.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { createPng } from "../harness/png.ts";
import { readQr } from "../harness/qr-reader.ts";

const TIMEOUT_MS = 20_000;
const OWN = "https://example.com/own";
const IMAGE = "https://images.example.com/card.svg";
const CHAT = { "user-agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)" };

const dns = await forFile(Dns.start());
const dashboard = await forFile(DashboardBrowser.open(dns));
const account = await dashboard.addAccount();
const client = account.client;

async function openNewLink(page: Page, alias: string) {
  await page.getByRole("button", { name: "New link" }).click();
  const dialog = page.getByRole("dialog", { name: "New link" });
  await dialog.getByLabel("Destination").fill(OWN);
  await dialog.getByLabel("Alias").fill(alias);
  return dialog;
}

async function edit(
  page: Page,
  row: string,
  section: string,
  change: (page: Page) => Promise<void>,
) {
  await chooseAction(page, row, "Edit");
  await page.getByText(section).click();
  await change(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

withBrowser("the form of a link", () => {
  test("sets a click limit and a confirmation, and shows what is left", async () => {
    await dashboard.visit(account, "/links", async (page) => {
      const dialog = await openNewLink(page, "limited");
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
    await dashboard.visit(account, "/links", async (page) => {
      const asked: string[] = [];
      await page.route("https://images.example.com/**", async (route) => {
        asked.push(route.request().url());
        await route.fulfill({
          contentType: "image/svg+xml",
          body: '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630"/>',
        });
      });
      const dialog = await openNewLink(page, "carded");
      await dialog.getByText("Preview", { exact: true }).click();
      await dialog.getByLabel("Card image").pressSequentially(IMAGE);
      await dialog.getByText("Required").waitFor();
      await dialog.getByLabel("Card title").fill("Spring sale");
      await dialog.getByLabel("Card description").fill("Everything must go.");
      const card = dialog.getByRole("figure");
      await card.getByText("Everything must go.").waitFor();
      await card.getByText(new URL(dashboard.stack.info().short_url).host).waitFor();
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

  test("sets paths, a schedule, a password, an external id and the archive, and names the field that is refused", async () => {
    const { id, short_url } = await client.links.create({ url: OWN, alias: "kept" });
    await dashboard.visit(account, "/links", async (page) => {
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

      const dialog = await openNewLink(page, "scheduled");
      await dialog.getByText("Schedule and state").click();
      await dialog.getByText("Password, query and path").click();
      await dialog.getByLabel("Starts").fill("2098-01-01T00:00");
      await dialog.getByLabel("Expires").fill("2020-01-01T00:00");
      await dialog.getByText("Must be in the future").waitFor();
      await dialog.getByLabel("Expires").fill("2099-01-01T00:00");
      await dialog.getByLabel("Once expired, redirect to").fill("ftp://x");
      await dialog.getByText("The URL must be an http or https URL.").waitFor();
      await dialog.getByLabel("Once expired, redirect to").fill("https://example.com/over");
      await dialog.getByLabel("Password").fill("a secret");
      await dialog.getByText("Your own id").click();
      await dialog.getByLabel("External id").fill("order-1");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await dialog.getByText("Another link has this external_id.").waitFor();
      await dialog.getByLabel("External id").fill("order-2");
      await dialog.getByLabel("Once expired, redirect to").fill(short_url);
      await dialog.getByRole("button", { name: "Create link" }).click();
      const refused = dialog.getByLabel("Once expired, redirect to");
      await refused.and(page.locator("[aria-invalid]")).waitFor();
      await refused.fill("https://example.com/over");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await rowOf(page, "scheduled").getByText("From Jan 1, 2098").waitFor();
      const scheduled = await client.links.lookUp({ alias: "scheduled" });
      expect(scheduled.expires_at).toBe("2098-12-31T23:00:00.000Z");
      expect(await follow(scheduled.short_url)).toBe(404);
      await edit(page, "scheduled", "Schedule and state", () => page.getByLabel("Starts").fill(""));
      expect(await follow(scheduled.short_url)).toBe(401);
      await rowOf(page, "scheduled").getByText("Until Jan 1, 2099").waitFor();
      await edit(page, "scheduled", "Password, query and path", () =>
        page.getByLabel("Remove password").check(),
      );
      expect(await follow(scheduled.short_url)).toBe(OWN);
      await edit(page, "scheduled", "Schedule and state", async () => {
        await page.getByLabel("Expires").fill("");
        await page.getByLabel("Disabled").check();
      });
      expect(await follow(scheduled.short_url)).toBe(404);
      expect(await client.links.get(scheduled.id)).toMatchObject({
        disabled: true,
        expires_at: null,
        expired_url: "https://example.com/over",
      });
      await page.getByRole("link", { name: "/scheduled" }).click();
      await page.getByText("Disabled", { exact: true }).waitFor();
    });
  });

  test("says at each kind of field what only the API finds wrong with it, also in a closed section", async () => {
    await dashboard.visit(account, "/links", async (page) => {
      const dialog = await openNewLink(page, "refused");
      const refuse = async (param: string, label: string) => {
        const problem = `must be another ${param}`;
        const message = invalidValue(param, problem);
        await page.route("**/v1/links", (route) =>
          route.request().method() === "POST"
            ? route.fulfill({
                status: 400,
                json: { error: { code: "invalid_request", message, param } },
              })
            : route.fallback(),
        );
        await dialog.getByRole("button", { name: "Create link" }).click();
        await dialog.getByRole("alert").getByText(problem).waitFor();
        await dialog.getByLabel(label).and(page.locator("[aria-invalid]:focus")).waitFor();
        await page.unroute("**/v1/links");
      };
      await refuse("tags.0", "Tags");
      await refuse("archived", "Archived");
      await refuse("forward_path", "Longer paths");
      await refuse("preview.title", "Card title");
      await dialog.getByRole("button", { name: "Create link" }).click();
      await rowOf(page, "refused").waitFor();
    });
  });
});

const ruleOf = (page: Page, n: number) => page.getByRole("listitem", { name: `Rule ${n}` });

const readUrls = (page: Page) =>
  page
    .getByLabel("Redirect to")
    .evaluateAll((all) => all.map((input) => String(Reflect.get(input, "value"))));

const save = async (page: Page) => {
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The rules have been saved.").last().waitFor();
};

withBrowser("rules in the dashboard", () => {
  test("are added with validation, lead visitors, and are tried as another visitor", async () => {
    const link = await client.links.create({ url: OWN });
    await dashboard.visit(account, `/links/${link.id}/rules`, async (page) => {
      await page.getByText("No rule matches").waitFor();
      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await ruleOf(page, 1).getByText("Required").first().waitFor();
      await page.getByText("Save to try your changes.").waitFor();
      await ruleOf(page, 1).getByLabel("Mobile").check();
      await ruleOf(page, 1).getByLabel("Redirect to").fill("https://example.com/app");
      await ruleOf(page, 1).getByRole("button", { name: "And another condition" }).click();
      await ruleOf(page, 1).getByLabel("When").nth(1).selectOption("language");
      await ruleOf(page, 1).getByLabel("Language: one of").fill("German, fr");
      await save(page);
      const german = { "user-agent": IPHONE, "accept-language": "de-AT,de;q=0.9" };
      await eventually(
        async () => expect(await follow(link.short_url, german)).toBe("https://example.com/app"),
        TIMEOUT_MS,
      );
      expect(await follow(link.short_url, { "user-agent": IPHONE })).toBe(OWN);

      // The trial is of an iPhone without a language.
      const why = page.getByRole("list", { name: "Why" });
      await why.getByText("Device: mobile").waitFor();
      await why.getByText("Language: none").waitFor();
      await page.getByText("More about the visitor").click();
      await page.getByLabel("Language", { exact: true }).fill("fr");
      await page.getByText("Rule 1: redirects to").waitFor();
      await page.getByRole("combobox", { name: "Device" }).selectOption("Windows PC");
      await why.getByText("Device: desktop").waitFor();
      await page.getByText("No rule matches").waitFor();
    });
  });

  test("are put in order by keys and by dragging", async () => {
    const link = await client.links.create({
      url: OWN,
      rules: ["a", "b", "c"].map((name) => ({
        url: `${OWN}/${name}`,
        conditions: [{ type: "query", name }],
      })),
    });
    const [a, b, c] = [`${OWN}/a`, `${OWN}/b`, `${OWN}/c`] as const;
    await dashboard.visit(account, `/links/${link.id}/rules`, async (page) => {
      const up = page.getByRole("button", { name: "Move rule 3 up" });
      await up.focus();
      await page.keyboard.press("Enter");
      expect(await readUrls(page)).toEqual([a, c, b]);
      await page.getByText("Rule 3 is now rule 2.").waitFor();
      // The focus stays with the rule, so that it can be moved on.
      await page.keyboard.press("Enter");
      expect(await readUrls(page)).toEqual([c, a, b]);
      await page.getByRole("button", { name: "Move rule 1 down" }).focus();
      await page.keyboard.press("Enter");
      await isFocused(page, page.getByRole("button", { name: "Move rule 2 down" }));
      await page.keyboard.press("Enter");
      expect(await readUrls(page)).toEqual([a, b, c]);
      // All rules are in view: a drag does not start when the page scrolls after the button went
      // down.
      await page.setViewportSize({ width: 1280, height: 2000 });
      const drag = (from: number, to: number) =>
        ruleOf(page, from).getByTitle("Drag to reorder").dragTo(ruleOf(page, to));
      await drag(1, 3);
      expect(await readUrls(page)).toEqual([b, c, a]);
      await drag(3, 1);
      expect(await readUrls(page)).toEqual([a, b, c]);
      await drag(3, 1);
      expect(await readUrls(page)).toEqual([c, a, b]);
      await save(page);
      await eventually(
        async () => expect(await follow(`${link.short_url}?a&b&c`)).toBe(c),
        TIMEOUT_MS,
      );
      const { rules } = await client.links.get(link.id);
      expect(rules?.map(({ url }) => url)).toEqual([c, a, b]);
      await page.getByRole("button", { name: "Remove rule 1" }).click();
      await page.getByRole("button", { name: "Discard" }).click();
      expect(await readUrls(page)).toEqual([c, a, b]);
    });
  });

  test("have a split, whose versions show their clicks and visitors", async () => {
    const link = await client.links.create({ url: OWN });
    await dashboard.visit(account, `/links/${link.id}/rules`, async (page) => {
      await page.getByRole("button", { name: "Add version" }).click();
      await page.getByLabel("Name of B").fill("New page");
      await page.getByLabel("Share of B").fill("99");
      await page.getByLabel("Destination of B").fill("https://example.com/b");
      await page.locator(".version-head").getByText("1 %", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Add version" }).click();
      await page.getByLabel("Destination of C").fill("https://example.com/c");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Expected weights whose sum is 100 at most").waitFor();
      await page.getByRole("button", { name: "Remove version C" }).click();
      await save(page);
      // Nearly all visitors get the version once it has reached the redirector; a HEAD is no click.
      let visitors = 0;
      await eventually(async () => {
        const { headers } = await fetch(link.short_url, {
          method: "HEAD",
          redirect: "manual",
          headers: { "x-forwarded-for": `9.9.8.${++visitors % 250}` },
        });
        expect(headers.get("location")).toBe("https://example.com/b");
      }, TIMEOUT_MS);
      for (let i = 0; i < 20; i++)
        await follow(link.short_url, { "x-forwarded-for": `9.9.9.${i}` });
      await eventually(async () => {
        const { data } = await client.analytics.targets(link.id);
        expect(data.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(20);
      }, TIMEOUT_MS);
      const { data } = await client.analytics.targets(link.id);
      const arm = data.find(({ kind }) => kind === "arm");
      await page.reload();
      expect(arm?.label).toBe("New page");
      await page.locator(".version-name").getByText("New page").waitFor();
      const share = `${arm?.percentage.toFixed(1)} % of the split`;
      await page.getByText(`${arm?.clicks} clicks (${share}), ${arm?.unique_clicks}`).waitFor();
    });
  });
});

withBrowser("a link that the operator has taken down", () => {
  test("is shown as such, in plain words, in the list and on its page", async () => {
    const { id } = await client.links.create({ url: OWN, alias: "downed" });
    const host = await client.links.create({
      url: "https://disabled-host.example/",
      alias: "by-host",
    });
    await admin(dashboard.stack, ["links", "disable", "--alias", "downed"]);
    await admin(dashboard.stack, ["links", "disable", "--host", "disabled-host.example"]);
    await eventually(async () => {
      expect((await client.links.get(host.id)).status).toBe("taken_down");
    }, TIMEOUT_MS);
    await dashboard.visit(account, "/links", async (page) => {
      for (const alias of ["downed", "by-host"]) {
        await rowOf(page, alias).getByText("Taken down", { exact: true }).waitFor();
        await rowOf(page, alias).getByText("Taken down by the operator").waitFor();
      }
      await page.getByRole("link", { name: "/downed" }).click();
      await page.getByText("Only the operator can lift this.").waitFor();
      await page.goBack();
      await chooseAction(page, "downed", "Delete");
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByText("An operator has taken the link down.").waitFor();
      await page.keyboard.press("Escape");
      await admin(dashboard.stack, ["links", "enable", "--alias", "downed"]);
      await page.goto(`/${account.id}/live/links/${id}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.getByText("Taken down").count()).toBe(0);
    });
  });
});

const readDomain = async () => (await Array.fromAsync(client.domains.all()))[0];

withBrowser("a domain and its settings", () => {
  test("are set once its DNS record is there, each with what is wrong with it, and it stays while it has links", async () => {
    const host = "go.settings.example";
    const alias = "MixedCase";
    const kept = {
      not_found_url: "https://www.example.com/none",
      expired_url: "https://www.example.com/over",
      assetlinks: [{ relation: [] }],
    };
    await dashboard.visit(account, "/domains", async (page) => {
      await page.getByText("No domains yet").waitFor();
      await page.getByRole("button", { name: "Add domain" }).click();
      const adding = page.getByRole("dialog");
      await adding.getByLabel("Domain", { exact: true }).fill("not a domain");
      await adding.getByRole("button", { name: "Add" }).click();
      await adding.getByRole("alert").waitFor();
      await adding.getByLabel("Domain", { exact: true }).fill(`https://${host}/`);
      await adding.getByRole("button", { name: "Add" }).click();
      const card = page.getByRole("region", { name: host });
      await card.getByText("Pending").waitFor();
      await card.getByRole("button", { name: "Verify now" }).click();
      await card.getByRole("alert").waitFor();
      const [value = ""] = await card.locator("dd code").nth(1).allTextContents();
      dns.set(`_shorthop.${host}`, [value]);
      await card.getByRole("button", { name: "Verify now" }).click();
      await card.getByText("Verified", { exact: true }).waitFor();

      await goTo(page, "Links");
      const form = await openNewLink(page, alias);
      await form.getByLabel("Alias").fill("help");
      await form.getByText("is reserved").waitFor();
      await form.getByLabel("Domain").selectOption(host);
      await form.getByText("is reserved").waitFor({ state: "detached" });
      await form.getByLabel("Alias").fill(alias);
      await form.getByRole("button", { name: "Create link" }).click();
      await rowOf(page, host).waitFor();
      await goTo(page, "Domains");
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
      const root_url = "https://www.example.com/home";
      expect(await readDomain()).toMatchObject({ ...kept, root_url, case_sensitive: false });

      // Until its links are published again, it cannot be switched back.
      await eventually(
        async () => expect(await readDomain()).not.toHaveProperty("switching"),
        TIMEOUT_MS,
      );
      const again = await open();
      await again.getByLabel("The domain itself redirects to").fill("");
      await again.getByLabel("Ignore the case of aliases").uncheck();
      await again.getByRole("button", { name: "Save" }).click();
      await again.waitFor({ state: "detached" });
      const domain = await readDomain();
      expect(domain).toMatchObject(kept);
      for (const usual of ["root_url", "case_sensitive"])
        expect(Object.keys(domain ?? {})).not.toContain(usual);
      await page.getByRole("button", { name: `Remove ${host}` }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await page.getByRole("dialog").getByRole("alert").getByText("links").waitFor();
    });
  });
});

const fileOf = (mimeType: string, bytes: number) => ({
  name: "logo",
  mimeType,
  buffer: Buffer.alloc(bytes),
});

withBrowser("the branding of an account", () => {
  test("says at the logo that a file cannot be one", async () => {
    await dashboard.visit(account, "/settings/branding", async (page) => {
      const logo = page.getByLabel("Logo");
      await logo.setInputFiles(fileOf("image/gif", 10));
      await page.getByText("The logo must be a PNG, JPEG or WebP file.").waitFor();
      await logo.and(page.locator("[aria-invalid]")).waitFor();
      await logo.setInputFiles(fileOf("image/png", 600 * 1024));
      await page.getByText("The file may have 512 KB at most.").waitFor();
    });
  });
});

withBrowser("the QR code of a link", () => {
  test("is chosen, downloaded and saved with the keyboard", async () => {
    await client.branding.update({ logo: createPng(200, 100).toString("base64") });
    const link = await client.links.create({ url: "https://example.com/qr", alias: "qr-keys" });
    await dashboard.visit(account, `/links/${link.id}`, async (page) => {
      await page.evaluate(readFileSync(AXE, "utf8"));
      await enter(page, page.getByRole("button", { name: "QR code" }));
      const dialog = page.getByRole("dialog", { name: "QR code" });
      const image = dialog.getByRole("img", { name: "QR code of" });
      const source = async () => new URL((await image.getAttribute("src")) ?? "", page.url());

      const code = dialog.getByLabel("Code", { exact: true });
      await write(page, code, "#c4c4c4");
      await dialog.getByRole("alert").getByText("Must contrast more").waitFor();
      const saveButton = dialog.getByRole("button", { name: "Save as the account's style" });
      expect(await saveButton.isDisabled()).toBe(true);
      expect(await dialog.getByRole("link", { name: "PNG" }).count()).toBe(0);
      await write(page, code, "#1d4ed8");
      await dialog.getByRole("alert").waitFor({ state: "detached" });

      await tabTo(page, dialog.getByLabel("Shape"));
      await page.keyboard.type("Dots");
      await tabTo(page, dialog.getByLabel("Corners"));
      await page.keyboard.type("Circles");
      await tabTo(page, dialog.getByLabel("Logo"));
      await page.keyboard.press("Space");
      await eventually(async () => {
        const { searchParams } = await source();
        expect(Object.fromEntries(searchParams)).toMatchObject({
          foreground: "#1d4ed8",
          shape: "dots",
          eyes: "circle",
          logo: "true",
        });
        const width = await image.evaluate((element) =>
          Number(Reflect.get(element, "naturalWidth")),
        );
        expect(width).toBeGreaterThan(0);
      }, TIMEOUT_MS);
      expect(await runAxe(page, "QR code")).toEqual([]);

      for (const [name, type] of [
        ["SVG", "image/svg+xml"],
        ["PNG", "image/png"],
        ["PDF", "application/pdf"],
      ] as const) {
        await tabTo(page, dialog.getByRole("link", { name }));
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.keyboard.press("Enter"),
        ]);
        expect(download.suggestedFilename()).toBe(`qr-keys.${name.toLowerCase()}`);
        expect(await readQr(type, readFileSync(await download.path()))).toBe(
          `${link.short_url}?_qr`,
        );
      }

      await enter(page, saveButton);
      await page.getByText("QR codes of the account look like this from now on.").waitFor();
      const style = { foreground: "#1d4ed8", shape: "dots", eyes: "circle", logo: true };
      expect((await client.branding.get()).qr_style).toMatchObject(style);
      const svg = await (await client.links.qr(link.id)).text();
      expect(svg).toContain("#1d4ed8");
      expect(svg).toContain("<image");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    });
  });
});
