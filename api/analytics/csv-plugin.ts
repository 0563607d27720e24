/** Responds with CSV (RFC 4180) to clients that send `Accept: text/csv`. */
import { Elysia } from "elysia";
import Papa from "papaparse";

import { FORMULA } from "../../shared/contracts/text.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import { noted } from "../auth/access-rules.ts";
import { entriesOf } from "../http/header-lists.ts";
import { addVary } from "../http/request-context.ts";

/**
 * Adds the route option `csv`, which converts a response to a table for clients that prefer CSV.
 */
export const csvPlugin = new Elysia({ name: "csv" }).macro({
  csv: (convert: (body: unknown) => Table) => ({
    detail: noted({ "x-csv": true }),
    async mapResponse({ responseValue, request, set }) {
      addVary(set.headers, "Accept");
      // Errors are always JSON.
      const beginning = csvBeginning(request.headers.get("accept"));
      if (Number(set.status ?? 200) !== 200 || beginning === undefined) return undefined;
      set.headers["content-type"] = "text/csv; charset=utf-8";
      return new Response(beginning + (await toCsv(convert(responseValue))));
    },
  }),
});

type Cell = string | number;

/** A header and one row per line. */
export type Table = { columns: readonly string[]; rows: readonly (readonly Cell[])[] };

/** The first character of a file that Excel reads as UTF-8; others are of Windows' code page. */
const BYTE_ORDER_MARK = "\ufeff";

/**
 * The beginning of a CSV file for a client: "", or a byte order mark for `text/csv;bom=true`.
 * Undefined for a client that prefers JSON (RFC 9110 §12.5.1).
 */
export function csvBeginning(accept: string | null): string | undefined {
  const weights = new Map<string, number>();
  let beginning = "";
  for (const range of entriesOf(accept ?? "")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    weights.set(type, weight === undefined ? 1 : Number(weight));
    if (type === "text/csv" && parameters.includes("bom=true")) beginning = BYTE_ORDER_MARK;
  }
  const csv = weights.get("text/csv") ?? 0;
  return csv > 0 && csv >= (weights.get("application/json") ?? 0) ? beginning : undefined;
}

/** Rows that are written at once: some tenths of a millisecond. */
const ROWS_AT_ONCE = 50;

/**
 * Writes a table as CSV. Divides the work into turns of the event loop, so that other requests are
 * served.
 */
export async function toCsv({ columns, rows }: Table): Promise<string> {
  const slice = new TimeSlice();
  const parts = [toLines([columns])];
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    if (slice.isOver()) await slice.next();
    parts.push(toLines(rows.slice(from, from + ROWS_AT_ONCE)));
  }
  return parts.join("");
}

const toLines = (rows: readonly (readonly Cell[])[]): string =>
  `${Papa.unparse(
    rows.map((row) => row.map(neutralise)),
    { newline: "\r\n" },
  )}\r\n`;

/**
 * Prefixes text that a spreadsheet would run as a formula with an apostrophe. Does not use
 * papaparse's `escapeFormulae`, which also quotes these cells.
 */
const neutralise = (value: Cell): Cell =>
  typeof value === "string" && FORMULA.test(value) ? `'${value}` : value;

/** Converts records to a table with the given columns. */
export function toTable(
  columns: readonly string[],
  records: readonly Record<string, unknown>[],
): Table {
  return {
    columns,
    rows: records.map((record) =>
      columns.map((column) => {
        const value = record[column];
        if (typeof value === "number") return value;
        if (Array.isArray(value)) return value.join(" ");
        return typeof value === "string" ? value : "";
      }),
    ),
  };
}
