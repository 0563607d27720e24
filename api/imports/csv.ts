/**
 * A CSV file as a source: the exports of Bitly, Dub, Rebrandly, Short.io, Shlink, Kutt, YOURLS and
 * of our own dashboard, whose columns are recognized, and any other whose columns are named. The
 * dashboard reads files the same way.
 */
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";

import { trimInvisible } from "../../shared/contracts/text.ts";
import {
  DATE_ORDERS,
  type DateOrder,
  readInstant,
  unescapeFormula,
} from "../../shared/link-csv/cells.ts";
import {
  findField,
  IMPORT_FIELDS,
  type ImportField,
  type Mapping,
  type ReadCell,
} from "../../shared/link-csv/fields.ts";
import {
  FILE_BYTES_MAX,
  type FileRow,
  type LinkFile,
  parseLinkFile,
} from "../../shared/link-csv/file.ts";
import {
  type CellReading,
  type Draft,
  readSettings,
  readShortLinks,
  type RowProblem,
  suggestReading,
} from "../../shared/link-csv/row.ts";
import { suggestMapping } from "../../shared/link-csv/services.ts";
import { type Cursor, noVisits, type Page, type Source, type SourceLink } from "./source.ts";

/** Rows of a page. */
const ROWS_MAX = 1_000;

/** What names no field: the column is not imported. */
const NO_FIELD = "-";

export class CsvFile implements Source {
  readonly #file: LinkFile;
  readonly #mapping: Mapping;
  readonly #options: CellReading;
  /** The column with the times of creation; -1 without one. */
  readonly #created: number;

