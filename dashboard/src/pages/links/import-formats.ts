/**
 * Reading the CSV exports of other shorteners. Each calls its columns differently, and not the same in
 * every version; a column is known by its name alone, and what no column is known for is left out.
 */
import type { NewLink } from "../../../../clients/typescript/src/index.ts";

type Field = "url" | "alias" | "title" | "tags" | "expires_at" | "password";

/** Names of columns, lower case and without blanks, hyphens and underscores; the first that is there counts. */
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

/** Columns that tell one export from another. */
const SOURCES: readonly { name: string; columns: readonly string[] }[] = [
  { name: "Bitly", columns: ["bitlink"] },
  { name: "YOURLS", columns: ["keyword", "url"] },
  { name: "Shlink", columns: ["shortcode", "longurl"] },
  { name: "Kutt", columns: ["address", "target"] },
  { name: "Shorthop", columns: ["originalurl", "alias"] },
];

export type ImportRow = {
  /** The line of the file's record, the heading being the first. */
  row: number;
  link: NewLink;
};

export type ImportPlan = {
  /** Whose export it is, where that can be told. */
  source: string | undefined;
  /** Which column each field was found in. */
  found: Partial<Record<Field, string>>;
  rows: ImportRow[];
};

const plain = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]/g, "");

/** What a file would import; undefined when no column holds destinations. */
export function planImport(
  columns: readonly string[],
  records: readonly Readonly<Record<string, string>>[],
): ImportPlan | undefined {
  const found: ImportPlan["found"] = {};
  for (const field of Object.keys(COLUMNS) as Field[]) {
    const column = findColumn(columns, COLUMNS[field]);
    if (column !== undefined) found[field] = column;
  }
  if (found.url === undefined) return undefined;
  const names = new Set(columns.map(plain));
  return {
    found,
    source: SOURCES.find((source) => source.columns.every((name) => names.has(name)))?.name,
    rows: records.map((record, i) => ({ row: i + 2, link: linkOf(record, found) })),
  };
}

function findColumn(columns: readonly string[], names: readonly string[]): string | undefined {
  for (const name of names) {
    const column = columns.find((candidate) => plain(candidate) === name);
    if (column !== undefined) return column;
  }
  return undefined;
}

function linkOf(record: Readonly<Record<string, string>>, found: ImportPlan["found"]): NewLink {
  const text = (field: Field): string => record[found[field] ?? ""]?.trim() ?? "";
  const alias = aliasIn(text("alias"));
  const title = text("title");
  const expires = text("expires_at");
  const tags = tagsIn(text("tags"));
  const password = text("password");
  return {
    url: text("url"),
    ...(alias === "" ? {} : { alias }),
    ...(title === "" ? {} : { title }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(expires === "" ? {} : { expires_at: instantIn(expires) }),
    ...(password === "" ? {} : { password }),
  };
}

/** A whole short URL is taken for the last part of its path. */
const aliasIn = (text: string): string => text.replace(/\/+$/, "").split("/").at(-1) ?? "";

const tagsIn = (text: string): string[] =>
  text
    .replaceAll(/[[\]"]/g, "")
    .split(/[,|;]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");

/** An instant as the API has it; what is none is left for the API to refuse. */
function instantIn(text: string): string {
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? text : instant.toISOString();
}
