/**
 * Goal: a file comes along as the dashboard would read it, with every short URL that may be in
 * print, and nothing is imported that nobody wanted.
 */
import { expect, test } from "bun:test";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { FILE_BYTES_MAX } from "../../shared/link-csv/file.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { CsvFile } from "./csv.ts";
import type { SourceLink } from "./source.ts";

const folder = dirForFile("csv-");

function write(...lines: string[]): string {
  const path = join(folder, "links.csv");
  writeFileSync(path, lines.join("\n"));
  return path;
}

async function read(
  path: string,
  columns?: string,
  dateOrder?: string,
): Promise<readonly SourceLink[]> {
  await using file = new CsvFile(path, { columns, dateOrder });
  return (await file.links(null)).rows;
}

test("an export of Bitly: both back-halves, the time of creation and the state come along", async () => {
  const path = write(
    "Link,Custom Link,Date created,Title,Destination URL,Engagements,Status",
    "https://bit.ly/1,https://go.test/sale,2020-01-02,Sale,https://example.com/,7,Active",
    "https://bit.ly/2,,2020-01-03,,https://example.com/2,0,Deleted",
  );
  const [custom, random, deleted] = await read(path);
  const shared = { url: "https://example.com/", title: "Sale", createdAt: new Date("2020-01-02") };
  expect(custom).toMatchObject({ ...shared, id: "2", domain: "go.test", alias: "sale" });
  expect(random).toMatchObject({ ...shared, id: "2/1", domain: "bit.ly", alias: "1" });
  expect(deleted?.refused).toBe("The other service has deleted the link.");
});

test("an export of Dub: tags come along; a link with a password is disabled", async () => {
  const path = write(
    "Short link,Destination URL,Tags,Password",
    `https://go.test/a,https://example.com/,"x, y",****`,
  );
  expect(await read(path)).toMatchObject([
    {
      alias: "a",
      tags: ["x", "y"],
      settings: { disabled: true },
      left: ["its password: it is disabled until it gets one"],
    },
  ]);
});

test("a title has the text of a page in one line", async () => {
  const path = write("url,title", 'https://example.com/,"\u202bחנות\u202c\u200f | a', 'b"');
  expect(await read(path)).toMatchObject([{ title: "חנות | a b" }]);
});

test("columns and the order of dates can be corrected", async () => {
  const path = write(
    "Where to,Code,Comment,Ends",
    "https://example.com/,a,hidden,03/04/2031",
    "https://example.com/,b,hidden,05/06/2031",
  );
  expect(read(path)).rejects.toThrow("No column has the destination");
  const columns = "Where to=url,code=alias,Comment=-,Ends=expires_at";
  expect((await read(path, columns)).map(({ refused }) => refused)).toEqual([
    "A date can be read in two ways: say which by --date-order.",
    "A date can be read in two ways: say which by --date-order.",
  ]);
  const [first] = await read(path, columns, "day");
  expect(first).toMatchObject({ alias: "a", expiresAt: new Date("2031-04-03T00:00:00Z") });
  expect(first?.settings?.["notes"]).toBeUndefined();
  expect(read(path, "Nothing=url")).rejects.toThrow('There is no column "Nothing"');
  expect(read(path, "Code=nothing")).rejects.toThrow('"nothing" is no field');
  expect(read(path, columns, "year")).rejects.toThrow("must be day or month");
});

test("pages of a large file have each row once, and a corrected file is another source", async () => {
  const rows = Array.from({ length: 2_500 }, (_, n) => `https://example.com/${n},a${n}`);
  const path = write("url,alias", ...rows);
  await using file = new CsvFile(path);
  const seen: string[] = [];
  for (let after: { from: number } | null = null; ;) {
    const page = await file.links(after);
    seen.push(...page.rows.map(({ alias }) => alias));
    if (page.next === null) break;
    after = { from: Number(page.next["from"]) };
  }
  expect(seen).toEqual(rows.map((_, n) => `a${n}`));
  const identity = CsvFile.identify(path);
  expect(CsvFile.identify(path)).toBe(identity);
  expect(CsvFile.identify(write("url,alias", "https://example.com/,b"))).not.toBe(identity);
});

test("what is no table is refused, with the row", () => {
  expect(() => new CsvFile(write("url,alias", `"https://example.com/,a`))).toThrow(
    "a quotation mark is not closed",
  );
  expect(() => new CsvFile(write(""))).toThrow("links.csv: it is empty.");
  expect(() => new CsvFile(join(folder, "none.csv"))).toThrow("ENOENT");
  const large = write("url,alias");
  truncateSync(large, FILE_BYTES_MAX + 1);
  expect(() => new CsvFile(large)).toThrow("too large");
});
