/** Reads the links of a row: where they are, their destination, settings, state and password. */
import { toSingleLine } from "../contracts/text.ts";
import { completeUrl } from "../contracts/web-url.ts";
import {
  type DateOrder,
  findDateOrder,
  isMaskedPassword,
  normalizeOrder,
  readFlag,
  readInstant,
  readShortLink,
  readStatus,
  readTags,
  SETTING_CELLS,
  type TagSeparator,
} from "./cells.ts";
import { DATE_FIELDS, findField, type Mapping, type ReadCell, SETTING_FIELDS } from "./fields.ts";
import type { FileRow, LinkFile } from "./file.ts";

/** How cells are read that can mean several things. */
export type CellReading = {
  /** Whether archived links are imported, as archived ones, or left out. */
  archived: "keep" | "leave";
  /** Whether a link with a custom and a random back-half becomes one link or two. */
  backHalves: "custom" | "both";
  separator: TagSeparator;
  /** The order of dates that could be read in two ways; undefined until it is chosen. */
  dateOrder: DateOrder | undefined;
};

/** How the cells of a file are read unless somebody says otherwise. */
export const suggestReading = ({ rows, service }: LinkFile, mapping: Mapping): CellReading => ({
  archived: "keep",
  backHalves: "custom",
  dateOrder: findDateOrder(listDates(rows, mapping)).order,
  separator: service?.separator ?? findSeparator(rows, findField(mapping, "tags")),
});

/** The texts of the columns that are dates. */
export const listDates = (rows: readonly FileRow[], mapping: Mapping): string[] => {
  const columns = DATE_FIELDS.map((field) => findField(mapping, field)).filter((i) => i >= 0);
  return rows.flatMap(({ cells }) => columns.map((column) => cells[column] ?? ""));
};

/** Rows that show what separates tags. */
const SAMPLED_ROWS = 1_000;

function findSeparator(rows: readonly FileRow[], column: number): TagSeparator {
  const texts = rows.slice(0, SAMPLED_ROWS).map(({ cells }) => cells[column] ?? "");
  const separators = ["|", ";"] as const;
  return separators.find((separator) => texts.some((text) => text.includes(separator))) ?? ",";
}

/** Why the links of a row are not imported, with what a sentence about it needs. */
export type RowProblem = {
  kind:
    | "archived"
    | "deleted"
    | "unknown_state"
    | "expired"
    | "invalid_date"
    | "date_order"
    | "masked_password"
    | "missing_password";
  values: Readonly<Record<string, string>>;
};

/** Differences between a link and its row. */
export type RowNote =
  "archived" | "disabled" | "password" | "custom_wins" | "both_halves" | "scheme";

/**
 * A short link as a file has it; the alias is empty if the file has the URL of the domain itself.
 */
export type ShortLink = { alias?: string; host?: string };

/** Separates several custom back-halves of one link. */
const SEPARATORS = /[\s,;|]+/;

/**
 * Returns the short links of a row: its custom back-halves, and the other one if it is requested or
 * the only one.
 */
export function readShortLinks(
  read: ReadCell,
  { backHalves }: CellReading,
): { links: readonly ShortLink[]; notes: readonly RowNote[] } {
  const other = readOther(read);
  const customs = readCustoms(read, other);
  if (customs.length === 0) return { links: [other], notes: [] };
  const isAnother =
    other.alias !== undefined &&
    customs.every(({ alias, host }) => alias !== other.alias || host !== other.host);
  if (!isAnother) return { links: customs, notes: [] };
  return backHalves === "both"
    ? { links: [...customs, other], notes: ["both_halves"] }
    : { links: customs, notes: ["custom_wins"] };
}

/** Returns the hosts of a row's short links, as the file has them. */
export function listHosts(read: ReadCell): string[] {
  const other = readOther(read);
  return [other, ...readCustoms(read, other)].flatMap(({ host }) => host ?? []);
}

/** The custom short links, which may lack a host if the other one has it. */
const readCustoms = (read: ReadCell, { host }: ShortLink): ShortLink[] =>
  read("custom_short_url")
    .split(SEPARATORS)
    .filter((text) => text !== "")
    .map((text) => withHost(readShortLink(text), host));

/**
 * Reads the short link of a row, without custom back-halves. The columns of alias and domain take
 * precedence over a short URL.
 */
function readOther(read: ReadCell): ShortLink {
  const url = read("short_url");
  const path = read("alias");
  const link: ShortLink = {
    ...(url === "" ? {} : readShortLink(url)),
    ...(path === "" ? {} : readShortLink(path)),
  };
  const domain = read("domain");
  return domain === "" ? withHost(link, undefined) : withHost({ ...link, host: domain }, undefined);
}

