/** The fields of links that columns of a CSV file become. */
import { SETTING_CELLS } from "./cells.ts";

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

export type ColumnTarget = { field: ImportField } | { ignored: IgnoredReason };

/** The target of each column, by its place in the file. No two columns have the same field. */
export type Mapping = readonly ColumnTarget[];

/** Returns the place of the column that has a field; -1 without one. */
export const findField = (mapping: Mapping, field: ImportField): number =>
  mapping.findIndex((target) => "field" in target && target.field === field);
