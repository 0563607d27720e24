/**
 * Goal: links that move here keep what they were: printed short URLs lead where they led, archived
 * links stay archived, and whatever cannot be imported is named before anything is created. Method:
 * files as services export them, in a real browser on a real stack; the API and the redirector show
 * what came of it. What becomes of each service's columns, and of every setting in an export of
 * this one, is tested beside the code of import and export.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Page } from "playwright-core";

import { callOnce } from "../harness/api.ts";
import { DashboardBrowser, withBrowser } from "../harness/dashboard-browser.ts";
import { addDomain, enter, tabTo } from "../harness/dashboard-page.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";

const TIMEOUT_MS = 20_000;
const HOST = "go.moved.example";
const AT = (path: string) => `https://destination.example/${path}`;

const dns = await forFile(Dns.start());
const dashboard = await forFile(DashboardBrowser.open(dns));
const account = await dashboard.addAccount();
await addDomain(account.client, dns, HOST);

const choose = (page: Page, content: string | Buffer): Promise<void> =>
  page
    .getByLabel("Choose a CSV file")
    .setInputFiles({ name: "export.csv", mimeType: "text/csv", buffer: Buffer.from(content) });

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** Saves a file by a button, and returns its text. */
async function download(page: Page, name: string): Promise<string> {
  const [saved] = await Promise.all([page.waitForEvent("download"), button(page, name).click()]);
  return readFileSync(await saved.path(), "utf8");
}

const column = (page: Page, name: string) => page.getByLabel(`${name}: imported as`);

/** The reason that is displayed for a column that is not imported. */
const reasonOf = (page: Page, name: string) =>
  page
    .getByRole("table", { name: "Columns" })
    .getByRole("row", { name: new RegExp(`^${name} `) })
    .locator("small");

/** A link's fields, by its alias on the moved domain or on the service's own. */
async function fieldsOf(alias: string, domain?: string) {
  const { id } = await account.client.links.lookUp({
    alias,
    ...(domain === undefined ? {} : { domain }),
  });
  const { original_url, title, tags, archived, expires_at, has_password } =
    await account.client.links.get(id, { include: "settings" });
  return { original_url, title, tags, archived, expires_at, has_password };
}

const PLAIN = {
  title: null,
  tags: [],
  archived: undefined,
  expires_at: null,
  has_password: false,
};

