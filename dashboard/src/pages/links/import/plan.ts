/**
 * What an import makes of a file: the field of each column, the links of its rows by the mapping
 * and the options, and what is said of each.
 */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import { aliasProblem } from "../../../../../shared/contracts/alias.ts";
import { newLinkBody } from "../../../../../shared/contracts/link-schemas.ts";
import { trimInvisible } from "../../../../../shared/contracts/text.ts";
import { parseWebUrl } from "../../../../../shared/contracts/web-url.ts";
import { readFlag, readStatus, unescapeFormula } from "../../../../../shared/link-csv/cells.ts";
import type { ImportField, Mapping, ReadCell } from "../../../../../shared/link-csv/fields.ts";
import {
  FILE_BYTES_MAX,
  type FileRow,
  type LinkFile,
  parseLinkFile,
} from "../../../../../shared/link-csv/file.ts";
import {
  type CellReading,
  type Draft,
  readSettings,
  readShortLinks,
  type RowNote,
  type RowProblem,
  type ShortLink,
} from "../../../../../shared/link-csv/row.ts";
import { type LiveField, liveFieldOf } from "../../../../../shared/link-csv/services.ts";
import { readList } from "../../../data/complete-list.ts";
import {
  describeError,
  describeIssue,
  fieldName,
  translateSentence,
} from "../../../languages/errors.ts";
import { t } from "../../../languages/translate.ts";

/**
 * The domain of new links: that of the file, the service's own (`""`), or a domain of the account.
 */
export type DomainChoice = { from: "file" } | { domain: string };

export type ImportChoices = CellReading & {
  domain: DomainChoice;
  /** Tags of all links, beside those of the file, as typed. */
  tags: string;
};

export type ProblemKind =
  | RowProblem["kind"]
  | "alias_taken"
  | "repeated_alias"
  | "invalid_alias"
  | "no_alias"
  | "invalid_url"
  | "foreign_domain"
  | "too_many_cells"
  | "invalid_value"
  | "rejected"
  | "not_sent";

/** Why a link is not imported. The message is a sentence. */
export type Problem = { kind: ProblemKind; message: string };

export type NoteKind = RowNote | "left_archived" | "moved" | "generated_alias";

/** A link to import. A row becomes one, or one for each back-half. */
export type ImportItem = {
  /** The place of the row in the table. */
  index: number;
  row: number;
  link: NewLink;
  problem?: Problem;
  notes: readonly NoteKind[];
};

export type PlanInput = {
  columns: readonly string[];
  isEscaped: boolean;
  mapping: Mapping;
  options: ImportChoices;
  /** The service's own host, and the verified domains of the account. */
  hosts: { own: string; domains: ReadonlySet<string> };
  /** Unix milliseconds. */
  now: number;
};

/** Plans one row after another. Remembers their aliases: of links with the same, the first wins. */
export class Planner {
  readonly #input: PlanInput;
  readonly #columnOf = new Map<ImportField, number>();
  /** Columns that are not imported, and say whether links are live. */
  readonly #leftStates: { column: number; field: LiveField }[] = [];
  readonly #rows = new Map<string, number>();

  constructor(input: PlanInput) {
    this.#input = input;
    for (const [column, target] of input.mapping.entries()) {
      if ("field" in target) this.#columnOf.set(target.field, column);
      else {
        const field = liveFieldOf(input.columns[column] ?? "");
        if (field !== undefined) this.#leftStates.push({ column, field });
      }
    }
  }

  /** Returns the links of a row; `index` is its place in the table. */
  plan({ row, cells }: FileRow, index: number): ImportItem[] {
    const input = this.#input;
    const read: ReadCell = (field) => this.#textOf(cells, this.#columnOf.get(field) ?? -1);
    const settings = readSettings(read, input.options, input.now);
    const draft = withTags(settings.link, input.options.tags);
    const found = settings.problem === undefined ? undefined : toProblem(settings.problem);
    const { links, notes } = readShortLinks(read, input.options);
    const isCut = cells.slice(input.columns.length).some((text) => text.trim() !== "");
    const saysNotLive = this.#leftStates.some(({ column, field }) =>
      isNotLive(field, this.#textOf(cells, column)),
    );
    const shared: NoteKind[] = [
      ...(saysNotLive ? (["left_archived"] as const) : []),
      ...settings.notes,
      ...notes,
    ];
    return links.map((shortLink, nth) => {
      const place = findPlace(shortLink, input);
      const link = toLink(draft, place, nth);
      const problem =
        (isCut ? tooManyCells() : undefined) ??
        found ??
        place.problem ??
        findInvalid(link) ??
        this.#findRepeated(link, row);
      return {
        index,
        row,
        link,
        notes: [...shared, ...place.notes],
        ...(problem === undefined ? {} : { problem }),
      };
    });
  }

