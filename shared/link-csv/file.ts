/** Reads the file of an import: decodes its text, and parses its rows within bounds. */
import Papa from "papaparse";

import { isEscaped, recognizeService, type Service } from "./services.ts";

/** Maximum bytes of a file; a link with all of its settings takes some 500. */
export const FILE_BYTES_MAX = 50 * 1024 ** 2;

/** A file, its rows, and what is known of who wrote it. */
export type LinkFile = FileTable & {
  encoding: DecodedText["encoding"];
  /** The service that has exported it, if it is known. */
  service: Service | undefined;
  /** Its cells are escaped against formulas: this dashboard has written it. */
  isEscaped: boolean;
};

/** Why a file cannot be read, with what a sentence about it needs. */
type FileProblem = {
  kind:
    | "workbook"
    | "binary"
    | "empty"
    | "noHeader"
    | "noRows"
    | "quote"
    | "longCell"
    | "tooMany.rows"
    | "tooMany.columns";
  values: Readonly<Record<string, number>>;
};

type Failed = { problem: FileProblem };

/** Parses the content of a file. */
export function parseLinkFile(bytes: Uint8Array): LinkFile | Failed {
  const decoded = decodeText(bytes);
  if ("problem" in decoded) return decoded;
  const table = parseRows(decoded.text);
  if ("problem" in table) return table;
  const service = recognizeService(table.columns);
  return {
    ...table,
    encoding: decoded.encoding,
    service,
    isEscaped: isEscaped(table.columns, service),
  };
}

/** A text file: UTF-8, or what Excel writes: UTF-16 ("Unicode text") and Windows-1252 ("CSV"). */
type DecodedText = { text: string; encoding: "UTF-8" | "UTF-16" | "Windows-1252" };

/** The first bytes of a ZIP archive, such as an .xlsx workbook. */
const ZIP = [0x50, 0x4b, 0x03, 0x04];

const UTF16_MARKS = [
  { mark: [0xff, 0xfe], label: "utf-16le" },
  { mark: [0xfe, 0xff], label: "utf-16be" },
] as const;

/** Bytes in which a NUL shows that a file is no text; the header of every binary format has one. */
const SNIFFED_BYTES = 1_024;

const startsWith = (bytes: Uint8Array, start: readonly number[]): boolean =>
  start.every((byte, i) => bytes[i] === byte);

/**
 * Decodes the content of a file, without its byte order mark. Text that is not valid UTF-8 counts
 * as Windows-1252, in which every byte is a character: the caller says so.
 */
function decodeText(bytes: Uint8Array): DecodedText | Failed {
  if (startsWith(bytes, ZIP)) return { problem: { kind: "workbook", values: {} } };
  const utf16 = UTF16_MARKS.find(({ mark }) => startsWith(bytes, mark));
  if (utf16 !== undefined) {
    const text = decode(bytes, utf16.label);
    return text === undefined
      ? { problem: { kind: "binary", values: {} } }
      : { text, encoding: "UTF-16" };
  }
  if (bytes.subarray(0, SNIFFED_BYTES).includes(0))
    return { problem: { kind: "binary", values: {} } };
  const text = decode(bytes, "utf-8");
  if (text !== undefined) return { text, encoding: "UTF-8" };
  return { text: new TextDecoder("windows-1252").decode(bytes), encoding: "Windows-1252" };
}

/** Returns undefined if the bytes are not valid. */
function decode(bytes: Uint8Array, label: "utf-8" | "utf-16le" | "utf-16be"): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Rows of a file: twice the links of a large account. */
const ROWS_MAX = 200_000;
/** Columns of a file; the widest known export has 45. */
const COLUMNS_MAX = 100;
/** Characters of a cell: as many as the bytes of a link with all its rules. */
const CELL_LENGTH_MAX = 64 * 1024;

/** A row with its number in the file, in which the header is row 1. */
export type FileRow = { row: number; cells: readonly string[] };

type FileTable = {
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

/** A row without text: sheets do not always begin in their first row. */
const EMPTY_ROW = /^[,;\t| ]*$/;

/** Parses a file whose first row with any text has the names of its columns. */
function parseRows(source: string): FileTable | Failed {
  const whole = source.replaceAll(/\r\n?/g, "\n");
  const named = SEPARATOR_LINE.exec(whole);
  let start = named?.[0].length ?? 0;
  let skipped = named === null ? 0 : 1;
  let end = whole.indexOf("\n", start);
  while (end >= 0 && EMPTY_ROW.test(whole.slice(start, end))) {
    start = end + 1;
    skipped++;
    end = whole.indexOf("\n", start);
  }
  const text = whole.slice(start);
  const delimiter =
    DELIMITERS.find((one) => one === named?.groups?.["delimiter"]) ?? findDelimiter(text);
  // One row beyond the header and the maximum shows that there are too many.
  const { data, errors } = parse(text, delimiter, ROWS_MAX + 2);
  const [error] = errors;
  if (error !== undefined) {
    return { problem: { kind: "quote", values: { row: (error.row ?? 0) + 1 + skipped } } };
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
): FileProblem | undefined {
  if (columns.every((name) => name === "")) return { kind: "empty", values: {} };
  if (columns.some((name) => /^https?:\/\//i.test(name))) return { kind: "noHeader", values: {} };
  if (rowCount > ROWS_MAX) return { kind: "tooMany.rows", values: { max: ROWS_MAX } };
  if (columns.length > COLUMNS_MAX)
    return { kind: "tooMany.columns", values: { max: COLUMNS_MAX } };
  if (rows.length === 0) return { kind: "noRows", values: {} };
  const long = rows.find(({ cells }) => cells.some((cell) => cell.length > CELL_LENGTH_MAX));
  return long === undefined
    ? undefined
    : { kind: "longCell", values: { row: long.row, max: CELL_LENGTH_MAX } };
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
