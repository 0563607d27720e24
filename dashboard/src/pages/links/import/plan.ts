/**
 * Turns the rows of a file into links, by the mapping and the options, and says what is wrong with
 * each.
 */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import { aliasProblem } from "../../../../../shared/contracts/alias.ts";
import { newLinkBody } from "../../../../../shared/contracts/link-schemas.ts";
import { trimInvisible } from "../../../../../shared/contracts/text.ts";
import { parseWebUrl } from "../../../../../shared/contracts/web-url.ts";
import { unescapeFormula } from "../../../data/csv.ts";
import { fieldName, translateSentence } from "../../../languages/errors.ts";
import { t } from "../../../languages/translate.ts";
import { describeIssue } from "../../../ui/validation.ts";
import { readFlag, readStatus } from "../link-csv.ts";
import type { ImportField, ImportItem, NoteKind, PlanInput, Problem, ReadCell } from "./model.ts";
import type { FileRow } from "./read-file.ts";
import { type Place, readPlaces, readSettings } from "./read-row.ts";
import { isStateColumn } from "./services.ts";

/**
 * Returns a function that plans one row after another. It remembers their aliases: of links with
 * the same, the first wins.
 */
export function createPlanner(
  input: PlanInput,
): (row: FileRow, index: number) => readonly ImportItem[] {
  const readRow = createRowReader(input);
  const findRepeated = createAliasRegister();
  return (row, index) => {
    const { read, isCut, saysNotLive } = readRow(row);
    const settings = readSettings(read, input);
    const { places, notes } = readPlaces(read, input);
    const shared: NoteKind[] = [
      ...(saysNotLive ? (["left_archived"] as const) : []),
      ...settings.notes,
      ...notes,
    ];
    return places.map((place, nth) => {
      const link = toLink(settings.link, place, nth);
      const problem =
        (isCut ? tooManyCells() : undefined) ??
        settings.problem ??
        place.problem ??
        findInvalid(link) ??
        findRepeated(link, row.row);
      return {
        index,
        row: row.row,
        link,
        notes: [...shared, ...place.notes],
        ...(problem === undefined ? {} : { problem }),
      };
    });
  };
}

const tooManyCells = (): Problem => ({
  kind: "too_many_cells",
  message: t("import.reasons.tooManyCells"),
});

type ReadRow = {
  read: ReadCell;
  /** The row has text in cells beyond the last column. */
  isCut: boolean;
  /** A column that is not imported says that the link is archived or switched off. */
  saysNotLive: boolean;
};

function createRowReader({ columns, mapping, isEscaped }: PlanInput): (row: FileRow) => ReadRow {
  const places = new Map<ImportField, number>();
  const leftStates: number[] = [];
  for (const [column, target] of mapping.entries()) {
    if ("field" in target) places.set(target.field, column);
    else if (isStateColumn(columns[column] ?? "")) leftStates.push(column);
  }
  return ({ cells }) => {
    const cell = (column: number): string => {
      const text = trimInvisible(cells[column] ?? "");
      return isEscaped ? unescapeFormula(text) : text;
    };
    return {
      read: (field) => cell(places.get(field) ?? -1),
      isCut: cells.slice(columns.length).some((text) => text.trim() !== ""),
      saysNotLive: leftStates.some((column) => isNotLive(cell(column))),
    };
  };
}

/** Whether a cell of a column that says whether links are live says that this one is not. */
function isNotLive(text: string): boolean {
  const status = readStatus(text);
  return status === undefined ? readFlag(text) === true : status !== "live";
}

/** Finds links whose alias a link of an earlier row has. */
function createAliasRegister(): (link: NewLink, row: number) => Problem | undefined {
  const rows = new Map<string, number>();
  return ({ alias, domain }, row) => {
    if (typeof alias !== "string") return undefined;
    const name = `${domain ?? ""}/${alias}`;
    const first = rows.get(name);
    if (first === undefined) rows.set(name, row);
    if (first === undefined) return undefined;
    return {
      kind: "repeated_alias",
      message: t("import.reasons.repeatedAlias", { alias, row: first }),
    };
  };
}

/** Two links of a row cannot have the same external id. */
function toLink(
  { external_id, ...settings }: NewLink,
  { alias, domain }: Place,
  nth: number,
): NewLink {
  return {
    ...settings,
    ...(alias === undefined ? {} : { alias }),
    ...(domain === undefined ? {} : { domain }),
    ...(external_id === undefined || nth > 0 ? {} : { external_id }),
  };
}

/** Rows planned in one turn of the event loop: some 20 ms. */
const TURN_ROWS = 1_000;

/** Returns the links of the rows, in their order. Rejects when the signal is aborted. */
export async function planRows(
  rows: readonly FileRow[],
  input: PlanInput,
  signal?: AbortSignal,
): Promise<ImportItem[]> {
  const planRow = createPlanner(input);
  const items: ImportItem[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % TURN_ROWS === TURN_ROWS - 1) {
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    items.push(...planRow(row, index));
  }
  return items;
}

/** Returns why a link cannot be created; undefined if only the service can know. */
function findInvalid(link: NewLink): Problem | undefined {
  const url = parseWebUrl(link.url);
  if ("problem" in url) return { kind: "invalid_url", message: translateSentence(url.problem) };
  const alias =
    typeof link.alias === "string" ? aliasProblem(link.alias, link.domain ?? null) : undefined;
  if (alias !== undefined) return { kind: "invalid_alias", message: translateSentence(alias) };
  const [issue] = newLinkBody.safeParse(link, { error: describeIssue }).error?.issues ?? [];
  return issue === undefined
    ? undefined
    : {
        kind: "invalid_value",
        message: `${fieldName(issue.path.join("."))}: ${translateSentence(issue.message)}`,
      };
}
