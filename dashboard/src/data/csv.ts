/** Writes CSV files, with papaparse; of links in the format that `shared/link-csv` reads. */
import Papa from "papaparse";

import type { Link } from "../../../clients/typescript/src/index.ts";
import { ESCAPED_FORMULA } from "../../../shared/contracts/text.ts";
import { FLAG, SETTING_CELLS } from "../../../shared/link-csv/cells.ts";
import { saveFile } from "./http.ts";

/** Objects, whose names are the header; or lists, of which the first is the header. */
type Rows = readonly (Record<string, unknown> | string[])[];

/** Writes rows as CSV. Cells that a spreadsheet would run as formulas begin with an apostrophe. */
export const printCsv = (rows: Rows): string =>
  Papa.unparse([...rows], { escapeFormulae: ESCAPED_FORMULA });

/** Excel reads a file that begins with it as UTF-8, and others in Windows' code page. */
const BYTE_ORDER_MARK = "\ufeff";

/** Saves rows as a CSV file for spreadsheets: see {@link printCsv}. */
export const saveCsv = (rows: Rows, name: string): void =>
  saveFile(new Blob([BYTE_ORDER_MARK, printCsv(rows)], { type: "text/csv" }), name);

/** A row of a CSV file, by column. */
export type CsvRow = Readonly<Record<string, string>>;

/** Returns the row of a link, which must have been fetched with all of its settings. */
export function toCsvRow(link: Link): CsvRow {
  const settings = Object.entries(SETTING_CELLS).map(([field, { write }]) => {
    const value: unknown = Reflect.get(link, field);
    return [field, value === undefined || value === null ? "" : write(value)];
  });
  return {
    short_url: link.short_url,
    original_url: link.original_url,
    ...Object.fromEntries(settings),
    has_password: FLAG.write(link.has_password),
    password: "",
    clicks: String(link.clicks),
    created_at: link.created_at,
  };
}
