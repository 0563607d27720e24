/** Writes CSV files, with papaparse. */
import Papa from "papaparse";

import { ESCAPED_FORMULA } from "../../../shared/contracts/text.ts";
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