  /**
   * `columns` corrects what columns become: `Long URL=url,Comment=-`. `dateOrder` says what comes
   * first in dates such as 03/04/2030. Throws for a file that cannot be read, and for what names no
   * column or field.
   */
  constructor(path: string, columns = "", dateOrder?: string) {
    this.#file = readLinkFile(path);
    const suggested = suggestMapping(this.#file.columns, this.#file.service);
    this.#mapping = correct(this.#file.columns, suggested, columns);
    if (findField(this.#mapping, "url") < 0)
      throw new Error(`No column has the destination. Say which: --columns "NAME=url".`);
    this.#created = suggested.findIndex(
      (target) => "ignored" in target && target.ignored === "created",
    );
    const reading = suggestReading(this.#file, this.#mapping);
    // Both back-halves may be in print.
    this.#options = {
      ...reading,
      backHalves: "both",
      dateOrder: parseOrder(dateOrder) ?? reading.dateOrder,
    };
  }

  /** Names a file by its content: a corrected one is another. */
  static identify(path: string): string {
    return `${basename(path)}:${Bun.hash(readBytes(path)).toString(36)}`;
  }

  links(after: Cursor | null): Promise<Page<SourceLink>> {
    const from = Number(after?.["from"] ?? 0);
    const end = from + ROWS_MAX;
    const rows = this.#file.rows.slice(from, end).flatMap((row) => this.#toLinks(row));
    return Promise.resolve({ rows, next: end < this.#file.rows.length ? { from: end } : null });
  }

  readonly visits = noVisits;

  async [Symbol.asyncDispose](): Promise<void> {}

  #toLinks({ row, cells }: FileRow): SourceLink[] {
    const read: ReadCell = (field) => this.#textOf(cells, findField(this.#mapping, field));
    const { link, problem } = readSettings(read, this.#options, 0);
    const created = new Date(readInstant(this.#textOf(cells, this.#created)));
    const isCut = cells.slice(this.#file.columns.length).some((cell) => cell.trim() !== "");
    const known = {
      ...toSourceLink(link, problem),
      ...(Number.isNaN(created.getTime()) ? {} : { createdAt: created }),
      ...(isCut ? { refused: "The row has more cells than there are columns." } : {}),
    };
    return readShortLinks(read, this.#options).links.map(({ alias = "", host }, nth) => ({
      ...known,
      id: nth === 0 ? String(row) : `${row}/${nth}`,
      domain: host ?? null,
      alias,
      // Only one link can have an external id.
      settings: { ...known.settings, ...(nth === 0 ? {} : { external_id: null }) },
    }));
  }

  #textOf(cells: readonly string[], column: number): string {
    const text = trimInvisible(cells[column] ?? "");
    return this.#file.isEscaped ? unescapeFormula(text) : text;
  }
}

function readBytes(path: string): Uint8Array {
  if (statSync(path).size > FILE_BYTES_MAX) throw new Error("The file is too large: split it.");
  return readFileSync(path);
}

/** What is wrong with a file, in the words of its kind. */
const FILE_PROBLEMS = {
  workbook: "it is an Excel workbook: save the sheet as CSV",
  binary: "it is no text",
  empty: "it is empty",
  noHeader: "its first row must have the names of the columns",
  noRows: "it has no rows below the names of the columns",
  quote: "a quotation mark is not closed or not doubled",
  longCell: "a cell is too long",
  "tooMany.rows": "it has too many rows: split it",
  "tooMany.columns": "it has too many columns",
};

function readLinkFile(path: string): LinkFile {
  const file = parseLinkFile(readBytes(path));
  if (!("problem" in file)) return file;
  const { kind, values } = file.problem;
  const where = values["row"] === undefined ? "" : `, row ${values["row"]}`;
  throw new Error(`${basename(path)}${where}: ${FILE_PROBLEMS[kind]}.`);
}

/** The mapping with corrections. A field that is given to a column is taken from another. */
function correct(columns: readonly string[], suggested: Mapping, corrections: string): Mapping {
  const mapping = [...suggested];
  for (const correction of corrections.split(",").filter((text) => text.trim() !== "")) {
    const at = correction.lastIndexOf("=");
    const [name, wanted] = [correction.slice(0, at).trim(), correction.slice(at + 1).trim()];
    const column = columns.findIndex((one) => one.toLowerCase() === name.toLowerCase());
    if (at < 0 || column < 0)
      throw new Error(`There is no column "${name}". There are: ${columns.join(", ")}.`);
    const field = parseField(wanted);
    const former = field === undefined ? -1 : findField(mapping, field);
    if (former >= 0) mapping[former] = { ignored: "taken" };
    mapping[column] = field === undefined ? { ignored: "chosen" } : { field };
  }
  return mapping;
}

function parseField(text: string): ImportField | undefined {
  const field = IMPORT_FIELDS.find((name) => name === text);
  if (field === undefined && text !== NO_FIELD)
    throw new Error(
      `"${text}" is no field. There are: ${IMPORT_FIELDS.join(", ")}, and ${NO_FIELD}.`,
    );
  return field;
}

function parseOrder(text: string | undefined): DateOrder | undefined {
  const order = DATE_ORDERS.find((name) => name === text);
  if (order === undefined && text !== undefined)
    throw new Error(`The order of dates must be ${DATE_ORDERS.join(" or ")}.`);
  return order;
}

/** Why a row is not imported; without one, the link is imported disabled, or judged with others. */
const REFUSALS: Readonly<Partial<Record<RowProblem["kind"], string>>> = {
  deleted: "The other service has deleted the link.",
  unknown_state: "It is not understood whether the link is live.",
  invalid_date: "A date is not understood.",
  date_order: "A date can be read in two ways: say which by --date-order.",
};

const WITHOUT_PASSWORD: ReadonlySet<string> = new Set(["masked_password", "missing_password"]);

/** A link but for where it is. */
function toSourceLink(draft: Draft, problem: RowProblem | undefined) {
  const { url, title, tags, expires_at: expiry, ...rest } = draft;
  const isLocked = problem !== undefined && WITHOUT_PASSWORD.has(problem.kind);
  const refused = problem === undefined ? undefined : REFUSALS[problem.kind];
  return {
    url,
    ...(typeof title === "string" ? { title } : {}),
    ...(Array.isArray(tags) ? { tags: tags.map(String) } : {}),
    ...(typeof expiry === "string" && refused === undefined ? { expiresAt: new Date(expiry) } : {}),
    settings: { ...rest, ...(isLocked ? { disabled: true } : {}) },
    ...(isLocked ? { left: ["its password: it is disabled until it gets one"] } : {}),
    ...(refused === undefined ? {} : { refused }),
  };
}
