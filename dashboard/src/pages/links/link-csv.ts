/** Writes links as rows of the CSV format that `shared/link-csv` reads. */
import type { Link } from "../../../../clients/typescript/src/index.ts";
import { FLAG, SETTING_CELLS } from "../../../../shared/link-csv/cells.ts";

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