withBrowser("an export", () => {
  test("keeps its short URLs on their domain, with their state, and both back-halves if one asks for it", async () => {
    const csv = [
      "Link,Custom Link,Date created,Title,Destination URL,Engagements,Status",
      `https://${HOST}/3xYz,https://${HOST}/bitly-sale,2024-03-01T10:00:00+0000,"Sale, spring",${AT("b1")},"1,234",Active`,
      `https://${HOST}/bitly-old,,2023-03-01T10:00:00+0000,,${AT("b2")},0,Archived`,
    ].join("\r\n");
    await dashboard.visit(account, "/links/import", async (page) => {
      await choose(page, csv);
      await page.getByText("The Bitly export contains 2 rows").waitFor();
      expect(await column(page, "Engagements").inputValue()).toBe("");
      expect(await reasonOf(page, "Engagements").textContent()).toStartWith("Clicks are counted");
      await page.getByLabel("Links with a custom back-half").selectOption("Both back-halves");
      await button(page, "Check 2 rows").click();
      await page.getByText("All 3 links can be imported.").waitFor();
      await button(page, "Import 3 links").click();
      await page.getByText("3 links created, 0 not imported.").waitFor();
    });
    const sale = { ...PLAIN, original_url: AT("b1"), title: "Sale, spring" };
    for (const alias of ["3xYz", "bitly-sale"]) expect(await fieldsOf(alias, HOST)).toEqual(sale);
    const old = { ...PLAIN, original_url: AT("b2"), archived: true as const };
    expect(await fieldsOf("bitly-old", HOST)).toEqual(old);
    await eventually(async () => {
      const url = `${dashboard.stack.info().short_url}/bitly-old`;
      const { headers } = await callOnce(url, { headers: { host: HOST } });
      expect(headers.get("location")).toBe(AT("b2"));
    }, TIMEOUT_MS);
  });

  test("of many links is imported in batches, and all links are exported", async () => {
    const own = await dashboard.addAccount();
    // As phpMyAdmin writes it for Excel, and Excel saves it.
    const good = Array.from({ length: 230 }, (_, i) => `imp-${i};${AT(`i/${i}`)};"Nº ${i}"`);
    const bad = [`imp-0;${AT("twice")};`, ";not a url;", `a b;${AT("x")};`];
    const formula = `imp-formula;${AT("f")};=HYPERLINK(1)`;
    const csv = ["\uFEFFkeyword;url;title", ...good, ...bad, formula].join("\r\n");
    await dashboard.visit(own, "/links/import", async (page) => {
      await choose(page, Buffer.from(csv, "utf16le"));
      await page.getByText("The YOURLS export contains 234 rows").waitFor();
      await button(page, "Check 234 rows").click();
      await page.getByText("231 of 234 links can be imported. Nothing has").waitFor();
      await button(page, "Import 231 links").click();
      await page.getByText("231 links created, 3 not imported.").waitFor();
      const rejected = page.getByRole("table", { name: "Rows that are not imported" });
      await rejected.getByRole("row", { name: /^232 / }).getByText("also in row 2").waitFor();
      await rejected.getByRole("row", { name: /^233 / }).getByText("valid absolute URL").waitFor();
      const report = await download(page, "Download these rows as CSV");
      expect(report.split("\n")).toHaveLength(4);

      await page.getByRole("link", { name: "Back to links" }).click();
      await page.getByText("20 links on this page").waitFor();
      await button(page, "Export").click();
      const text = await download(page, "Export as CSV");
      expect(text.trim().split("\n")).toHaveLength(232);
      expect(text).toContain("Nº 229");
      // Escaped, so that a spreadsheet treats it as text.
      expect(text).toContain("'=HYPERLINK(1)");
    });
  });
});

const TROUBLED = `short_url,long_url,title,mood,status,expires,password
https://${HOST}/fine,${AT("t1")},Fine,,active,,
https://${HOST}/held,${AT("t2")},Held,good,active,,
https://${HOST}/bad-url,nonsense,,,active,,
https://${HOST}/over,${AT("t4")},,,active,2020-01-01,
https://${HOST}/when,${AT("t5")},,,active,03/04/2030,
https://${HOST}/gone,${AT("t6")},,,deleted,,
https://${HOST}/odd,${AT("t7")},,,sleeping,,
https://${HOST}/hashed,${AT("t8")},,,active,,$2b$10$abcdefghijklmnopqrstuv
https://${HOST}/quiet,${AT("t9")},,,archived,,
https://elsewhere.example/out,${AT("t10")},,,active,,
https://${HOST}/fine,${AT("t11")},Again,,active,,
https://${HOST}/cells,${AT("t12")},a,b,active,,,more
`;

