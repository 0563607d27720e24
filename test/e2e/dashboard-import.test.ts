/**
 * Goal: links that move here keep what they were: printed short URLs lead where they led, archived
 * links stay archived, and whatever cannot be imported is named before anything is created. Method:
 * an export of each service, with the headers of docs/imports.md, in a real browser on a real
 * stack; the API and the redirector show what came of it.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Browser, Page } from "playwright-core";

import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { callOnce } from "../harness/api.ts";
import { chromiumPath, openBrowser, visitSignedIn } from "../harness/browser.ts";
import { createUser, type TestUser } from "../harness/dashboard.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;
const HOST = "go.moved.example";
const AT = (path: string) => `https://destination.example/${path}`;

const withBrowser = describe.skipIf(chromiumPath === undefined);

let dns: Dns;
let stack: SharedStack;
let browser: Browser;
let user: TestUser;
let account: string;
let client: Client;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  dns = await startDns();
  stack = await useStack({ dns });
  const created = await createAccount(stack, "enterprise");
  account = created.id;
  user = await createUser(stack, account);
  client = createClient({ baseUrl: stack.info().api_url, apiKey: created.key });
  const { id, verification } = await client.domains.create(HOST);
  dns.set(verification.name, [verification.value]);
  await client.domains.verify(id);
  browser = await openBrowser();
});
afterAll(async () => {
  if (chromiumPath === undefined) return;
  await browser.close();
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

/** Opens the page of imports with a file. */
const visitWith = (content: string | Buffer, steps: (page: Page) => Promise<void>): Promise<void> =>
  visitSignedIn(browser, stack, {
    who: user,
    path: `/${account}/live/links/import`,
    async steps(page) {
      await choose(page, content);
      await steps(page);
    },
  });

const choose = (page: Page, content: string | Buffer): Promise<void> =>
  page
    .getByLabel("Choose a CSV file")
    .setInputFiles({ name: "export.csv", mimeType: "text/csv", buffer: Buffer.from(content) });

const count = (noun: string, n: number) => `${n} ${noun}${n === 1 ? "" : "s"}`;

const column = (page: Page, name: string) => page.getByLabel(`${name}: imported as`);

/** The reason that is displayed for a column that is not imported. */
const reasonOf = (page: Page, name: string) =>
  page
    .getByRole("table", { name: "Columns" })
    .getByRole("row", { name: new RegExp(`^${name} `) })
    .locator("small");

/** A link's fields, by its alias on the moved domain or on the service's own. */
async function fieldsOf(alias: string, domain?: string) {
  const { id } = await client.links.lookUp({ alias, ...(domain === undefined ? {} : { domain }) });
  const { original_url, title, tags, archived, expires_at, has_password } = await client.links.get(
    id,
    { include: "settings" },
  );
  return { original_url, title, tags, archived, expires_at, has_password };
}

const PLAIN = {
  title: null,
  tags: [],
  archived: undefined,
  expires_at: null,
  has_password: false,
};

type Expected = { alias: string; domain?: string } & Partial<Awaited<ReturnType<typeof fieldsOf>>>;

type Export = {
  service: string;
  csv: string | Buffer;
  rows: number;
  links: number;
  /** Columns that are not imported, with the beginning of the reason. */
  ignored: Readonly<Record<string, string>>;
  expected: readonly Expected[];
  /** What must not exist. */
  absent?: readonly string[];
};

