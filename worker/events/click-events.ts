/**
 * Events of clicks, made from the rows of an insert: those that a segment has of an account and
 * mode, at most 500 in one event. The id follows from these and nothing else, so an event that is
 * made again has the same.
 */
import { CLICK_COLUMNS } from "../../shared/contracts/analytics.ts";
import { encodeId, formatUuid, hashedUuid, type Uuid } from "../../shared/ids.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
import { unescapeField } from "../enrich/tab-separated.ts";

/** Maximum clicks of an event. */
const CLICKS_MAX = 500;

export type ClickEvent = {
  id: Uuid;
  account_id: Uuid;
  mode: string;
  data: { clicks: Click[] };
};

/** Accounts and modes, as {@link readerKey} writes them. */
export type Readers = ReadonlySet<string>;

export const readerKey = (accountId: Uuid, mode: string): string => `${accountId} ${mode}`;

/** Makes the events of rows, for the accounts and modes that have readers. */
export async function makeClickEvents(rows: Buffer, readers: Readers): Promise<ClickEvent[]> {
  const groups = new Map<string, PersonalClick[]>();
  const slice = new TimeSlice();
  for (const line of linesOf(rows)) {
    if (slice.isOver()) await slice.next();
    const found = readPersonalClick(line, readers);
    if (found === undefined) continue;
    const { accountId, mode, journalId, segment } = found;
    const key = `${accountId} ${mode} ${journalId} ${segment}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [found]);
    else group.push(found);
  }
  return [...groups].flatMap(([key, group]) => toEvents(key, group));
}

function toEvents(key: string, group: readonly PersonalClick[]): ClickEvent[] {
  // ClickHouse returns rows in another order than a segment has them.
  const clicks = group.toSorted((a, b) => a.idx - b.idx);
  const events: ClickEvent[] = [];
  for (let start = 0; start < clicks.length; start += CLICKS_MAX) {
    const part = clicks.slice(start, start + CLICKS_MAX);
    const [first] = part;
    if (first === undefined) break;
    const last = Math.max(...part.map(({ time }) => time));
    events.push({
      id: hashedUuid(last, `${key} ${first.idx}`),
      account_id: first.accountId,
      mode: first.mode,
      data: { clicks: part.map(({ click }) => click) },
    });
  }
  return events;
}

type Column = (typeof ROW_COLUMNS)[number];

type ClickColumn = (typeof CLICK_COLUMNS)[number];

type Click = { id: string; time: string; link_id: string } & Record<ClickColumn, string>;

/** A click of a person, with its place. */
type PersonalClick = {
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

const LINE_FEED = 10;

/** Yields the lines of rows in the format TabSeparated. */
function* linesOf(rows: Buffer): Generator<string> {
  for (let start = 0; start < rows.length;) {
    const end = rows.indexOf(LINE_FEED, start);
    yield rows.toString("utf8", start, end < 0 ? rows.length : end);
    start = end < 0 ? rows.length : end + 1;
  }
}

/**
 * Reads the click of a person; undefined for any other, an imported one, and without a reader.
 * Times and ids are in the form of an insert or in that of ClickHouse.
 */
function readPersonalClick(line: string, readers: Readers): PersonalClick | undefined {
  const fields = line.split("\t");
  const field = (column: Column): string => fields[INDEX[column]] ?? "";
  if (field("class") !== "human" || field("import") !== "0") return undefined;
  const [accountId, mode] = [toUuid(field("account_id")), field("mode")];
  if (!readers.has(readerKey(accountId, mode))) return undefined;
  const [journalId, segment, idx] = [field("journal_id"), field("segment"), field("idx")];
  const time = toMilliseconds(field("ts"));
  const values = CLICK_COLUMNS.map((name) => [
    name,
    name === "imported" ? "no" : unescapeField(field(name)),
  ]);
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
      ...(Object.fromEntries(values) as Record<ClickColumn, string>),
    },
  };
}

const toUuid = (text: string): Uuid => (text.includes("-") ? text : formatUuid(text));

const toMilliseconds = (text: string): number =>
  text.includes("-") ? Date.parse(`${text.replace(" ", "T")}Z`) : Number(text);
