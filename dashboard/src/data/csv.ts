/** Reads and writes CSV files, with papaparse. */
import Papa from "papaparse";

import { FORMULA } from "../../../shared/contracts/text.ts";
import { saveFile } from "./save-file.ts";

export type CsvFile = { columns: string[]; records: Record<string, string>[] };

/** Parses CSV with a header row; ignores rows whose fields are all blank. */
export function parseCsv(text: string): CsvFile {
  const { data, meta } = Papa.parse<Record<string, string>>(text, {
    header: true,
    skipEmptyLines: "greedy",
  });
  return { columns: meta.fields ?? [], records: data };
}

/** Saves rows as a CSV file, with a header row. Escapes cells that a spreadsheet would run as formulas. */
export function saveCsv(rows: readonly Record<string, unknown>[], name: string): void {
  const text = Papa.unparse([...rows], { escapeFormulae: FORMULA });
  saveFile(new Blob([text], { type: "text/csv" }), name);
}
