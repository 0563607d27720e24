import { describe, expect, test } from "bun:test";

import Papa from "papaparse";

import { planImport } from "./import-formats.ts";

function plan(csv: string) {
  const { data, meta } = Papa.parse<Record<string, string>>(csv, {
    header: true,
    skipEmptyLines: true,
  });
  return planImport(meta.fields ?? [], data);
}

describe("an export of another shortener", () => {
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
  ])("of %s is told by its columns and read", (source, csv, link) => {
    expect(plan(csv)).toMatchObject({ source, rows: [{ row: 2, link }] });
  });

  test("without a column of destinations is no import", () => {
    expect(plan("a,b\n1,2\n")).toBeUndefined();
  });

  test("of nobody we know is read by the columns that are known", () => {
    expect(plan("Destination,Slug\nhttps://example.com/a,x\n")).toEqual({
      source: undefined,
      found: { url: "Destination", alias: "Slug" },
      rows: [{ row: 2, link: { url: "https://example.com/a", alias: "x" } }],
    });
  });

  test("keeps a bad instant for the API to refuse", () => {
    expect(plan("url,expires\nhttps://example.com,soon\n")?.rows[0]?.link.expires_at).toBe("soon");
  });
});
