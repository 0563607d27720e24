/**
 * Goal: a file is read as the program that wrote it meant it, or refused with a reason; never read
 * wrongly in silence.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { parseImportFile } from "./plan.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The bytes of a text in UTF-16, with its byte order mark, as Excel saves "Unicode text". */
function encodeUtf16(text: string, littleEndian: boolean): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(2 * text.length + 2));
  bytes.setUint16(0, 0xfe_ff, littleEndian);
  for (let i = 0; i < text.length; i++)
    bytes.setUint16(2 * i + 2, text.charCodeAt(i), littleEndian);
  return new Uint8Array(bytes.buffer);
}

const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;

function read(content: string | Uint8Array): unknown {
  const file = parseImportFile("f.csv", typeof content === "string" ? encode(content) : content);
  if ("problem" in file) return file.problem;
  const { columns, rows, delimiter, encoding } = file;
  return { columns, rows: rows.map(({ cells }) => cells), delimiter, encoding };
}

const TABLE = {
  columns: ["url", "title"],
  rows: [["https://example.com/ü", 'a "b", c']],
  delimiter: ",",
  encoding: "UTF-8",
};
const TEXT = 'url,title\nhttps://example.com/ü,"a ""b"", c"\n';

describe("a text file", () => {
  test.each([
    ["in UTF-8", TEXT, {}],
    ["with a byte order mark", `\uFEFF${TEXT}`, {}],
    ["with CRLF", TEXT.replaceAll("\n", "\r\n"), {}],
    ["with CR", TEXT.replaceAll("\n", "\r"), {}],
    ["without a last line end", TEXT.trimEnd(), {}],
    ["with semicolons", 'url;title\nhttps://example.com/ü;"a ""b"", c"\n', { delimiter: ";" }],
    ["with tabs", 'url\ttitle\nhttps://example.com/ü\t"a ""b"", c"\n', { delimiter: "\t" }],
    [
      "that names its separator",
      'sep=;\r\nurl;title\r\nhttps://example.com/ü;"a ""b"", c"\r\n',
      { delimiter: ";" },
    ],
    ["in UTF-16, little-endian", encodeUtf16(TEXT, true), { encoding: "UTF-16" }],
    ["in UTF-16, big-endian", encodeUtf16(TEXT, false), { encoding: "UTF-16" }],
    [
      "in Windows-1252",
      Uint8Array.from(TEXT, (character) => character.charCodeAt(0)),
      { encoding: "Windows-1252" },
    ],
  ])("%s is read", (_, content, differing) => {
    expect(read(content)).toEqual({ ...TABLE, ...differing });
  });

  test.each([
    ["an Excel workbook", Uint8Array.of(0x50, 0x4b, 0x03, 0x04, 0x14), "Excel workbook"],
    ["an old workbook", Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0x00, 0x00), "not a text file"],
    ["UTF-16 without its mark", encodeUtf16(TEXT, true).subarray(2), "not a text file"],
    ["half a character of UTF-16", encodeUtf16(TEXT, true).subarray(0, -1), "not a text file"],
    ["nothing", "", "is empty"],
    ["only a header", "url,title\n", "no rows"],
    ["no header", "https://example.com/a,b\nhttps://example.com/c,d\n", "names of the columns"],
    ["a quotation mark that is not closed", 'url,title\na,"b\nc,d\n', "row 2"],
    ["a quotation mark that is not doubled", 'url,title\na,b\nc,"d"e"\n', "row 3"],
    ["too many columns", `${"a,".repeat(101)}b\n1\n`, "more than 100 columns"],
    ["too long a cell", `url\n${"a".repeat(65_537)}\n`, "more than 65,536 characters"],
    ["too many rows", `url\n${"a\n".repeat(200_001)}`, "more than 200,000 rows"],
  ])("with %s is refused, with the reason", (_, content, reason) => {
    expect(read(content)).toContain(reason);
  });

  test("has every cell that was written, whatever it is", () => {
    const cell = fc.string({
      unit: fc.constantFrom(...Array.from("a1,;|\t\"' \nü=")),
      maxLength: 6,
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 }),
        fc.constantFrom(",", ";", "\t"),
        (rows, delimiter) => {
          const lines = [["url", "b", "c"], ...rows].map((row) => row.map(quote).join(delimiter));
          const wanted = rows.filter((row) => row.some((text) => text.trim() !== ""));
          const found = read(lines.join("\r\n"));
          if (wanted.length === 0) expect(found).toContain("no rows");
          else expect(found).toMatchObject({ rows: wanted, delimiter });
        },
      ),
    );
  });
});
