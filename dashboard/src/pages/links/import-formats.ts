/**
 * Maps the CSV exports of other shorteners to links. Column names differ between shorteners and their versions:
 * columns are matched by name, and unknown ones are ignored.
 */
import type { NewLink } from "../../../../clients/typescript/src/index.ts";
import { isOwnExport, readCsvRow } from "./link-csv.ts";

type Field = "url" | "alias" | "title" | "tags" | "expires_at" | "password";

/** The maximum links of one request, the maximum with a password, and the maximum bytes as JSON. */
export type BatchLimits = { links: number; passwords: number; bytes: number };

const encoder = new TextEncoder();

/** Splits rows into batches within the limits, preserving their order. */
export function splitIntoBatches(rows: readonly ImportRow[], limits: BatchLimits): ImportRow[][] {
  const batches: ImportRow[][] = [];
  let batch: ImportRow[] = [];
  let passwords = 0;
  let bytes = 0;
  for (const row of rows) {
    // A comma separates it from the next one.
    const size = encoder.encode(JSON.stringify(row.link)).length + 1;
    const weight = row.link.password === undefined || row.link.password === null ? 0 : 1;
    const isFull =
      batch.length === limits.links ||
      passwords + weight > limits.passwords ||
      bytes + size > limits.bytes;
    if (isFull && batch.length > 0) {
      batches.push(batch);
      batch = [];
      passwords = 0;
      bytes = 0;
    }
    batch.push(row);
    passwords += weight;
    bytes += size;
  }
  return batch.length === 0 ? batches : [...batches, batch];
}

/** Normalized column names of each field (see `normalizeName`), in order of preference. */
const COLUMNS: Readonly<Record<Field, readonly string[]>> = {
  url: [
    "originalurl",
    "longurl",
    "destinationurl",
    "destination",
    "target",
    "targeturl",
    "url",
    "link",
  ],
  alias: [
    "alias",
    "slug",
    "shortcode",
    "keyword",
    "customslug",
    "backhalf",
    "address",
    "shorturl",
    "shortlink",
    "bitlink",
  ],
  title: ["title", "name", "description"],
  tags: ["tags", "tag", "labels"],
  expires_at: ["expiresat", "validuntil", "expirein", "expirationdate", "expires"],
  password: ["password"],
};

/** Columns that identify the shortener of an export. */
const SOURCES: readonly { name: string; columns: readonly string[] }[] = [
  { name: "Bitly", columns: ["bitlink"] },
  { name: "YOURLS", columns: ["keyword", "url"] },
  { name: "Shlink", columns: ["shortcode", "longurl"] },
  { name: "Kutt", columns: ["address", "target"] },
  { name: "Shorthop", columns: ["originalurl", "alias"] },
];

export type ImportRow = {
  /** Row number in the file; the header is row 1. */
  row: number;
  link: NewLink;
  /** Why the link cannot be created. */
  problem?: string;
};

export type ImportPlan = {
  /** The shortener of the export, if known. */
  source: string | undefined;
  /** The column that holds each field. */
  fieldColumns: Partial<Record<Field, string>>;
  rows: ImportRow[];
};

/** Lowercases a column name and removes spaces, hyphens and underscores. */
const normalizeName = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]/g, "");

/** Returns the links that a file would import; undefined without a column of destination URLs. */
export function planImport(
  columns: readonly string[],
  records: readonly Readonly<Record<string, string>>[],
): ImportPlan | undefined {
  const fieldColumns: ImportPlan["fieldColumns"] = {};
  for (const field of Object.keys(COLUMNS) as Field[]) {
    const column = findColumn(columns, COLUMNS[field]);
    if (column !== undefined) fieldColumns[field] = column;
  }
  if (fieldColumns.url === undefined) return undefined;
  const names = new Set(columns.map(normalizeName));
  return {
    fieldColumns,
    source: SOURCES.find((source) => source.columns.every((name) => names.has(name)))?.name,
    rows: records.map((record, i) => ({
      row: i + 2,
      ...(isOwnExport(columns) ? readCsvRow(record) : { link: toNewLink(record, fieldColumns) }),
    })),
  };
}

function findColumn(columns: readonly string[], names: readonly string[]): string | undefined {
  for (const name of names) {
    const column = columns.find((candidate) => normalizeName(candidate) === name);
    if (column !== undefined) return column;
  }
  return undefined;
}

function toNewLink(
  record: Readonly<Record<string, string>>,
  fieldColumns: ImportPlan["fieldColumns"],
): NewLink {
  const text = (field: Field): string => record[fieldColumns[field] ?? ""]?.trim() ?? "";
  const alias = parseAlias(text("alias"));
  const title = text("title");
  const expires = text("expires_at");
  const tags = parseTags(text("tags"));
  const password = text("password");
  return {
    url: text("url"),
    ...(alias === "" ? {} : { alias }),
    ...(title === "" ? {} : { title }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(expires === "" ? {} : { expires_at: parseInstant(expires) }),
    ...(password === "" ? {} : { password }),
  };
}

/** Returns the alias; for a whole short URL, the last segment of its path. */
const parseAlias = (text: string): string =>
  text.split("/").findLast((segment) => segment !== "") ?? "";

const parseTags = (text: string): string[] =>
  text
    .replaceAll(/[[\]"]/g, "")
    .split(/[,|;]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");

/** Converts a date to ISO 8601. Returns invalid text unchanged, for the API to reject. */
function parseInstant(text: string): string {
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? text : instant.toISOString();
}
