/** Every text of an import, in one place, so that it can be translated. */
import { formatCount, pluralize } from "../../../ui/format.ts";
import type { IgnoredReason, ImportField } from "./fields.ts";
import type { NoteKind, ProblemKind } from "./model.ts";

export const FIELD_LABELS: Readonly<Record<ImportField, string>> = {
  url: "Destination URL",
  short_url: "Short URL",
  custom_short_url: "Custom short URL",
  alias: "Alias (back-half)",
  domain: "Domain",
  title: "Title",
  tags: "Tags",
  archived: "Archived (yes or no)",
  status: "Status (active, archived, …)",
  has_password: "Has a password (yes or no)",
  expires_at: "Expiry",
  password: "Password",
  external_id: "External id",
  starts_at: "Start",
  expired_url: "Destination once expired",
  disabled: "Disabled (yes or no)",
  max_clicks: "Click limit",
  limit_counts: "What the limit counts",
  confirm: "Asks before redirecting",
  rules: "Rules (JSON)",
  split: "Split (JSON)",
  preview: "Preview (JSON)",
  forward_path: "Path beyond the alias",
  forward_query: "Passes the query on",
  utm_source: "UTM source",
  utm_medium: "UTM medium",
  utm_campaign: "UTM campaign",
  utm_term: "UTM term",
  utm_content: "UTM content",
};

/** Why a column is not imported. */
export const IGNORED_TEXTS: Readonly<Record<IgnoredReason, string>> = {
  clicks: "Clicks are counted here from now on; those of before cannot be imported.",
  created: "A link is as old as its import.",
  identifier: "The other service’s own id. Choose External id to keep it.",
  author: "Links here have no author.",
  devices: "Add a rule for devices to the link after the import.",
  repeats: "Alias and domain say the same.",
  report: "From an earlier list of rows that were not imported.",
  taken: "Another column has its field.",
  unknown: "The name of this column is not known. Choose what it is.",
  chosen: "You chose so.",
};

export const IMPORT_TEXTS = {
  title: "Import links",
  intro:
    "Upload a CSV file with a header row: an export from Bitly, Dub, Short.io, Rebrandly, YOURLS, Shlink, Kutt or Shorthop, or any file with a column of destination URLs. Nothing is created until you have seen what becomes of each column and row.",
  choose: "Choose a CSV file",
  notImported: "Not imported",
  generated: "generated",
  columns: "Columns",
  preview: "First rows",
  check: "Check",
  checkHint:
    "A check compares every row with the rules and with the links that exist. It creates nothing.",
  nothingYet: "Nothing has been created yet.",
  noUrl: "Choose the column that has the destination URLs.",
  fromFile: "As in the file",
  archived: "Archived",
  disabled: "Disabled",
  password: "Password",
  expires: (at: string) => `Until ${at.slice(0, 10)}`,
} as const;

export const COLUMN_HEADS = ["Column", "First values", "Imported as"];
export const PREVIEW_HEADS = ["Row", "Short URL", "State", "Destination", "Title", "Tags"];
export const FAILED_HEADS = ["Row", "Alias", "Reason", "Destination"];

/** The name of a column; its number if it has none. */
export const describeColumn = (name: string, column: number): string =>
  name === "" ? `Column ${column + 1}, without a name` : name;

export const OPTION_TEXTS = {
  importedAs: (column: string) => `${column}: imported as`,
  domain: "Domain of the new links",
  domainHint: "Printed links go on working only on their own domain.",
  archived: "Archived links",
  archivedChoices: [
    { value: "keep", label: "Import as archived" },
    { value: "leave", label: "Leave out" },
  ],
  backHalves: "Links with a custom back-half",
  backHalfChoices: [
    { value: "custom", label: "Only the custom back-half" },
    { value: "both", label: "Both back-halves" },
  ],
  separator: "Tags are separated by",
};

export const RUN_TEXTS = {
  check: (rows: number) => `Check ${pluralize(rows, "row")}`,
  checking: (done: number, total: number) =>
    `Checking: ${formatCount(done)} of ${formatCount(total)}`,
  cancel: "Cancel",
  start: (links: number) => `Import ${pluralize(links, "link")}`,
  notImported: "Will not be imported",
  notes: "Notes",
  failedTable: "Rows that are not imported",
  firstFailed: (max: number) => `The first ${formatCount(max)}; the CSV file has all.`,
  download: "Download these rows as CSV",
  progress: "Import",
  importing: (done: number, total: number, restMs: number | undefined) =>
    `Importing: ${formatCount(done)} of ${formatCount(total)}${
      restMs === undefined ? "" : ` (${describeDuration(restMs)} left)`
    }`,
  stop: "Stop",
  result: (created: number, failed: number) =>
    `${pluralize(created, "link")} created, ${formatCount(failed)} not imported.`,
};

function describeDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  ",": "commas",
  ";": "semicolons",
  "\t": "tabs",
  "|": "vertical bars",
};

export const describeSeparator = (separator: string): string => {
  const name = DELIMITER_NAMES[separator] ?? separator;
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
};

