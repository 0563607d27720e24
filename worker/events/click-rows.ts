/** Reads clicks back from the rows of an insert, with the fields that clients of the API see. */
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { formatUuid } from "../../shared/uuid-bytes.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
import { unescapeField } from "../enrich/tab-separated.ts";

/** The fields of a click as `GET /v1/clicks` has them, besides its id, time and link. */
const FIELDS = [
  "class",
  "class_reason",
  "country",
  "region",
  "city",
  "continent",
  "device",
  "browser",
  "os",
  "referrer",
  "referrer_path",
  "language",
  "host",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
  "region_name",
] as const satisfies readonly Column[];

type Column = (typeof ROW_COLUMNS)[number];

export type Click = { id: string; time: string; link_id: string } & Record<
  (typeof FIELDS)[number],
  string
>;

/** A click of a person, with its place. */
export type PersonalClick = {
  accountId: Uuid;
  mode: string;
  journalId: Uuid;
  segment: number;
  idx: number;
  /** Unix milliseconds. */
  time: number;
  click: Click;
};

const INDEX = Object.fromEntries(ROW_COLUMNS.map((column, i) => [column, i])) as Record<
  Column,
  number
>;

/**
 * Yields the clicks of people among rows in the format TabSeparated, of the accounts and modes for
 * which `isWanted` returns true. Times and ids are in the form of an insert or in that of
 * ClickHouse.
 */
export function* readPersonalClicks(
  rows: Buffer,
  isWanted: (accountId: Uuid, mode: string) => boolean,
): Generator<PersonalClick | undefined> {
  for (let start = 0; start < rows.length;) {
    const end = rows.indexOf(LINE_FEED, start);
    const line = rows.toString("utf8", start, end < 0 ? rows.length : end);
    start = end < 0 ? rows.length : end + 1;
    yield readLine(line.split("\t"), isWanted);
  }
}

const LINE_FEED = 10;

/** Undefined for a click that nobody wants. */
function readLine(
  fields: readonly string[],
  isWanted: (accountId: Uuid, mode: string) => boolean,
): PersonalClick | undefined {
  const field = (column: Column): string => fields[INDEX[column]] ?? "";
  if (field("class") !== "human") return undefined;
  const [accountId, mode] = [toUuid(field("account_id")), field("mode")];
  if (!isWanted(accountId, mode)) return undefined;
  const [journalId, segment, idx] = [field("journal_id"), field("segment"), field("idx")];
  const time = toMilliseconds(field("ts"));
  const values = FIELDS.map((name) => [name, unescapeField(field(name))]);
  return {
    accountId,
    mode,
    journalId,
    segment: Number(segment),
    idx: Number(idx),
    time,
    click: {
      id: `${journalId}.${segment}.${idx}`,
      time: new Date(time).toISOString(),
      link_id: encodeId("link", toUuid(field("link_id"))),
      // The names are those of the type.
      ...(Object.fromEntries(values) as Record<(typeof FIELDS)[number], string>),
    },
  };
}

const toUuid = (text: string): Uuid => (text.includes("-") ? text : formatUuid(text));

const toMilliseconds = (text: string): number =>
  text.includes("-") ? Date.parse(`${text.replace(" ", "T")}Z`) : Number(text);
