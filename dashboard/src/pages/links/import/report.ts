/** The list of rows that were not imported, which can be corrected and imported again. */
import { printTable, unescapeFormula } from "../../../data/csv.ts";
import type { FailedItem } from "./import-run.ts";
import type { ImportFile } from "./read-file.ts";

/** The columns before those of the file: the number of the row, and why it was not imported. */
const REPORT_COLUMNS = ["import_row", "import_reason"];

/** Writes the rows of the file that were not imported, whole, each with its reason. */
export function printReport(
  { columns, rows, isEscaped }: Pick<ImportFile, "columns" | "rows" | "isEscaped">,
  failed: readonly FailedItem[],
): string {
  const reasons = new Map<number, string[]>();
  for (const { index, problem } of failed)
    reasons.set(index, [...(reasons.get(index) ?? []), problem.message]);
  // A list of an earlier import has them already.
  const keeps = (column: number): boolean => !REPORT_COLUMNS.includes(columns[column] ?? "");
  const table = [...reasons].map(([index, messages]) => {
    const { row, cells } = rows[index] ?? { row: 0, cells: [] };
    const own = cells.filter((_, column) => keeps(column));
    const texts = isEscaped ? own.map(unescapeFormula) : own;
    return [String(row), [...new Set(messages)].join(" "), ...texts];
  });
  const header = [...REPORT_COLUMNS, ...columns.filter((_, column) => keeps(column))];
  return printTable([header, ...table]);
}
