/**
 * The CSV format that the dashboard exports and imports: each setting of a link has a column of the
 * same name.
 */
import type { Link, NewLink } from "../../../../clients/typescript/src/index.ts";
import { readFlag, readInstant, readJson } from "./csv-values.ts";

/** A row of a CSV file, by column. */
export type CsvRow = Readonly<Record<string, string>>;

/** Converts between a value and the text of a cell; an empty cell means that the setting is off. */
type Cell = { write: (value: unknown) => string; read: (text: string) => unknown };

const TEXT: Cell = { write: String, read: (text) => text };
const INSTANT: Cell = { write: String, read: readInstant };
const NUMBER: Cell = { write: String, read: Number };
const FLAG: Cell = { write: (value) => (value === true ? "true" : ""), read: readFlag };
const JSON_VALUE: Cell = { write: (value) => JSON.stringify(value), read: readJson };

/**
 * Tags separated by commas, or as JSON if one contains a separator. An import asks what separates
 * them.
 */
const TAGS: Cell = {
  write: (value) =>
    Array.isArray(value) && value.some((tag) => /[,[\]"]/.test(String(tag)))
      ? JSON.stringify(value)
      : String(value),
  read: (text) => text,
};

/** The cells of all fields that create a link, except URL and password. */
export const SETTING_CELLS: Readonly<Record<Exclude<keyof NewLink, "url" | "password">, Cell>> = {
  alias: TEXT,
  domain: TEXT,
  title: TEXT,
  notes: TEXT,
  tags: TAGS,
  external_id: TEXT,
  starts_at: INSTANT,
  expires_at: INSTANT,
  expired_url: TEXT,
  disabled: FLAG,
  archived: FLAG,
  max_clicks: NUMBER,
  limit_counts: TEXT,
  confirm: FLAG,
  rules: JSON_VALUE,
  split: JSON_VALUE,
  preview: JSON_VALUE,
  forward_path: TEXT,
  forward_query: FLAG,
  utm_source: TEXT,
  utm_medium: TEXT,
  utm_campaign: TEXT,
  utm_term: TEXT,
  utm_content: TEXT,
};

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
