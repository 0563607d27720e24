/**
 * Conditions of rules, as bytes: how each type is written, and how it is evaluated where it lies.
 * To evaluate all conditions that a link may have takes some tens of microseconds.
 */
import { BLOCK_BYTES, isInBlocks, writeBlock } from "../addresses.ts";
import { WEEKDAYS } from "../contracts/analytics.ts";
import type { Condition } from "../contracts/redirect-settings.ts";
import { MINUTE_MS } from "../durations.ts";
import { cached } from "../visitors/cache.ts";
import { type ByteWriter, isText, prefixLength, u16At } from "./byte-writer.ts";
import type { RequestFacts } from "./facts.ts";
import { namesOf } from "./language.ts";

/** How a type of conditions is evaluated; `start` and `end` are those of its bytes. */
type Evaluation = {
  /**
   * Whether the request's value is one of the condition's; undefined when it is unknown, which
   * matches neither a condition nor its inverse.
   */
  test(facts: RequestFacts, bytes: Buffer, start: number, end: number): boolean | undefined;
  /** The request's value; null when it is unknown. */
  actual(facts: RequestFacts, bytes: Buffer, start: number, end: number): string | null;
};

/** Conditions whose values have the same case as the facts: the API has converted them. */
const listed = (read: (facts: RequestFacts) => string | undefined): Evaluation => ({
  test(facts, bytes, start, end) {
    const value = read(facts);
    return value === undefined ? undefined : hasText(bytes, start, end, value);
  },
  actual: (facts) => read(facts) ?? null,
});

/** Names of browsers and systems are compared ignoring case, and shown as analytics names them. */
const agent = (name: "device" | "os" | "browser"): Evaluation => ({
  test(facts, bytes, start, end) {
    const known = facts.agent();
    return known === undefined ? undefined : hasText(bytes, start, end, known.lower[name]);
  },
  actual: (facts) => facts.agent()?.names[name] ?? null,
});

/** A language is one of the tags, or more specific than one: `de-AT` is `de`. */
const language: Evaluation = {
  test(facts, bytes, start, end) {
    const names = namesOf(facts.language());
    for (let at = start; at < end;) {
      const from = at + 2;
      at = from + u16At(bytes, at);
      for (const name of names) {
        const length = prefixLength(bytes, from, at, name);
        if (length >= 0 && (length === name.length || name[length] === "-")) return true;
      }
    }
    return false;
  },
  actual: (facts) => facts.language(),
};

const ip: Evaluation = {
  test: (facts, bytes, start, end) =>
    facts.address() === "" ? undefined : isInBlocks(bytes, start, end, facts.address()),
  actual: (facts) => facts.address() || null,
};

/** A parameter of the name, with any value or one of some. */
const query: Evaluation = {
  test(facts, bytes, start, end) {
    const { name, values, isAny } = readQuery(bytes, start, end);
    const found = facts.parameter(name);
    return isAny ? found.length > 0 : hasOneOf(bytes, values, end, found);
  },
  actual: (facts, bytes, start, end) =>
    facts.parameter(readQuery(bytes, start, end).name).join(", "),
};

function readQuery(bytes: Buffer, start: number, end: number) {
  const nameEnd = start + 2 + u16At(bytes, start);
  return {
    name: bytes.toString("utf8", start + 2, nameEnd),
    isAny: bytes[nameEnd] === 1,
    values: nameEnd + 1,
    end,
  };
}

const time: Evaluation = {
  test: (facts, bytes, start) =>
    bytes.readDoubleLE(start) <= facts.now() && facts.now() < bytes.readDoubleLE(start + 8),
  actual: (facts) => new Date(facts.now()).toISOString(),
};

/** Bytes before the time zone. */
const SCHEDULE_BYTES = 5;

