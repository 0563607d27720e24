/** Writes CSV files, with papaparse; of links in the format that `shared/link-csv` reads. */
import Papa from "papaparse";

import type { Link } from "../../../clients/typescript/src/index.ts";
import { ESCAPED_FORMULA } from "../../../shared/contracts/text.ts";
import { FLAG, SETTING_CELLS } from "../../../shared/link-csv/cells.ts";
import { saveCsvFile } from "./save-file.ts";

/**
 * Writes rows as CSV with a header row. Prefixes cells that a spreadsheet would run as formulas
 * with an apostrophe.
 */
export const printCsv = (rows: readonly Record<string, unknown>[]): string =>
  Papa.unparse([...rows], { escapeFormulae: ESCAPED_FORMULA });

/** Writes a table, whose first row is the header, as {@link printCsv} does. */
export const printTable = (table: readonly (readonly string[])[]): string =>
  Papa.unparse(
    table.map((row) => [...row]),
    { escapeFormulae: ESCAPED_FORMULA },
  );

/** Saves a table as a CSV file: see {@link printTable}. */
export const saveTable = (table: readonly (readonly string[])[], name: string): void =>
  saveCsvFile(printTable(table), name);

/** Saves rows as a CSV file: see {@link printCsv}. */
export function saveCsv(rows: readonly Record<string, unknown>[], name: string): void {
  saveCsvFile(printCsv(rows), name);
}

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
