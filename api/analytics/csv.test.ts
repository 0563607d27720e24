import { describe, expect, test } from "bun:test";

import { prefersCsv, tableOf, toCsv } from "./csv.ts";

describe("CSV", () => {
  test("quotes what would break it, and disarms what a spreadsheet would run", () => {
    const records = [
      { source: 'a "b", c', clicks: 3 },
      { source: "=1+1", clicks: -1 },
      { source: "line\nbreak", clicks: 0 },
    ];
    expect(toCsv(tableOf(["source", "clicks"], records))).toBe(
      'source,clicks\r\n"a ""b"", c",3\r\n\'=1+1,-1\r\n"line\nbreak",0\r\n',
    );
  });

  test.each([
    ["text/csv", true],
    ["text/csv, application/json;q=0.5", true],
    ["application/json, text/csv;q=0.5", false],
    ["text/csv;q=0", false],
    ["text/csvx", false],
    ["*/*", false],
    [null, false],
  ])("is given for Accept %p: %p", (accept, expected) => {
    expect(prefersCsv(accept)).toBe(expected);
  });
});
