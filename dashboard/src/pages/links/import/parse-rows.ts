/** Parses the rows of a CSV file, with papaparse, within bounds. */
import Papa from "papaparse";

import { t } from "../../../languages/translate.ts";

/** Rows of a file: twice the links of a large account. */
const ROWS_MAX = 200_000;
/** Columns of a file; the widest known export has 45. */
const COLUMNS_MAX = 100;
/** Characters of a cell: as many as the bytes of a link with all its rules. */
const CELL_LENGTH_MAX = 64 * 1024;

/** A row with its number in the file, in which the header is row 1. */
export type FileRow = { row: number; cells: readonly string[] };

export type FileTable = {
  /** Names of the columns, which may be empty and repeat. */
  columns: readonly string[];
  /** Rows with any text; they may have fewer or more cells than there are columns. */
  rows: readonly FileRow[];
  delimiter: Delimiter;
};

const DELIMITERS = [",", ";", "\t", "|"] as const;
type Delimiter = (typeof DELIMITERS)[number];

/** Excel names the delimiter in a first line of its own, such as `sep=;`. */
const SEPARATOR_LINE = /^sep=(?<delimiter>[,;\t|])\n/i;

/** Parses a file whose first row has the names of its columns. Returns a problem as a sentence. */
export function parseRows(source: string): FileTable | { problem: string } {
  const whole = source.replaceAll(/\r\n?/g, "\n");
  const named = SEPARATOR_LINE.exec(whole);
  const text = named === null ? whole : whole.slice(named[0].length);
  const delimiter =
    DELIMITERS.find((one) => one === named?.groups?.["delimiter"]) ?? findDelimiter(text);
  // One row beyond the header and the maximum shows that there are too many.
  const { data, errors } = parse(text, delimiter, ROWS_MAX + 2);
  const skipped = named === null ? 0 : 1;
  const [error] = errors;
  if (error !== undefined) {
    return { problem: t("import.file.quote", { row: (error.row ?? 0) + 1 + skipped }) };
  }
  const columns = (data[0] ?? []).map((name) => name.trim());
  const rows = data
    .slice(1)
    .map((cells, i) => ({ row: i + 2 + skipped, cells }))
    .filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
  const problem = findProblem(columns, rows, data.length - 1);
  return problem === undefined ? { columns, rows, delimiter } : { problem };
}

function findProblem(
  columns: readonly string[],
  rows: readonly FileRow[],
  rowCount: number,
): string | undefined {
  if (columns.every((name) => name === "")) return t("import.file.empty");
  if (columns.some((name) => /^https?:\/\//i.test(name))) return t("import.file.noHeader");
  if (rowCount > ROWS_MAX) return t("import.file.tooMany.rows", { max: ROWS_MAX });
  if (columns.length > COLUMNS_MAX) return t("import.file.tooMany.columns", { max: COLUMNS_MAX });
  if (rows.length === 0) return t("import.file.noRows");
  const long = rows.find(({ cells }) => cells.some((cell) => cell.length > CELL_LENGTH_MAX));
  return long === undefined
    ? undefined
    : t("import.file.longCell", { row: long.row, max: CELL_LENGTH_MAX });
}

const parse = (text: string, delimiter: Delimiter, preview: number) =>
  Papa.parse<string[]>(text, { delimiter, newline: "\n", preview });

/** Returns the delimiter that gives the first row the most columns: tags may hold any of them. */
function findDelimiter(text: string): Delimiter {
  const counts = DELIMITERS.map((delimiter) => ({
    delimiter,
    columns: parse(text, delimiter, 1).data[0]?.length ?? 0,
  }));
  const most = Math.max(...counts.map(({ columns }) => columns));
  return counts.find(({ columns }) => columns === most)?.delimiter ?? ",";
}
