/**
 * The CSV format that the dashboard exports and imports: each setting of a link has a column of the
 * same name. Reads the cells of other services' exports, too; what cannot be read is returned
 * unchanged, for validation to reject.
 */
import type * as z from "zod";

import { decodeAliasPath } from "../contracts/alias.ts";
import { ofEachUtm } from "../contracts/analytics.ts";
import type { newLinkBody } from "../contracts/link-schemas.ts";
import { normalizeInstant } from "../contracts/text-schemas.ts";
import { ESCAPED_FORMULA, trimEach } from "../contracts/text.ts";

/** Words for yes and no, and those that spreadsheets write for a cell that is true or false. */
const YES =
  "true yes y 1 on archived hidden ja wahr oui vrai sí si verdadero vero verdadeiro waar sand sann sant tosi prawda pravda igaz adevărat doğru истина";
const NO =
  "false no n 0 off nein falsch non faux falso onwaar falsk usann falskt epätosi fałsz nepravda hamis fals yanlış yanliş ложь";

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ...YES.split(" ").map((text) => [text, true] as const),
  ...NO.split(" ").map((text) => [text, false] as const),
]);

/** Reads yes or no. */
export const readFlag = (text: string): boolean | string => FLAGS.get(text.toLowerCase()) ?? text;

/** The status of a link in a service. */
type LinkStatus = "live" | "archived" | "disabled" | "deleted";

const STATUSES: Readonly<Record<LinkStatus, string>> = {
  live: "active enabled live published ok aktiv actif activo",
  archived: "archived hidden archiviert archivé archivado",
  disabled:
    "disabled inactive paused suspended blocked draft deaktiviert inaktiv désactivé inactif desactivado inactivo",
  deleted: "deleted removed trashed trash gelöscht supprimé eliminado",
};

const STATUS_BY_WORD: ReadonlyMap<string, LinkStatus> = new Map(
  (Object.keys(STATUSES) as LinkStatus[]).flatMap((status) =>
    STATUSES[status].split(" ").map((word) => [word, status] as const),
  ),
);

/** Reads the status of a link, or whether it is active; undefined if the word is not known. */
export function readStatus(text: string): LinkStatus | undefined {
  const status = STATUS_BY_WORD.get(text.toLowerCase());
  const isActive = readFlag(text);
  if (status !== undefined || typeof isActive === "string") return status;
  return isActive ? "live" : "disabled";
}

/** A date, with a time of day and a zone or without, its year first: see {@link normalizeOrder}. */
const DATE =
  /^(?<day>\d{4}-\d{2}-\d{2})(?:[T ](?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?<zone>Z|UTC|[+-]\d{2}(?::?\d{2})?)?)?$/i;
/** Unix time, in seconds or milliseconds. */
const UNIX_TIME = /^(?:\d{10}|\d{13})$/;
const SECONDS_DIGITS = 10;

/** Reads an instant as ISO 8601. A time without a zone is UTC. */
export function readInstant(text: string): string {
  const instant = new Date(UNIX_TIME.test(text) ? readUnixTime(text) : (normalizeDate(text) ?? ""));
  return Number.isNaN(instant.getTime()) ? text : instant.toISOString();
}

const readUnixTime = (text: string): number =>
  Number(text) * (text.length === SECONDS_DIGITS ? 1_000 : 1);

function normalizeDate(text: string): string | undefined {
  const { day, time, zone = "Z" } = DATE.exec(text)?.groups ?? {};
  if (day === undefined) return undefined;
  // Some engines read February 31 as a day of March.
  if (!isDay(day)) return undefined;
  return normalizeInstant(`${day}T${time ?? "00:00"}${zone.replace(/^utc$/i, "Z")}`);
}

function isDay(day: string): boolean {
  const start = new Date(day);
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day);
}

export const TAG_SEPARATORS = [",", "|", ";"] as const;
export type TagSeparator = (typeof TAG_SEPARATORS)[number];