withBrowser("a file with everything wrong", () => {
  test("says so before anything is created, and imports the rest", async () => {
    await account.client.links.create({ url: AT("first"), alias: "held", domain: HOST });
    await dashboard.visit(account, "/links/import", async (page) => {
      await choose(page, TROUBLED);
      await page.getByText("The file is from no service that we recognize.").waitFor();
      expect(await reasonOf(page, "mood").textContent()).toContain("is not known");
      await button(page, "Check 12 rows").click();
      await page
        .getByText("2 of 12 links can be imported. Nothing has been created yet.")
        .waitFor();
      const problems = page.getByRole("list", { name: "Will not be imported" });
      expect((await problems.getByRole("listitem").allTextContents()).toSorted()).toEqual(
        [
          "1 Alias in use",
          "1 Alias twice in the file",
          "1 Order of the date not chosen",
          "1 Deleted at the other service",
          "1 Destination not a valid URL",
          "1 Domain not yours",
          "1 Expired",
          "1 More cells than columns",
          "1 Password not readable",
          "1 State not understood",
        ].toSorted(),
      );
      await page
        .getByRole("list", { name: "Notes" })
        .getByText("Archived: lists leave them out")
        .waitFor();
      // The check has created nothing.
      for (const alias of ["fine", "quiet"])
        expect(account.client.links.lookUp({ alias, domain: HOST })).rejects.toThrow();
      await button(page, "Import 2 links").click();
      await page.getByText("2 links created, 10 not imported.").waitFor();
      const report = await download(page, "Download these rows as CSV");
      expect(report.split("\r\n")).toHaveLength(11);
      expect(report).toContain(
        `3,"The alias ""held"" is already in use.",https://${HOST}/held,${AT("t2")},Held,good,active,,`,
      );
      // Corrected, the list is imported again.
      const corrected = report.replace(`https://${HOST}/held`, `https://${HOST}/held-2`);
      await choose(page, corrected);
      await button(page, "Check 10 rows").click();
      await button(page, "Import 1 link").click();
      await page.getByText("1 link created, 9 not imported.").waitFor();
      // What was a mistake is taken back.
      await choose(page, `url,alias\n${AT("u1")},mistaken\n`);
      await button(page, "Check 1 row").click();
      await button(page, "Import 1 link").click();
      await button(page, "Delete them again").click();
      await button(page, "Delete 1 link").click();
      await page.getByText("1 link deleted.").waitFor();
      expect(await button(page, "Delete them again").count()).toBe(0);
    });
    expect(account.client.links.lookUp({ alias: "mistaken" })).rejects.toThrow();
    expect(await fieldsOf("fine", HOST)).toEqual({
      ...PLAIN,
      original_url: AT("t1"),
      title: "Fine",
    });
    expect(await fieldsOf("quiet", HOST)).toMatchObject({ archived: true });
    expect(await fieldsOf("held", HOST)).toMatchObject({ original_url: AT("first") });
    expect(await fieldsOf("held-2", HOST)).toMatchObject({ original_url: AT("t2") });
  });

  test("is corrected by other columns, also without a mouse, and a change needs another check", async () => {
    await dashboard.visit(account, "/links/import", async (page) => {
      // What is no list of links is refused with a reason.
      for (const [content, reason] of [
        [Buffer.from([0x50, 0x4b, 0x03, 0x04, 0x14]), "This is an Excel workbook."],
        ['url,title\na,"b\n', "In row 2 a quotation mark"],
      ] as const) {
        await choose(page, content);
        await page.getByRole("alert").getByText(reason).waitFor();
        expect(await page.getByRole("button", { name: "Check" }).count()).toBe(0);
      }
      await choose(page, "title\nx\n");
      await page.getByText("Choose the column that has the destination URLs.").waitFor();
      expect(await button(page, "Check 1 row").isDisabled()).toBe(true);

      await choose(
        page,
        `target,name,printed\n${AT("c1")},First,corrected-1\n${AT("c2")},Second,corrected-2\n`,
      );
      await button(page, "Check 2 rows").click();
      await page.getByText("Without an alias: one is generated").waitFor();
      await tabTo(page, column(page, "printed"));
      await page.keyboard.type("Alias");
      expect(await button(page, "Import 2 links").count()).toBe(0);
      const preview = page.getByRole("table", { name: "First rows" });
      await preview.getByText("/corrected-1").waitFor();
      await page.getByLabel("Domain of the new links").selectOption(HOST);
      await enter(page, button(page, "Check 2 rows"));
      await page.getByText("All 2 links can be imported.").waitFor();
      await enter(page, button(page, "Import 2 links"));
      await page.getByText("2 links created, 0 not imported.").waitFor();
    });
    expect(await fieldsOf("corrected-2", HOST)).toMatchObject({ title: "Second" });
  });
});
