/**
 * The CSV format that the dashboard exports and imports: each setting of a link has a column of the
 * same name.
 */
import type { ListedLink, NewLink } from "../../../../clients/typescript/src/index.ts";
import { createLinkBody } from "../../../../shared/contracts/link-schemas.ts";
import { unescapeFormula } from "../../data/csv.ts";
import { toInstant } from "../../ui/local-time.ts";
import { describeIssue } from "../../ui/validation.ts";

/** A row of a CSV file, by column. */
export type CsvRow = Readonly<Record<string, string>>;

/** Converts between a value and the text of a cell; an empty cell means that the setting is off. */
type Cell = { write: (value: unknown) => string; read: (text: string) => unknown };

const TEXT: Cell = { write: String, read: (text) => text };
const INSTANT: Cell = { write: String, read: toInstant };
const NUMBER: Cell = { write: String, read: Number };
/** Spreadsheets write TRUE. */
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

const FLAG: Cell = {
  write: (value) => (value === true ? "true" : ""),
  read: (text) => FLAGS.get(text.toLowerCase()) ?? text,
};
const JSON_VALUE: Cell = { write: (value) => JSON.stringify(value), read: parseJson };

/** Tags separated by commas, or as JSON if one contains a separator. */
const TAGS: Cell = {
  write: (value) =>
    Array.isArray(value) && value.some((tag) => /[,[\]"]/.test(String(tag)))
      ? JSON.stringify(value)
      : String(value),
  read: (text) => (text.startsWith("[") ? parseJson(text) : text.split(",")),
};

/** The cells of all fields that create a link, except URL and password. */
const CELLS: Readonly<Record<Exclude<keyof NewLink, "url" | "password">, Cell>> = {
  alias: TEXT,
  domain: TEXT,
  title: TEXT,
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
export function toCsvRow(link: ListedLink): CsvRow {
  const settings = Object.entries(CELLS).map(([field, { write }]) => {
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

/** Whether a file with these columns was exported by the dashboard. */
export const isOwnExport = (columns: readonly string[]): boolean =>
  ["short_url", "original_url", "alias", "domain"].every((name) => columns.includes(name));

/** Reads the link of an exported row; `problem` says why it cannot be created unchanged. */
export function readCsvRow(row: CsvRow): { link: NewLink; problem?: string } {
  const cell = (name: string): string => unescapeFormula(row[name] ?? "");
  const settings = Object.entries(CELLS).flatMap(([field, { read }]) => {
    const text = cell(field);
    return text === "" ? [] : [[field, read(text)]];
  });
  const password = cell("password");
  const body = {
    url: cell("original_url"),
    ...Object.fromEntries(settings),
    ...(password === "" ? {} : { password }),
  };
  const named = { url: body.url, alias: cell("alias") };
  if (password === "" && FLAG.read(cell("has_password")) === true) {
    return { link: named, problem: NO_PASSWORD };
  }
  const { error } = createLinkBody.safeParse(body, { error: describeIssue });
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) {
    return { link: named, problem: `${issue.path.join(".")}: ${issue.message}` };
  }
  // The schema has just validated this.
  return { link: body as NewLink };
}

const NO_PASSWORD =
  "The link had a password, which no export contains: write one into the column password, or empty has_password.";

/** Parses JSON. Returns invalid text unchanged, for the schema to reject. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