/** Reads tags, which are separated, or a list in JSON. */
export function readTags(text: string, separator: TagSeparator): unknown {
  const parsed = text.startsWith("[") ? readJson(text) : undefined;
  if (Array.isArray(parsed)) return parsed;
  return trimEach(text.split(separator));
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The back-half of a short link, and its host if the text has one. */
type ShortLink = { alias: string; host?: string };

/** A short URL with its scheme, or with its host before a path: a back-half may have a dot. */
const SHORT_URL =
  /^(?:https?:\/\/(?<full>[^\s/?#:@]+)(?::\d{1,5})?(?<path>[/?#].*)?|(?<host>[^\s/?#:@.]+(?:\.[^\s/?#:@.]+)+)(?<rest>\/.*))$/is;

/**
 * Reads a short URL (`https://bit.ly/a`, `bit.ly/a`), a path (`/a/`) or a back-half (`a`), raw or
 * percent-encoded. The whole path is the alias: a part of it would be another link.
 */
export function readShortLink(text: string): ShortLink {
  const { full, path = "", host, rest = "" } = SHORT_URL.exec(text)?.groups ?? {};
  const found = full ?? host;
  if (found === undefined) return { alias: decodeAliasPath(trimSlashes(text)) };
  const [alias = ""] = (full === undefined ? rest : path).split(/[?#]/, 1);
  return { alias: decodeAliasPath(trimSlashes(alias)), host: found.toLowerCase() };
}

/** Without an expression, whose time would grow with the square of the slashes. */
function trimSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (path[start] === "/") start++;
  while (end > start && path[end - 1] === "/") end--;
  return path.slice(start, end);
}

/** A password that an export has masked or hashed: nobody could enter it. */
export const isMaskedPassword = (text: string): boolean =>
  /^[*•●]+$/.test(text) || /^\$(?:2[abxy]?|argon2(?:id|i|d)|5|6)\$/.test(text);

/**
 * The part that comes first in dates as people write them: `31.12.2026`, `12/31/2026 14:30`. Dots
 * mean that it is the day; of other dates that could be read in two ways, the user is asked.
 */
export const DATE_ORDERS = ["day", "month"] as const;
export type DateOrder = (typeof DATE_ORDERS)[number];

const WRITTEN_DATE =
  /^(?<first>\d{1,2})(?<mark>[./-])(?<second>\d{1,2})\k<mark>(?<year>\d{4})(?:,?[T ]+(?<time>\d{1,2}:\d{2}(?::\d{2})?)(?: ?(?<half>[ap])m)?)?$/i;

/** A date with its year first, as spreadsheets write it in East Asia, Hungary and elsewhere. */
const YEAR_FIRST =
  /^(?<year>\d{4})(?<mark>[./-]) ?(?<first>\d{1,2})\k<mark> ?(?<second>\d{1,2})\.?(?:,?[T ]+(?<time>\d{1,2}:\d{2}(?::\d{2})?)(?: ?(?<half>[ap])m)?)?$/i;

const MONTHS = 12;

/** The order that a date can only have; `either` if it can be read in two ways. */
function orderOf(text: string): DateOrder | "either" | undefined {
  const { first, second, mark } = WRITTEN_DATE.exec(text)?.groups ?? {};
  if (first === undefined) return undefined;
  if (mark === "." || Number(first) > MONTHS) return "day";
  if (Number(second) > MONTHS) return "month";
  // The first of January is the same in both.
  return first === second ? "day" : "either";
}

/** Returns the date as `YYYY-MM-DD`, with its time of day; undefined if it cannot be read. */
export function normalizeOrder(text: string, order: DateOrder | undefined): string | undefined {
  const yearFirst = YEAR_FIRST.exec(text)?.groups;
  const found = yearFirst === undefined ? orderOf(text) : "month";
  const used = found === "either" ? order : found;
  const written = yearFirst ?? WRITTEN_DATE.exec(text)?.groups;
  if (used === undefined || written === undefined) return undefined;
  const { year = "", first = "", second = "", time, half } = written;
  const [month, day] = used === "day" ? [second, first] : [first, second];
  const clock = time === undefined ? "" : ` ${toClock(time, half)}`;
  return `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}${clock}`;
}

const HALF_DAY_HOURS = 12;

/** A time of day as `HH:MM` or `HH:MM:SS`; `half` is `a` or `p` of a half day's. */
function toClock(time: string, half: string | undefined): string {
  const [hours = "", ...rest] = time.split(":");
  const past = half?.toLowerCase() === "p" ? HALF_DAY_HOURS : 0;
  const hour = half === undefined ? hours : String((Number(hours) % HALF_DAY_HOURS) + past);
  return [hour.padStart(2, "0"), ...rest].join(":");
}

/** Whether some of the dates can be read in two ways, and the order that the others show. */
export function findDateOrder(texts: Iterable<string>): {
  isAmbiguous: boolean;
  order: DateOrder | undefined;
} {
  const found = new Set<string>();
  for (const text of texts) {
    // Dates with dots say nothing about those with slashes.
    if (!text.includes(".")) found.add(orderOf(text.trim()) ?? "");
  }
  const [only, ...others] = DATE_ORDERS.filter((order) => found.has(order));
  return { isAmbiguous: found.has("either"), order: others.length === 0 ? only : undefined };
}

/** Converts between a value and the text of a cell; an empty cell means that the setting is off. */
type Cell = { write: (value: unknown) => string; read: (text: string) => unknown };

const TEXT: Cell = { write: String, read: (text) => text };
const INSTANT: Cell = { write: String, read: readInstant };
const NUMBER: Cell = { write: String, read: Number };
export const FLAG: Cell = { write: (value) => (value === true ? "true" : ""), read: readFlag };
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
export const SETTING_CELLS: Readonly<
  Record<Exclude<keyof z.input<typeof newLinkBody>, "url" | "password">, Cell>
> = {
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
  redirect_status: NUMBER,
  forward_query: FLAG,
  ...ofEachUtm(() => TEXT),
};

/** Returns the text of a cell that was escaped because a spreadsheet would run it as a formula. */
export const unescapeFormula = (cell: string): string =>
  cell.startsWith("'") && ESCAPED_FORMULA.test(cell) ? cell.slice(1) : cell;