  #textOf(cells: readonly string[], column: number): string {
    const text = trimInvisible(cells[column] ?? "");
    return this.#input.isEscaped ? unescapeFormula(text) : text;
  }

  /** Notes the alias of a link; returns the problem that an earlier row has it. */
  #findRepeated({ alias, domain }: NewLink, row: number): Problem | undefined {
    if (typeof alias !== "string") return undefined;
    const name = `${domain ?? ""}/${alias}`;
    const first = this.#rows.get(name);
    if (first === undefined) {
      this.#rows.set(name, row);
      return undefined;
    }
    const message = t("import.reasons.repeatedAlias", { alias, row: first });
    return { kind: "repeated_alias", message };
  }
}

const tooManyCells = (): Problem => ({
  kind: "too_many_cells",
  message: t("import.reasons.tooManyCells"),
});

/** Whether a cell of a column that says whether links are live says that this one is not. */
function isNotLive(field: LiveField, text: string): boolean {
  const flag = readFlag(text);
  if (field !== "status" && typeof flag === "boolean") return flag;
  const status = readStatus(text);
  return status !== undefined && status !== "live";
}

const toProblem = ({ kind, values }: RowProblem): Problem => ({
  kind,
  message: t(`import.reasons.${kind}`, values),
});

/** A link with the tags of all links. */
function withTags(draft: Draft, tags: string): Draft {
  const added = readList(tags);
  if (added.length === 0) return draft;
  const own: unknown = draft["tags"];
  return { ...draft, tags: [...new Set([...(Array.isArray(own) ? own : []), ...added])] };
}

/**
 * Where one link will be. Without an alias, one is generated; without a domain, it is the service's
 * own.
 */
type Place = {
  alias?: string;
  domain?: string;
  problem?: Problem;
  notes: readonly NoteKind[];
};

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
  const planner = new Planner(input);
  const items: ImportItem[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % TURN_ROWS === TURN_ROWS - 1) {
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    items.push(...planner.plan(row, index));
  }
  return items;
}

/** Returns why a link cannot be created; undefined if only the service can know. */
function findInvalid(link: NewLink): Problem | undefined {
  if (link.url === "")
    return { kind: "invalid_url", message: `${fieldName("url")}: ${t("ui.required")}` };
  const url = parseWebUrl(link.url);
  if ("problem" in url) return { kind: "invalid_url", message: translateSentence(url.problem) };
  const alias =
    typeof link.alias === "string" ? aliasProblem(link.alias, link.domain ?? null) : undefined;
  if (alias !== undefined) {
    const kind = "invalid_alias";
    return { kind, message: describeError({ code: kind, message: alias }) };
  }
  const [issue] = newLinkBody.safeParse(link, { error: describeIssue }).error?.issues ?? [];
  return issue === undefined
    ? undefined
    : {
        kind: "invalid_value",
        message: `${fieldName(issue.path.join("."))}: ${translateSentence(issue.message)}`,
      };
}

/**
 * Assigns another field to a column, or none. Another column that had this field is left without
 * one.
 */
export const changeTarget = (
  mapping: Mapping,
  column: number,
  field: ImportField | undefined,
): Mapping =>
  mapping.map((target, i) => {
    if (i === column) return field === undefined ? { ignored: "chosen" } : { field };
    return "field" in target && target.field === field ? { ignored: "taken" } : target;
  });

const MB = 1024 ** 2;

export type ImportFile = LinkFile & { name: string };

/** Reads a file. Returns a problem as a sentence. */
export async function readImportFile(file: File): Promise<ImportFile | { problem: string }> {
  if (file.size > FILE_BYTES_MAX)
    return { problem: t("import.file.tooMany.MB", { max: FILE_BYTES_MAX / MB }) };
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (bytes === undefined) return { problem: t("import.file.unreadable") };
  return parseImportFile(file.name, new Uint8Array(bytes));
}

/** Parses the content of a file. Returns a problem as a sentence. */
export function parseImportFile(name: string, bytes: Uint8Array): ImportFile | { problem: string } {
  const file = parseLinkFile(bytes);
  if (!("problem" in file)) return { ...file, name };
  const { kind, values } = file.problem;
  return { problem: t(`import.file.${kind}`, values) };
}
