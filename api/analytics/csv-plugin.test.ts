import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { FORMULA } from "../../shared/contracts/text.ts";
import { csvBeginning, toCsv, toTable } from "./csv-plugin.ts";

/** An independent writer to compare with. */
const writeCell = (value: string | number): string => {
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\r\n\uFEFF]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

describe("CSV", () => {
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
  ])("neutralises a cell that begins with %p, which a spreadsheet could run", async (beginning) => {
    const source = `${beginning}1+1`;
    const csv = await toCsv(toTable(["source"], [{ source }]));
    const cell = csv.slice("source\r\n".length);
    expect(cell.replace(/^"/, "")).toStartWith(`'${beginning}`);
  });

  test.each(["a=1", " a", "(1)", "1-1", "\u200ba", "ü"])("leaves %p as it is", async (source) => {
    expect(await toCsv(toTable(["source"], [{ source }]))).not.toContain("'");
  });

  test("quotes by RFC 4180, and cells with outer spaces", async () => {
    const cell = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.constantFrom('"', "a,b", " a", "\r\n", "=1"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell), { maxLength: 200 }), async (rows) => {
        const lines = [["a", "b"], ...rows].map((row) => `${row.map(writeCell).join(",")}\r\n`);
        expect(await toCsv({ columns: ["a", "b"], rows })).toBe(lines.join(""));
      }),
    );
  });

  test("of many rows lets requests that arrive meanwhile have their turn", async () => {
    const rows = Array.from({ length: 50_000 }, (_, i) => [`"${i}"`, "=1"]);
    let isWritten = false;
    const writing = toCsv({ columns: ["a", "b"], rows }).finally(() => (isWritten = true));
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(isWritten).toBe(false);
    expect((await writing).split("\r\n")).toHaveLength(50_002);
  });

  test.each([
    ["text/csv", ""],
    ["text/csv, application/json;q=0.5", ""],
    ["text/csv;bom=false", ""],
    ["text/csv;bom=true", "\ufeff"],
    ["text/csv; BOM=true; q=0.9, application/json;q=0.5", "\ufeff"],
    ["application/json;bom=true, text/csv", ""],
    ["application/json, text/csv;q=0.5", undefined],
    ["text/csv;bom=true;q=0", undefined],
    ["text/csvx", undefined],
    ["*/*", undefined],
    [null, undefined],
  ])("for Accept %p begins with %j, undefined for JSON", (accept, expected) => {
    expect(csvBeginning(accept)).toBe(expected);
  });
});
