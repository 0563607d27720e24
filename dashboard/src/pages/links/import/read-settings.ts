/**
 * What a row says of its link, apart from where it is: destination, settings, state and password.
 */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import { readList } from "../../../data/complete-list.ts";
import { completeUrl } from "../../../data/destination.ts";
import { t } from "../../../languages/translate.ts";
import { isMaskedPassword, readFlag, readInstant, readStatus, readTags } from "../csv-values.ts";
import { SETTING_CELLS } from "../link-csv.ts";
import { findDateOrder, normalizeOrder } from "./dates.ts";
import { DATE_FIELDS, SETTING_FIELDS } from "./fields.ts";
import type { NoteKind, PlanInput, Problem, ReadCell } from "./model.ts";

type RowSettings = { link: NewLink; problem?: Problem; notes: readonly NoteKind[] };

/** A link whose fields are validated later. */
type Draft = Record<string, unknown> & { url: string };

/**
 * Reads the settings of a row. Their values are validated with the whole link: see `validate.ts`.
 */
export function readSettings(
  read: ReadCell,
  { options, now }: Pick<PlanInput, "options" | "now">,
): RowSettings {
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
