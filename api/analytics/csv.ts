/** Analytics as CSV (RFC 4180), for whoever asks for it by `Accept: text/csv`. */

type Cell = string | number;

/** A header, and a row a line. */
export type Table = { columns: readonly string[]; rows: readonly (readonly Cell[])[] };

/** Whether a client prefers CSV to JSON (RFC 9110 §12.5.1). */
export function prefersCsv(accept: string | null): boolean {
  const weights = new Map(
    (accept ?? "").split(",").map((range): [string, number] => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return [type, weight === undefined ? 1 : Number(weight)];
    }),
  );
  const csv = weights.get("text/csv") ?? 0;
  return csv > 0 && csv >= (weights.get("application/json") ?? 0);
}

/** Writes a table. */
export const toCsv = ({ columns, rows }: Table): string =>
  [columns, ...rows].map((row) => `${row.map(toCell).join(",")}\r\n`).join("");

/** What a spreadsheet would run as a formula gets an apostrophe before it (OWASP, "CSV injection"). */
function toCell(value: Cell): string {
  const text =
    typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A list of records as a table; all of them have the members of the first. */
export function tableOf(
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