const EXPORTS: readonly Export[] = [
  {
    service: "Bitly",
    csv: [
      "Link,Custom Link,Date created,Title,Destination URL,Engagements,Status",
      `https://bit.ly/3xYz,https://${HOST}/bitly-sale,2024-03-01T10:00:00+0000,"Sale, spring",${AT("b1")},"1,234",Active`,
      `https://${HOST}/bitly-old,,2023-03-01T10:00:00+0000,,${AT("b2")},0,Archived`,
    ].join("\r\n"),
    rows: 2,
    links: 2,
    ignored: { "Date created": "A link is as old", Engagements: "Clicks are counted here" },
    expected: [
      { alias: "bitly-sale", domain: HOST, original_url: AT("b1"), title: "Sale, spring" },
      { alias: "bitly-old", domain: HOST, original_url: AT("b2"), archived: true },
    ],
    absent: ["3xYz"],
  },
  {
    service: "Dub",
    csv: [
      "Short link,Destination URL,Clicks,Created at,Link ID,Updated at,Tags,Archived",
      `https://${HOST}/dub-a,${AT("d1")},7,2024-01-01T00:00:00.000Z,link_1,2024-01-01T00:00:00.000Z,"news, print",No`,
      `https://${HOST}/dub-b,${AT("d2")},0,2024-01-01T00:00:00.000Z,link_2,2024-01-01T00:00:00.000Z,,Yes`,
    ].join("\n"),
    rows: 2,
    links: 2,
    ignored: { "Link ID": "The other service", Clicks: "Clicks are counted here" },
    expected: [
      { alias: "dub-a", domain: HOST, original_url: AT("d1"), tags: ["news", "print"] },
      { alias: "dub-b", domain: HOST, original_url: AT("d2"), archived: true },
    ],
  },
  {
    service: "Short.io",
    // With a byte order mark.
    csv: `\uFEFFidString,shortURL,originalPath,originalURL,title,clicks,createdAt,updatedAt,expiresAt,createdBy,tags
lnk_1,https://${HOST}/shortio-a,shortio-a,${AT("s1")},Printed,245,2024-05-01T08:00:00Z,2024-05-03T09:30:00Z,2098-05-01T08:00:00Z,someone,"marketing,launch"
`,
    rows: 1,
    links: 1,
    ignored: { createdBy: "Links here have no author", idString: "The other service" },
    expected: [
      {
        alias: "shortio-a",
        domain: HOST,
        original_url: AT("s1"),
        title: "Printed",
        tags: ["marketing", "launch"],
        expires_at: "2098-05-01T08:00:00.000Z",
      },
    ],
  },
  {
    service: "Rebrandly",
    csv: `id,createdAt,shortUrl,destination
abc,2024-01-15T10:30:00.000Z,${HOST}/rebrandly-a,${AT("r1")}
`,
    rows: 1,
    links: 1,
    ignored: { id: "The other service", createdAt: "A link is as old" },
    expected: [{ alias: "rebrandly-a", domain: HOST, original_url: AT("r1") }],
  },
  {
    service: "YOURLS",
    // As phpMyAdmin writes it for Excel, and Excel saves it.
    csv: Buffer.from(
      `\uFEFFkeyword;url;title;timestamp;ip;clicks\r\nyourls-a;${AT("y1")};"Über; ""uns""";2020-01-01 00:00:00;::1;7\r\n`,
      "utf16le",
    ),
    rows: 1,
    links: 1,
    ignored: { ip: "Links here have no author", timestamp: "A link is as old" },
    expected: [{ alias: "yourls-a", original_url: AT("y1"), title: 'Über; "uns"' }],
  },
  {
    service: "Shlink",
    csv: `"createdAt","domain","shortCode","shortUrl","longUrl","title","tags","visits"
"2024-01-01T00:00:00+00:00","${HOST}","shlink-a","https://${HOST}/shlink-a","${AT("l1")}","","a, b|c",3
`,
    rows: 1,
    links: 1,
    ignored: { visits: "Clicks are counted here" },
    expected: [{ alias: "shlink-a", domain: HOST, original_url: AT("l1"), tags: ["a, b", "c"] }],
  },
];

