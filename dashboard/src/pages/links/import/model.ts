/** The links that an import would create, and what is said about each. */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import type { TagSeparator } from "../csv-values.ts";
import type { DateOrder } from "./dates.ts";
import type { ImportField, Mapping } from "./fields.ts";

/**
 * The domain of new links: that of the file, the service's own (`""`), or a domain of the account.
 */
export type DomainChoice = { from: "file" } | { domain: string };

export type ImportOptions = {
  domain: DomainChoice;
  /** Whether archived links are imported, as archived ones, or left out. */
  archived: "keep" | "leave";
  /** Whether a link with a custom and a random back-half becomes one link or two. */
  backHalves: "custom" | "both";
  separator: TagSeparator;
  /** What comes first in dates that could be read in two ways; undefined until it is chosen. */
  dateOrder: DateOrder | undefined;
  /** Tags of all links, beside those of the file, as typed. */
  tags: string;
};

export type ProblemKind =
  | "alias_taken"
  | "repeated_alias"
  | "invalid_alias"
  | "no_alias"
  | "invalid_url"
  | "foreign_domain"
  | "archived"
  | "deleted"
  | "unknown_state"
  | "expired"
  | "invalid_date"
  | "date_order"
  | "masked_password"
  | "missing_password"
  | "too_many_cells"
  | "invalid_value"
  | "rejected"
  | "not_sent";

/** Why a link is not imported. The message is a sentence. */
export type Problem = { kind: ProblemKind; message: string };

export type NoteKind =
  | "left_archived"
  | "moved"
  | "archived"
  | "disabled"
  | "password"
  | "custom_wins"
  | "both_halves"
  | "generated_alias"
  | "scheme";

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
  options: ImportOptions;
  /** The service's own host, and the verified domains of the account. */
  hosts: { own: string; domains: ReadonlySet<string> };
  /** Unix milliseconds. */
  now: number;
};

/** The text of the cell of a field, trimmed; empty without one. */
export type ReadCell = (field: ImportField) => string;
