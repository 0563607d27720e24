/**
 * Defines what an import makes of a file: the field of each column, the links, and what is said of
 * each link.
 */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import { type DateOrder, SETTING_CELLS, type TagSeparator } from "../link-csv.ts";

/**
 * The domain of new links: that of the file, the service's own (`""`), or a domain of the account.
 */
export type DomainChoice = { from: "file" } | { domain: string };

export type ImportChoices = {
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
  options: ImportChoices;
  /** The service's own host, and the verified domains of the account. */
  hosts: { own: string; domains: ReadonlySet<string> };
  /** Unix milliseconds. */
  now: number;
};

/** The text of the cell of a field, trimmed; empty without one. */
export type ReadCell = (field: ImportField) => string;

/** Fields that say where the short link is; they give the alias and the domain. */
const PLACE_FIELDS = ["short_url", "custom_short_url", "alias", "domain"] as const;

/**
 * Fields that say what a link is; they become several settings, or decide whether it is imported.
 */
const STATE_FIELDS = ["status", "has_password"] as const;

type PlaceField = (typeof PLACE_FIELDS)[number];
type SettingField = Exclude<keyof typeof SETTING_CELLS, PlaceField>;

export type ImportField =
  PlaceField | SettingField | (typeof STATE_FIELDS)[number] | "url" | "password";

/** Fields whose cells are settings of the same name. */
export const SETTING_FIELDS = (Object.keys(SETTING_CELLS) as (keyof typeof SETTING_CELLS)[]).filter(
  (field): field is SettingField => field !== "alias" && field !== "domain",
);

/** Fields whose cells are dates. */
export const DATE_FIELDS = ["expires_at", "starts_at"] as const satisfies readonly SettingField[];

/** All fields, in the order in which they are offered. */
export const IMPORT_FIELDS: readonly ImportField[] = [
  "url",
  ...PLACE_FIELDS,
  "title",
  "tags",
  "archived",
  ...STATE_FIELDS,
  "expires_at",
  "password",
  ...SETTING_FIELDS.filter((field) => !["title", "tags", "archived", "expires_at"].includes(field)),
];

/** Why a column is not imported; the catalogues have the sentences. */
export type IgnoredReason =
  | "clicks"
  | "created"
  | "identifier"
  | "author"
  | "devices"
  | "repeats"
  | "report"
  | "taken"
  | "unknown"
  | "chosen";

/** What a column becomes. */
export type ColumnTarget = { field: ImportField } | { ignored: IgnoredReason };

/** What each column becomes, by its place in the file. No two columns have the same field. */
export type Mapping = readonly ColumnTarget[];

/** Returns the place of the column that has a field; -1 without one. */
export const findField = (mapping: Mapping, field: ImportField): number =>
  mapping.findIndex((target) => "field" in target && target.field === field);

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