withBrowser("an export", () => {
  test.each(EXPORTS.map((one) => [one.service, one] as const))(
    "of %s keeps its short URLs, their state and their tags",
    async (service, { csv, rows, links, ignored, expected, absent = [] }) => {
      await visitWith(csv, async (page) => {
        await page.getByText(`The ${service} export contains ${count("row", rows)}`).waitFor();
        for (const [name, reason] of Object.entries(ignored)) {
          expect(await column(page, name).inputValue()).toBe("");
          expect(await reasonOf(page, name).textContent()).toStartWith(reason);
        }
        await page.getByRole("button", { name: `Check ${count("row", rows)}` }).click();
        await page.getByText(`All ${count("link", links)} can be imported.`).waitFor();
        await page.getByRole("button", { name: `Import ${count("link", links)}` }).click();
        await page.getByText(`${count("link", links)} created, 0 not imported.`).waitFor();
      });
      for (const { alias, domain, ...fields } of expected) {
        expect(await fieldsOf(alias, domain)).toEqual({
          original_url: "",
          ...PLAIN,
          ...fields,
        });
        await eventually(async () => {
          const response = await callOnce(`${stack.info().short_url}/${alias}`, {
            headers: domain === undefined ? {} : { host: domain },
          });
          expect(response.headers.get("location")).toBe(fields.original_url ?? "");
        }, TIMEOUT_MS);
      }
      for (const alias of absent)
        for (const place of [{ alias }, { alias, domain: HOST }])
          expect(client.links.lookUp(place)).rejects.toMatchObject({ code: "not_found" });
    },
  );

  test("creates both back-halves of a link if one asks for it", async () => {
    const csv = `Link,Custom Link,Destination URL,Engagements\nhttps://${HOST}/random1,https://${HOST}/chosen1,${AT("both")},1\n`;
    await visitWith(csv, async (page) => {
      await page.getByLabel("Links with a custom back-half").selectOption("Both back-halves");
      await page.getByRole("button", { name: "Check 1 row" }).click();
      await page.getByRole("button", { name: "Import 2 links" }).click();
      await page.getByText("2 links created, 0 not imported.").waitFor();
    });
    for (const alias of ["random1", "chosen1"])
      expect((await fieldsOf(alias, HOST)).original_url).toBe(AT("both"));
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
    await client.links.create({ url: AT("first"), alias: "held", domain: HOST });
    await visitWith(TROUBLED, async (page) => {
      await page.getByText("The file is from no service that we recognize.").waitFor();
      expect(await reasonOf(page, "mood").textContent()).toContain("is not known");
      await page.getByRole("button", { name: "Check 12 rows" }).click();
      await page
        .getByText("2 of 12 links can be imported. Nothing has been created yet.")
        .waitFor();
      const problems = page.getByRole("list", { name: "Will not be imported" });
      expect((await problems.getByRole("listitem").allTextContents()).toSorted()).toEqual(
        [
          "1 Alias in use",
          "1 Alias twice in the file",
          "1 Date not understood",
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
        expect(client.links.lookUp({ alias, domain: HOST })).rejects.toThrow();
      await page.getByRole("button", { name: "Import 2 links" }).click();
      await page.getByText("2 links created, 10 not imported.").waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download these rows as CSV" }).click(),
      ]);
      const report = readFileSync(await download.path(), "utf8");
      expect(report.split("\r\n")).toHaveLength(11);
      expect(report).toContain(
        `3,"The alias ""held"" is already in use.",https://${HOST}/held,${AT("t2")},Held,good,active,,`,
      );
      // Corrected, the list is imported again.
      const corrected = report.replace(`https://${HOST}/held`, `https://${HOST}/held-2`);
      await choose(page, corrected);
      await page.getByRole("button", { name: "Check 10 rows" }).click();
      await page.getByRole("button", { name: "Import 1 link" }).click();
      await page.getByText("1 link created, 9 not imported.").waitFor();
    });
    expect(await fieldsOf("fine", HOST)).toEqual({
      ...PLAIN,
      original_url: AT("t1"),
      title: "Fine",
    });
    expect(await fieldsOf("quiet", HOST)).toMatchObject({ archived: true });
    expect(await fieldsOf("held", HOST)).toMatchObject({ original_url: AT("first") });
    expect(await fieldsOf("held-2", HOST)).toMatchObject({ original_url: AT("t2") });
    for (const alias of ["gone", "odd", "over", "hashed"])
      expect(client.links.lookUp({ alias, domain: HOST })).rejects.toThrow();
  });

  test("is corrected by other columns, and a change needs another check", async () => {
    const csv = `target,name,printed\n${AT("c1")},First,corrected-1\n${AT("c2")},Second,corrected-2\n`;
    await visitWith(csv, async (page) => {
      await page.getByRole("button", { name: "Check 2 rows" }).click();
      await page.getByText("Without an alias: one is generated").waitFor();
      await column(page, "printed").selectOption("Alias (back-half)");
      expect(await page.getByRole("button", { name: "Import 2 links" }).count()).toBe(0);
      const preview = page.getByRole("table", { name: "First rows" });
      await preview.getByText("/corrected-1").waitFor();
      await page.getByLabel("Domain of the new links").selectOption(HOST);
      await page.getByRole("button", { name: "Check 2 rows" }).click();
      await page.getByRole("button", { name: "Import 2 links" }).click();
      await page.getByText("2 links created, 0 not imported.").waitFor();
    });
    expect(await fieldsOf("corrected-2", HOST)).toMatchObject({ title: "Second" });
  });

  test("can be read and imported without a mouse", async () => {
    await visitWith(`url,alias,mood\n${AT("k1")},by-keys,x\n`, async (page) => {
      const press = async (name: string, key: string) => {
        const focused = () =>
          page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent");
        for (let i = 0; i < 40 && String(await focused()) !== name; i++)
          await page.keyboard.press("Tab");
        expect(await focused()).toBe(name);
        await page.keyboard.press(key);
      };
      await page.getByLabel("Choose a CSV file").focus();
      await press("mood: imported as", "T");
      await page
        .getByRole("table", { name: "First rows" })
        .getByText("x", { exact: true })
        .waitFor();
      await press("Check 1 row", "Enter");
      await page.getByText("All 1 link can be imported.").waitFor();
      await press("Import 1 link", "Enter");
      await page.getByText("1 link created, 0 not imported.").waitFor();
    });
    expect(await fieldsOf("by-keys")).toMatchObject({ title: "x" });
  });

  test("that is none is refused with a reason", async () => {
    for (const [content, reason] of [
      [Buffer.from([0x50, 0x4b, 0x03, 0x04, 0x14]), "This is an Excel workbook."],
      ['url,title\na,"b\n', "In row 2 a quotation mark"],
    ] as const)
      await visitWith(content, async (page) => {
        await page.getByRole("alert").getByText(reason).waitFor();
        expect(await page.getByRole("button", { name: "Check" }).count()).toBe(0);
      });
    await visitWith("title\nx\n", async (page) => {
      await page.getByText("Choose the column that has the destination URLs.").waitFor();
      expect(await page.getByRole("button", { name: "Check 1 row" }).isDisabled()).toBe(true);
    });
  });
});
