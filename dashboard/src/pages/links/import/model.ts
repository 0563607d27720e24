/**
 * Defines what an import makes of a file: the field of each column, the links, and what is said of
 * each link.
 */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import type { ImportField, Mapping } from "../../../../../shared/link-csv/fields.ts";
import {
  FILE_BYTES_MAX,
  type LinkFile,
  parseLinkFile,
} from "../../../../../shared/link-csv/file.ts";
import type { CellReading, RowNote, RowProblem } from "../../../../../shared/link-csv/row.ts";
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
