import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { FORMULA } from "../../shared/contracts/text.ts";
import { prefersCsv, toCsv, toTable } from "./csv.ts";

/** An independent writer to compare with. */
const writeCell = (value: string | number): string => {
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\r\n\uFEFF]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

describe("CSV", () => {
  test("quotes special characters and neutralises formulas", () => {
    const records = [
      { source: 'a "b", c', clicks: 3 },
      { source: "=1+1", clicks: -1 },
      { source: "line\nbreak", clicks: 0 },
    ];
    expect(toCsv(toTable(["source", "clicks"], records))).toBe(
      'source,clicks\r\n"a ""b"", c",3\r\n\'=1+1,-1\r\n"line\nbreak",0\r\n',
    );
  });

  test.each([
    "=",
    "+",
    "-",
    "@",
    "＝",
    "＋",
    "－",
    "＠",
    "\t=",
    "\r=",
    "\n=",
    "\r\n=",
    "\0=",
    "\v=",
    " =",
    "\u00a0=",
    "\u2028=",
    "\u200b=",
    "\ufeff=",
    "\u202e=",
    "\nx",
    "\tx",
  ])("neutralises a cell that begins with %p, which a spreadsheet could run", (beginning) => {
    const source = `${beginning}1+1`;
    const cell = toCsv(toTable(["source"], [{ source }])).slice("source\r\n".length);
    expect(cell.replace(/^"/, "")).toStartWith(`'${beginning}`);
  });

  test.each(["a=1", " a", "(1)", "1-1", "\u200ba", "ü"])("leaves %p as it is", (source) => {
    expect(toCsv(toTable(["source"], [{ source }]))).not.toContain("'");
  });

  test("quotes by RFC 4180, and cells with outer spaces", () => {
    const cell = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.constantFrom('"', "a,b", " a", "\r\n", "=1"),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell)), (rows) => {
        const lines = [["a", "b"], ...rows].map((row) => `${row.map(writeCell).join(",")}\r\n`);
        expect(toCsv({ columns: ["a", "b"], rows })).toBe(lines.join(""));
      }),
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
  ])("is preferred for Accept %p: %p", (accept, expected) => {
    expect(prefersCsv(accept)).toBe(expected);
  });
});
