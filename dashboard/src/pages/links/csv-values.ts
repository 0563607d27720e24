/**
 * Reads the cells of other services' exports. What cannot be read is returned unchanged, for
 * validation to reject.
 */

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ...["true", "yes", "y", "1", "on", "archived", "hidden"].map((text) => [text, true] as const),
  ...["ja", "wahr", "oui", "vrai", "sí", "si", "verdadero"].map((text) => [text, true] as const),
  ...["false", "no", "n", "0", "off"].map((text) => [text, false] as const),
  ...["nein", "falsch", "non", "faux", "falso"].map((text) => [text, false] as const),
]);

/** Reads yes or no. */
export const readFlag = (text: string): boolean | string => FLAGS.get(text.toLowerCase()) ?? text;

/** What a service says of a link. */
export type LinkStatus = "live" | "archived" | "disabled" | "deleted";

const STATUSES: Readonly<Record<LinkStatus, readonly string[]>> = {
  live: ["active", "enabled", "live", "published", "ok", "aktiv", "actif", "activo"],
  archived: ["archived", "hidden", "archiviert", "archivé", "archivado"],
  disabled: [
    "disabled",
    "inactive",
    "paused",
    "suspended",
    "blocked",
    "draft",
    "deaktiviert",
    "inaktiv",
    "désactivé",
    "inactif",
    "desactivado",
    "inactivo",
  ],
  deleted: ["deleted", "removed", "trashed", "trash", "gelöscht", "supprimé", "eliminado"],
};

const STATUS_BY_WORD: ReadonlyMap<string, LinkStatus> = new Map(
  (Object.keys(STATUSES) as LinkStatus[]).flatMap((status) =>
    STATUSES[status].map((word) => [word, status] as const),
  ),
);

/** Reads the status of a link; undefined if the word is not known. */
export const readStatus = (text: string): LinkStatus | undefined =>
  STATUS_BY_WORD.get(text.toLowerCase());

/** A date, with a time of day and a zone or without. What has its year last is for `dates.ts`. */
const DATE =
  /^(?<day>\d{4}-\d{2}-\d{2})(?:[T ](?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?<zone>Z|UTC|[+-]\d{2}:?\d{2})?)?$/i;
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
  const offset = /^(?:Z|UTC)$/i.test(zone) ? "Z" : zone.replace(/^(...)(\d\d)$/, "$1:$2");
  return `${day}T${time ?? "00:00"}${offset}`;
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
  const tags = text.split(separator).map((tag) => tag.trim());
  return tags.filter((tag) => tag !== "");
}

/** Reads JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The back-half of a short link, and its host if the text has one. */
export type ShortLink = { alias: string; host?: string };

/** A short URL with its scheme, or with its host before a path: a back-half may have a dot. */
const SHORT_URL =
  /^(?:https?:\/\/(?<full>[^\s/?#:@]+)(?::\d{1,5})?(?<path>[/?#].*)?|(?<host>[^\s/?#:@.]+(?:\.[^\s/?#:@.]+)+)(?<rest>\/.*))$/is;

/**
 * Reads a short URL (`https://bit.ly/a`, `bit.ly/a`), a path (`/a/`) or a back-half (`a`). The
 * whole path is the alias: a part of it would be another link.
 */
export function readShortLink(text: string): ShortLink {
  const { full, path = "", host, rest = "" } = SHORT_URL.exec(text)?.groups ?? {};
  const found = full ?? host;
  if (found === undefined) return { alias: trimSlashes(text) };
  const [alias = ""] = (full === undefined ? rest : path).split(/[?#]/, 1);
  return { alias: trimSlashes(alias), host: found.toLowerCase() };
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
