import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { parseCsv } from "../../data/csv.ts";
import { planImport, splitIntoBatches } from "./import-formats.ts";

function plan(csv: string) {
  const { columns, records } = parseCsv(csv);
  return planImport(columns, records);
}

describe("an export from another shortener", () => {
  test.each([
    [
      "Bitly",
      'Created,Title,Bitlink,Long URL,Tags\n2024-01-02,Sale,https://bit.ly/3xYz,https://example.com/a,"spring,mail"\n',
      { url: "https://example.com/a", alias: "3xYz", title: "Sale", tags: ["spring", "mail"] },
    ],
    [
      "YOURLS",
      "keyword,url,title,timestamp,ip,clicks\nsale,https://example.com/a,Sale,2020-01-01 00:00:00,::1,7\n",
      { url: "https://example.com/a", alias: "sale", title: "Sale" },
    ],
    [
      "Shlink",
      "createdAt,shortUrl,longUrl,domain,shortCode,title,tags,visits\n2024-01-01,https://s.test/x1,https://example.com/a,s.test,x1,,a|b,3\n",
      { url: "https://example.com/a", alias: "x1", tags: ["a", "b"] },
    ],
    [
      "Kutt",
      "address,target,description,password,expire_in\nk1,https://example.com/a,About,,2030-01-01T00:00:00Z\n",
      {
        url: "https://example.com/a",
        alias: "k1",
        title: "About",
        expires_at: "2030-01-01T00:00:00.000Z",
      },
    ],
    [
      "Shorthop",
      "short_url,original_url,alias,title,tags,clicks,created_at,expires_at\nhttps://s.test/a,https://example.com/a,a,,,0,2026-01-01T00:00:00Z,\n",
      { url: "https://example.com/a", alias: "a" },
    ],
  ])("%s is recognized by its columns and parsed", (source, csv, link) => {
    expect(plan(csv)).toMatchObject({ source, rows: [{ row: 2, link }] });
  });

  test("without a column of destination URLs is rejected", () => {
    expect(plan("a,b\n1,2\n")).toBeUndefined();
  });

  test("of an unknown source is parsed by its known columns", () => {
    expect(plan("Destination,Slug\nhttps://example.com/a,x\n")).toEqual({
      source: undefined,
      fieldColumns: { url: "Destination", alias: "Slug" },
      rows: [{ row: 2, link: { url: "https://example.com/a", alias: "x" } }],
    });
  });

  test("with an invalid date leaves it to the API to reject", () => {
    expect(plan("url,expires\nhttps://example.com,soon\n")?.rows[0]?.link.expires_at).toBe("soon");
  });
});

test("rows are split into batches within the limits, in order and without loss", () => {
  const limits = { links: 5, passwords: 2, bytes: 150 };
  const anyRow = fc.option(fc.constant("secret"), { nil: undefined });
  fc.assert(
    fc.property(fc.array(anyRow, { maxLength: 40 }), (passwords) => {
      const rows = passwords.map((password, row) => ({
        row,
        link: { url: "https://example.com", ...(password === undefined ? {} : { password }) },
      }));
      const batches = splitIntoBatches(rows, limits);
      expect(batches.flat()).toEqual(rows);
      for (const batch of batches) {
        expect(batch.length).toBeWithin(1, limits.links + 1);
        const withPassword = batch.filter(({ link }) => link.password !== undefined);
        expect(withPassword.length).toBeLessThanOrEqual(limits.passwords);
        expect(JSON.stringify(batch.map(({ link }) => link)).length).toBeLessThan(limits.bytes + 2);
      }
    }),
  );
});