/** The link with its host in ASCII, as domains are stored; `fallback` if it has none. */
function withHost(link: ShortLink, fallback: string | undefined): ShortLink {
  const host = link.host ?? fallback;
  if (host === undefined) return link;
  return { ...link, host: URL.parse(`http://${host}`)?.hostname ?? host };
}

/**
 * The settings of a row's link, apart from where it is: destination, settings, state and password.
 */
type RowSettings = { link: Draft; problem?: RowProblem; notes: readonly RowNote[] };

/** A link whose fields are validated later. */
export type Draft = Record<string, unknown> & { url: string };

/**
 * Reads the settings of a row. Their values are validated with the whole link.
 */
export function readSettings(read: ReadCell, options: CellReading, now: number): RowSettings {
  const url = completeUrl(read("url"));
  const draft: Draft = { url };
  for (const field of SETTING_FIELDS) {
    const text = read(field);
    if (text === "") continue;
    if (field === "tags") draft[field] = readTags(text, options.separator);
    else if (isDateField(field)) draft[field] = readDate(text, options);
    else draft[field] = SETTING_CELLS[field].read(text);
  }
  if (typeof draft["title"] === "string") draft["title"] = toSingleLine(draft["title"]);
  const problem =
    applyState(read, draft, options) ??
    findDateProblem(read, draft, now) ??
    applyPassword(read, draft);
  return {
    link: draft,
    notes: listNotes(draft, url !== read("url")),
    ...(problem === undefined ? {} : { problem }),
  };
}

const listNotes = (draft: Draft, isCompleted: boolean): RowNote[] => [
  ...(draft["archived"] === true ? (["archived"] as const) : []),
  ...(draft["disabled"] === true ? (["disabled"] as const) : []),
  ...(draft["password"] === undefined ? [] : (["password"] as const)),
  ...(isCompleted ? (["scheme"] as const) : []),
];

/**
 * Sets whether the link is archived and disabled. A state that is not understood never becomes a
 * live link.
 */
function applyState(
  read: ReadCell,
  draft: Draft,
  { archived }: CellReading,
): RowProblem | undefined {
  const text = read("status");
  const status = text === "" ? "live" : readStatus(text);
  if (status === undefined) return unknownState(text);
  if (status === "deleted") return { kind: "deleted", values: {} };
  if (status !== "live") draft[status] = true;
  for (const field of ["archived", "disabled"] as const) {
    const value = draft[field];
    if (value !== undefined && typeof value !== "boolean") return unknownState(read(field));
    if (value === false) delete draft[field];
  }
  return draft["archived"] === true && archived === "leave"
    ? { kind: "archived", values: {} }
    : undefined;
}

const unknownState = (text: string): RowProblem => ({
  kind: "unknown_state",
  values: { text },
});

const isDateField = (field: string): boolean => DATE_FIELDS.some((one) => one === field);

const readDate = (text: string, { dateOrder }: CellReading): string =>
  readInstant(normalizeOrder(text, dateOrder) ?? text);

function findDateProblem(read: ReadCell, draft: Draft, now: number): RowProblem | undefined {
  const wrong = DATE_FIELDS.find((field) => draft[field] !== undefined && !isInstant(draft[field]));
  if (wrong !== undefined) {
    const text = read(wrong);
    return findDateOrder([text]).isAmbiguous
      ? { kind: "date_order", values: { text } }
      : { kind: "invalid_date", values: { text } };
  }
  const expiry = draft["expires_at"];
  return typeof expiry === "string" && Date.parse(expiry) <= now
    ? { kind: "expired", values: { date: expiry.slice(0, 10) } }
    : undefined;
}

/** Whether a date was understood: only then it has the form that {@link Date} writes. */
function isInstant(value: unknown): boolean {
  const instant = new Date(String(value));
  return !Number.isNaN(instant.getTime()) && instant.toISOString() === value;
}

/** Texts that services write for nothing. */
const NOTHING = new Set(["null", "none", "-"]);

/** Sets the password. A link that had one is never opened without it. */
function applyPassword(read: ReadCell, draft: Draft): RowProblem | undefined {
  const password = read("password");
  if (isMaskedPassword(password)) return { kind: "masked_password", values: {} };
  if (password !== "") {
    draft["password"] = password;
    return undefined;
  }
  const said = read("has_password");
  if (said === "" || readFlag(said) === false || NOTHING.has(said.toLowerCase())) return undefined;
  return { kind: "missing_password", values: {} };
}