/** Describes a file that was read: `The Bitly export contains 3 rows, …`. */
export function describeFile(
  service: string | undefined,
  rows: number,
  { delimiter, encoding }: { delimiter: string; encoding: string },
): string {
  const file =
    service === undefined
      ? "The file is from no service that we recognize. It"
      : `The ${service} export`;
  return `${file} contains ${pluralize(rows, "row")}, separated by ${DELIMITER_NAMES[delimiter] ?? delimiter}, in ${encoding}.`;
}

export const ENCODING_WARNING =
  "The file is not UTF-8. It was read as Windows-1252, as Excel writes it: check letters such as ä and é in the first rows, or save it as “CSV UTF-8”.";

/** What an export itself loses, by the service. */
export const SERVICE_WARNINGS: ReadonlyMap<string, string> = new Map([
  [
    "Dub",
    "By its public source, Dub’s export writes “No” into the column Archived also for archived links. Export them separately if they must stay archived.",
  ],
  [
    "Shlink",
    "Shlink’s export has neither dates nor rules: a link that has expired there would be live here.",
  ],
]);

export const FILE_PROBLEMS = {
  workbook: "This is an Excel workbook. Save the sheet as “CSV UTF-8” and choose that file.",
  binary: "This is not a text file. Save the table as “CSV UTF-8” and choose that file.",
  empty: "The file is empty.",
  noHeader:
    "The first row has a URL, but it must have the names of the columns. Add a row with names such as url and alias.",
  noRows: "The file has no rows below the names of the columns.",
  quote: (row: number) =>
    `In row ${formatCount(row)} a quotation mark is not closed or not doubled, so that the rows after it cannot be separated. Correct it, or export the file again.`,
  longCell: (row: number, max: number) =>
    `A cell in row ${formatCount(row)} has more than ${formatCount(max)} characters.`,
  unreadable: "The file cannot be read. Choose it again.",
} as const;

/** Says that a file exceeds a bound. */
export const describeBound = (what: "rows" | "columns" | "MB", max: number): string =>
  `The file has more than ${formatCount(max)} ${what}. Split it.`;

/** Headings of rows with the same problem. */
export const PROBLEM_LABELS: Readonly<Record<ProblemKind, string>> = {
  alias_taken: "Alias in use",
  repeated_alias: "Alias twice in the file",
  invalid_alias: "Alias not allowed",
  no_alias: "Short URL without a back-half",
  invalid_url: "Destination not a valid URL",
  foreign_domain: "Domain not yours",
  archived: "Archived, left out as you chose",
  deleted: "Deleted at the other service",
  unknown_state: "State not understood",
  expired: "Expired",
  invalid_date: "Date not understood",
  masked_password: "Password not readable",
  missing_password: "Password missing",
  too_many_cells: "More cells than columns",
  invalid_value: "Value not allowed",
  rejected: "Not accepted by the service",
  not_sent: "Not sent",
};

/** What one should know of links that are imported. */
export const NOTE_LABELS: Readonly<Record<NoteKind, string>> = {
  archived: "Archived: lists leave them out",
  disabled: "Disabled: they redirect nobody",
  left_archived:
    "Archived or switched off in a column that is not imported: they would be live here",
  password: "With the password of the file",
  generated_alias: "Without an alias: one is generated",
  moved: "From another domain: their old short URLs will not redirect here",
  custom_wins: "With a custom and a random back-half: only the custom one is created",
  both_halves: "With a custom and a random back-half: both are created",
  scheme: "With a destination without a scheme: https:// is added",
};

export const PROBLEM_TEXTS = {
  deleted: "The other service has deleted the link.",
  archived: "The link is archived.",
  expired: (at: string) => `The link expired on ${at.slice(0, 10)}.`,
  unknownState: (text: string) => `“${text}” does not say whether the link is live.`,
  date: (text: string) =>
    `“${text}” is not understood. Write dates as YYYY-MM-DD, with a time as 2030-01-31T08:00:00Z.`,
  maskedPassword:
    "The export has the password hashed or masked. Write the real one, or empty the cell.",
  missingPassword:
    "The link has a password that the file does not contain: write one into a column password, or empty the cell that says so.",
  noAlias: "The short URL is that of the domain itself.",
  repeatedAlias: (alias: string, row: number) =>
    `The alias “${alias}” is also in row ${formatCount(row)}.`,
  foreignDomain: (host: string) =>
    `${host} is no verified domain of this account. Add it, or choose a domain for all links.`,
  tooManyCells:
    "The row has more cells than there are columns. A cell with a separator needs quotation marks.",
  stopped: "Stopped before this row was sent.",
} as const;

/** `3 of 4 links can be imported.` */
export const describeCheck = (possible: number, total: number): string =>
  possible === total
    ? `All ${pluralize(total, "link")} can be imported.`
    : `${formatCount(possible)} of ${pluralize(total, "link")} can be imported.`;

export const describeQuota = (remaining: number): string =>
  `The account may create ${pluralize(remaining, "more link")} today. The import stops there, and you can continue with the list of the other rows.`;
