/** Reads the links of a row: where they are, their destination, settings, state and password. */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import { readList } from "../../../data/complete-list.ts";
import { completeUrl } from "../../../data/destination.ts";
import { t } from "../../../languages/translate.ts";
import {
  findDateOrder,
  isMaskedPassword,
  normalizeOrder,
  readFlag,
  readInstant,
  readShortLink,
  readStatus,
  readTags,
  SETTING_CELLS,
} from "../link-csv.ts";
import {
  DATE_FIELDS,
  type NoteKind,
  type PlanInput,
  type Problem,
  type ReadCell,
  SETTING_FIELDS,
} from "./model.ts";

/**
 * Where one link will be. Without an alias, one is generated; without a domain, it is the service's
 * own.
 */
export type Place = {
  alias?: string;
  domain?: string;
  problem?: Problem;
  notes: readonly NoteKind[];
};

/**
 * A short link as a file has it; the alias is empty if the file has the URL of the domain itself.
 */
type ShortLink = { alias?: string; host?: string };

/** Separates several custom back-halves of one link. */
const SEPARATORS = /[\s,;|]+/;

/**
 * Returns the places of a row's links: those of its custom back-halves, and the other one if it is
 * requested or the only one.
 */
export function readPlaces(
  read: ReadCell,
  input: PlanInput,
): { places: readonly Place[]; notes: readonly NoteKind[] } {
  const other = readOther(read);
  const customs = readCustoms(read, other);
  const toPlaces = (links: readonly ShortLink[]) => links.map((link) => findPlace(link, input));
  if (customs.length === 0) return { places: toPlaces([other]), notes: [] };
  const isAnother =
    other.alias !== undefined &&
    customs.every(({ alias, host }) => alias !== other.alias || host !== other.host);
  if (!isAnother) return { places: toPlaces(customs), notes: [] };
  return input.options.backHalves === "both"
    ? { places: toPlaces([...customs, other]), notes: ["both_halves"] }
    : { places: toPlaces(customs), notes: ["custom_wins"] };
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

function findPlace(
  { alias, host }: ShortLink,
  { options: { domain: choice }, hosts }: PlanInput,
): Place {
  if (alias === "") return fail("no_alias", t("import.reasons.noAlias"));
  const named = alias === undefined ? {} : { alias };
  const notes: NoteKind[] = alias === undefined ? ["generated_alias"] : [];
  if ("domain" in choice) {
    const isMoved =
      host !== undefined && host !== (choice.domain === "" ? hosts.own : choice.domain);
    const domain = choice.domain === "" ? {} : { domain: choice.domain };
    return { ...named, ...domain, notes: isMoved ? [...notes, "moved"] : notes };
  }
  if (host === undefined || host === hosts.own) return { ...named, notes };
  if (hosts.domains.has(host)) return { ...named, domain: host, notes };
  return { ...named, ...fail("foreign_domain", t("import.reasons.foreignDomain", { host })) };
}

const fail = (kind: Problem["kind"], message: string): Place => ({
  problem: { kind, message },
  notes: [],
});

/**
 * What a row says of its link, apart from where it is: destination, settings, state and password.
 */
type RowSettings = { link: NewLink; problem?: Problem; notes: readonly NoteKind[] };

/** A link whose fields are validated later. */
type Draft = Record<string, unknown> & { url: string };

/**
 * Reads the settings of a row. Their values are validated with the whole link: see `findInvalid`.
 */
export function readSettings(read: ReadCell, { options, now }: PlanInput): RowSettings {
  const url = completeUrl(read("url"));
  const draft: Draft = { url };
  for (const field of SETTING_FIELDS) {
    const text = read(field);
    if (text === "") continue;
    if (field === "tags") draft[field] = readTags(text, options.separator);
    else if (isDateField(field)) draft[field] = readDate(text, options);
    else draft[field] = SETTING_CELLS[field].read(text);
  }
  addTags(draft, options);
  if (typeof draft["title"] === "string")
    draft["title"] = draft["title"].replaceAll(/[\t\n]+/g, " ");
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

const listNotes = (draft: Draft, isCompleted: boolean): NoteKind[] => [
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
  { archived }: PlanInput["options"],
): Problem | undefined {
  const text = read("status");
  const status = text === "" ? "live" : readStatus(text);
  if (status === undefined) return unknownState(text);
  if (status === "deleted") return { kind: "deleted", message: t("import.reasons.deleted") };
  if (status !== "live") draft[status] = true;
  for (const field of ["archived", "disabled"] as const) {
    const value = draft[field];
    if (value !== undefined && typeof value !== "boolean") return unknownState(read(field));
    if (value === false) delete draft[field];
  }
  return draft["archived"] === true && archived === "leave"
    ? { kind: "archived", message: t("import.reasons.archived") }
    : undefined;
}

const unknownState = (text: string): Problem => ({
  kind: "unknown_state",
  message: t("import.reasons.unknownState", { text }),
});

const isDateField = (field: string): boolean => DATE_FIELDS.some((one) => one === field);

const readDate = (text: string, { dateOrder }: PlanInput["options"]): string =>
  readInstant(normalizeOrder(text, dateOrder) ?? text);

/** Adds the tags of all links. */
function addTags(draft: Draft, { tags }: PlanInput["options"]): void {
  const added = readList(tags);
  if (added.length === 0) return;
  const own: unknown = draft["tags"];
  draft["tags"] = [...new Set([...(Array.isArray(own) ? own : []), ...added])];
}

function findDateProblem(read: ReadCell, draft: Draft, now: number): Problem | undefined {
  const wrong = DATE_FIELDS.find((field) => draft[field] !== undefined && !isInstant(draft[field]));
  if (wrong !== undefined) {
    const text = read(wrong);
    return findDateOrder([text]).isAmbiguous
      ? { kind: "date_order", message: t("import.reasons.dateOrder", { text }) }
      : { kind: "invalid_date", message: t("import.reasons.date", { text }) };
  }
  const expiry = draft["expires_at"];
  return typeof expiry === "string" && Date.parse(expiry) <= now
    ? { kind: "expired", message: t("import.reasons.expired", { date: expiry.slice(0, 10) }) }
    : undefined;
}

/** Whether a date was understood: only then it has the form that {@link Date} writes. */
function isInstant(value: unknown): boolean {
  const instant = new Date(String(value));
  return !Number.isNaN(instant.getTime()) && instant.toISOString() === value;
}

/** What services write in place of nothing. */
const NOTHING = new Set(["null", "none", "-"]);

/** Sets the password. A link that had one is never opened without it. */
function applyPassword(read: ReadCell, draft: Draft): Problem | undefined {
  const password = read("password");
  if (isMaskedPassword(password))
    return { kind: "masked_password", message: t("import.reasons.maskedPassword") };
  if (password !== "") {
    draft["password"] = password;
    return undefined;
  }
  const said = read("has_password");
  if (said === "" || readFlag(said) === false || NOTHING.has(said.toLowerCase())) return undefined;
  return { kind: "missing_password", message: t("import.reasons.missingPassword") };
}