const schedule: Evaluation = {
  test(facts, bytes, start, end) {
    const { weekday, minutes } = readLocalTime(facts, bytes, start, end);
    const [from, to] = [u16At(bytes, start), u16At(bytes, start + 2)];
    const includes = (day: number): boolean => (((bytes[start + 4] ?? 0) >> day) & 1) === 1;
    if (from <= to) return includes(weekday) && from <= minutes && minutes < to;
    return minutes >= from ? includes(weekday) : minutes < to && includes(dayBefore(weekday));
  },
  actual(facts, bytes, start, end) {
    const { weekday, minutes } = readLocalTime(facts, bytes, start, end);
    return `${WEEKDAYS[weekday - 1]}, ${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
  },
};

const readLocalTime = (facts: RequestFacts, bytes: Buffer, start: number, end: number) =>
  localTime(facts.now(), bytes.toString("utf8", start + SCHEDULE_BYTES, end));

const dayBefore = (weekday: number): number => (weekday === 1 ? 7 : weekday - 1);

/** By their number in bytes, which must stay: stores of hosts have it. */
const EVALUATIONS: readonly (readonly [Condition["type"], Evaluation])[] = [
  ["country", listed((facts) => facts.location()?.country)],
  // A database without continents has "" for each.
  ["continent", listed((facts) => facts.location()?.continent || undefined)],
  ["referrer", listed((facts) => facts.source())],
  ["device", agent("device")],
  ["os", agent("os")],
  ["browser", agent("browser")],
  ["language", language],
  ["ip", ip],
  ["query", query],
  ["time", time],
  ["schedule", schedule],
];

const NUMBERS: ReadonlyMap<string, number> = new Map(EVALUATIONS.map(([type], i) => [type, i]));

/** The bit of a condition's number that inverts it. */
const NOT = 128;

/** Writes a condition. Throws for one that the API rejects. */
export function writeCondition(writer: ByteWriter, condition: Condition): void {
  const number = NUMBERS.get(condition.type);
  if (number === undefined) throw new Error(`No condition has the type ${condition.type}.`);
  writer.u8(condition.not === true ? number | NOT : number);
  writeValues(writer, condition);
}

function writeValues(writer: ByteWriter, condition: Condition): void {
  switch (condition.type) {
    case "ip":
      for (const entry of condition.in) writeAddressBlock(writer, entry);
      return;
    case "query":
      writer.text(condition.name);
      writer.u8(condition.in === undefined ? 1 : 0);
      writeTexts(writer, condition.in ?? []);
      return;
    case "time":
      writer.f64(condition.from === undefined ? -Infinity : Date.parse(condition.from));
      writer.f64(condition.until === undefined ? Infinity : Date.parse(condition.until));
      return;
    case "schedule":
      writer.u16(minutesOf(condition.from));
      writer.u16(minutesOf(condition.to));
      writer.u8(condition.days.reduce((bits, day) => bits | (1 << day), 0));
      writer.rest(condition.timezone);
      return;
    case "device":
    case "os":
    case "browser":
    case "language":
      writeTexts(
        writer,
        condition.in.map((value) => value.toLowerCase()),
      );
      return;
    default:
      writeTexts(writer, condition.in);
  }
}

function writeAddressBlock(writer: ByteWriter, entry: string): void {
  writer.raw(BLOCK_BYTES, (bytes, at) => {
    if (!writeBlock(bytes, at, entry))
      throw new Error(`"${entry}" is neither an address nor a CIDR block`);
  });
}

/** The minutes since midnight of a time `HH:MM`. */
const minutesOf = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

/** Whether the condition that was written from `start` to `end` matches. */
export function matchesCondition(
  facts: RequestFacts,
  bytes: Buffer,
  start: number,
  end: number,
): boolean {
  const head = bytes[start] ?? 0;
  const found = EVALUATIONS[head & ~NOT]?.[1].test(facts, bytes, start + 1, end);
  return found !== undefined && found !== (head & NOT) > 0;
}

/** The type of the condition that was written from `start` to `end`, and the request's value. */
export function explainCondition(
  facts: RequestFacts,
  bytes: Buffer,
  start: number,
  end: number,
): { type: string; actual: string | null } {
  const [type = "", condition] = EVALUATIONS[(bytes[start] ?? 0) & ~NOT] ?? [];
  return { type, actual: condition?.actual(facts, bytes, start + 1, end) ?? null };
}

function writeTexts(writer: ByteWriter, texts: readonly string[]): void {
  for (const text of texts) writer.text(text);
}

/** Whether a text is among those of {@link writeTexts}. */
function hasText(bytes: Buffer, start: number, end: number, text: string): boolean {
  for (let at = start; at < end;) {
    const from = at + 2;
    at = from + u16At(bytes, at);
    if (isText(bytes, from, at, text)) return true;
  }
  return false;
}

/** Maximum texts that are looked for one by one. */
const SEARCHED_MAX = 4;

/** The texts that were looked for last, if there were many. */
let searched: readonly string[] = [];
let searchedSet: ReadonlySet<string> = new Set();

/** Whether one of some texts is among those of {@link writeTexts}. */
function hasOneOf(bytes: Buffer, start: number, end: number, texts: readonly string[]): boolean {
  if (texts.length <= SEARCHED_MAX) return texts.some((text) => hasText(bytes, start, end, text));
  // A request's values of a name are one list, for which all conditions on that name ask.
  if (texts !== searched) {
    searched = texts;
    searchedSet = new Set(texts);
  }
  for (let at = start; at < end;) {
    const from = at + 2;
    at = from + u16At(bytes, at);
    if (searchedSet.has(bytes.toString("utf8", from, at))) return true;
  }
  return false;
}

const DAY_MINUTES = 1_440;

/** Offsets of time zones change on quarter hours of UTC only. */
const QUARTER_MS = 15 * MINUTE_MS;

/**
 * Time zones whose offset is cached; there are some 600 names. To compute an offset takes
 * microseconds.
 */
const ZONES_MAX = 1_000;

const zones = cached(ZONES_MAX, (_timeZone: string) => ({ quarter: NaN, offset: 0 }));

/** A local weekday (1 = Monday … 7) and the minutes since midnight. */
type LocalTime = { weekday: number; minutes: number };

/**
 * Returns the local time at an instant (Unix milliseconds). Throws a `RangeError` for an unknown
 * time zone.
 */
function localTime(now: number, timeZone: string): LocalTime {
  const zone = zones(timeZone);
  const quarter = Math.floor(now / QUARTER_MS);
  if (zone.quarter !== quarter) {
    zone.offset = offsetMinutes(quarter * QUARTER_MS, timeZone);
    zone.quarter = quarter;
  }
  const local = Math.floor(now / MINUTE_MS) + zone.offset;
  // 1970-01-01 was a Thursday.
  const weekday = ((((Math.floor(local / DAY_MINUTES) + 3) % 7) + 7) % 7) + 1;
  return { weekday, minutes: ((local % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES };
}

/** Minutes by which local time is ahead of UTC. */
const offsetMinutes = (instant: number, timeZone: string): number =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).offsetNanoseconds /
  (MINUTE_MS * 1_000_000);
