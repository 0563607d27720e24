/**
 * The links of a CSV file for a command line: an export of Bitly, Dub, Rebrandly, Short.io, Shlink,
 * Kutt, YOURLS or our own dashboard, whose columns are recognized, or any other whose columns are
 * named. The dashboard reads files the same way.
 */
import { trimInvisible } from "../contracts/text.ts";
import { DATE_ORDERS, type DateOrder, readInstant, unescapeFormula } from "./cells.ts";
import {
  findField,
  IMPORT_FIELDS,
  type ImportField,
  type Mapping,
  type ReadCell,
} from "./fields.ts";
import { type FileRow, type LinkFile, parseLinkFile } from "./file.ts";
import {
  type CellReading,
  type Draft,
  readSettings,
  readShortLinks,
  type RowProblem,
  suggestReading,
} from "./row.ts";
import { suggestMapping } from "./services.ts";

/** How a file is read, as options of a command say it. */
export type TableReading = {
  /** Corrects what columns become: `Long URL=url,Comment=-`. */
  columns?: string | undefined;
  /** The part that comes first in dates such as 03/04/2030. */
  dateOrder?: string | undefined;
};

/** A link of a file. A row with two back-halves has two. */
export type TableLink = {
  row: number;
  nth: number;
  settings: Draft;
  alias: string | undefined;
  host: string | undefined;
  createdAt: Date | undefined;
  /** Why it is not imported, as a sentence. */
  refused: string | undefined;
  /** Whether it had a password, which the file does not have. */
  isLocked: boolean;
};

/** Names no field: the column is not imported. */
const NO_FIELD = "-";

export class LinkTable {
  readonly #file: LinkFile;
  readonly #mapping: Mapping;
  readonly #reading: CellReading;
  /** The column with the times of creation; -1 without one. */
  readonly #created: number;

  /**
   * Throws for a file that cannot be read, of which `name` is said, and for options that name no
   * column or field.
   */
  constructor(
    name: string,
    bytes: Uint8Array,
    backHalves: CellReading["backHalves"],
    { columns = "", dateOrder }: TableReading,
  ) {
    this.#file = parse(name, bytes);
    const suggested = suggestMapping(this.#file.columns, this.#file.service);
    this.#mapping = correct(this.#file.columns, suggested, columns);
    if (findField(this.#mapping, "url") < 0)
      throw new Error(`No column has the destination. Say which: --columns "NAME=url".`);
    this.#created = suggested.findIndex(
      (target) => "ignored" in target && target.ignored === "created",
    );
    const reading = suggestReading(this.#file, this.#mapping);
    this.#reading = {
      ...reading,
      backHalves,
      dateOrder: parseOrder(dateOrder) ?? reading.dateOrder,
    };
  }

  /** How many rows there are. */
  get rows(): number {
    return this.#file.rows.length;
  }

  /** The links of the rows from one to another. */
  links(from: number, end: number): TableLink[] {
    return this.#file.rows.slice(from, end).flatMap((row) => this.#linksOf(row));
  }

  #linksOf({ row, cells }: FileRow): TableLink[] {
    const read: ReadCell = (field) => this.#textOf(cells, findField(this.#mapping, field));
    const { link: settings, problem } = readSettings(read, this.#reading, 0);
    const created = new Date(readInstant(this.#textOf(cells, this.#created)));
    const isCut = cells.slice(this.#file.columns.length).some((cell) => cell.trim() !== "");
    const shared = {
      row,
      settings,
      createdAt: Number.isNaN(created.getTime()) ? undefined : created,
      refused: isCut
        ? "The row has more cells than there are columns."
        : problem && REFUSALS[problem.kind],
      isLocked: problem !== undefined && WITHOUT_PASSWORD.has(problem.kind),
    };
    return readShortLinks(read, this.#reading).links.map(({ alias, host }, nth) => ({
      ...shared,
      nth,
      alias,
      host,
    }));
  }

  #textOf(cells: readonly string[], column: number): string {
    const text = trimInvisible(cells[column] ?? "");
    return this.#file.isEscaped ? unescapeFormula(text) : text;
  }
}

/** Problems with a file, by kind. */
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

function parse(name: string, bytes: Uint8Array): LinkFile {
  const file = parseLinkFile(bytes);
  if (!("problem" in file)) return file;
  const { kind, values } = file.problem;
  const where = values["row"] === undefined ? "" : `, row ${values["row"]}`;
  throw new Error(`${name}${where}: ${FILE_PROBLEMS[kind]}.`);
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

/** Why a row is not imported. What it had without a password is judged by who imports it. */
const REFUSALS: Readonly<Partial<Record<RowProblem["kind"], string>>> = {
  deleted: "The other service has deleted the link.",
  unknown_state: "It is not understood whether the link is live.",
  invalid_date: "A date is not understood.",
  date_order: "A date can be read in two ways: say which by --date-order.",
};

const WITHOUT_PASSWORD: ReadonlySet<string> = new Set(["masked_password", "missing_password"]);
