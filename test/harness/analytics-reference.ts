/**
 * A reference for analytics: random clicks around clock changes and midnights, and what they amount
 * to, counted one by one with another time zone library.
 */
import fc from "fast-check";
import { DateTime } from "luxon";

import { decodeId } from "../../shared/ids.ts";
import { RepairLock } from "../../worker/repairs.ts";
import { withPostgres } from "./admin.ts";
import { eventually } from "./eventually.ts";
import type { SharedStack } from "./stack.ts";

export const DAY_MS = 86_400_000;

/** How long a repair of the worker's may hold its lock. */
const REPAIRED_MS = 10_000;

export const ZONES =
  `UTC Asia/Kathmandu Australia/Lord_Howe Africa/Cairo America/Santiago Asia/Kolkata
  America/St_Johns Pacific/Apia Pacific/Chatham Europe/Berlin America/New_York Asia/Tokyo
  Pacific/Kiritimati America/Caracas Asia/Tehran`.split(/\s+/);

/** Instants at which clocks change in one of these zones. */
const CHANGES = `2024-04-06T15:00Z 2025-04-05T15:00Z 2025-04-24T22:00Z 2025-09-07T04:00Z
  2025-09-27T14:00Z 2025-10-30T21:00Z 2026-03-08T07:00Z 2026-03-29T01:00Z 2026-04-04T14:00Z
  2026-04-23T22:00Z 2026-10-25T01:00Z 2026-11-01T06:00Z`
  .split(/\s+/)
  .map((text) => Date.parse(text));

/** Region and city within their country: there is more than one Springfield. */
const PLACES = [
  ["DE", "BE", "Berlin", "Berlin"],
  ["DE", "BY", "Bavaria", "Munich"],
  ["US", "IL", "Illinois", "Springfield"],
  ["US", "MA", "Massachusetts", "Springfield"],
  ["FR", "IDF", "Île-de-France", "Paris"],
  ["ZZ", "", "", ""],
] as const;

export type Click = {
  at: number;
  link: number;
  class: "human" | "bot" | "prefetch";
  visitor: number;
  place: (typeof PLACES)[number];
  browser: string;
  os: string;
  device: string;
  referrer: string;
  referrer_path: string;
  language: string;
  host: string;
  trigger: string;
  imported: string;
  utm_source: string;
  utm_medium: string;
  utm_campaign: string;
};

/**
 * Clicks of a number of links around clock changes, around midnights of some zone, and recent ones.
 */
export const anyClick = (now: number, links: number): fc.Arbitrary<Click> =>
  fc.record({
    at: fc
      .oneof(
        fc
          .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -DAY_MS, max: DAY_MS }))
          .map(([change, off]) => change + off),
        fc
          .tuple(fc.integer({ min: 0, max: 900 }), fc.integer({ min: -50, max: 50 }))
          .map(([day, off]) => Math.floor(now / DAY_MS - day) * DAY_MS + off * 900_000 + off),
        fc.integer({ min: now - 3 * DAY_MS, max: now }),
        fc.integer({ min: now - 90 * DAY_MS, max: now }),
      )
      .map((at) => Math.min(at, now)),
    link: fc.integer({ min: 0, max: links - 1 }),
    class: fc.constantFrom("human", "human", "human", "bot", "prefetch"),
    visitor: fc.integer({ min: 1, max: 300 }),
    place: fc.constantFrom(...PLACES),
    browser: fc.constantFrom("Chrome", "Firefox", "Safari", "Unknown"),
    os: fc.constantFrom("Windows", "macOS", "Android", "iOS"),
    device: fc.constantFrom("mobile", "desktop", "tablet", "other"),
    referrer: fc.constantFrom("direct", "google.com", "example.co.uk", "a.example"),
    referrer_path: fc.constantFrom("", "/news", "/a,b"),
    language: fc.constantFrom("", "de", "en"),
    host: fc.constantFrom("sho.rt", "go.example.com"),
    trigger: fc.constantFrom("link", "qr"),
    imported: fc.constantFrom("no", "yes"),
    utm_source: fc.constantFrom("", "newsletter", "-minus", "\\slash"),
    utm_medium: fc.constantFrom("", "email"),
    utm_campaign: fc.constantFrom("", "summer", "Unknown"),
  });

/** The columns of a click's place. */
export const placeOf = ({ place: [country, region, region_name, city] }: Click) => ({
  continent: CONTINENTS[country],
  country,
  region,
  region_name,
  city,
});

const CONTINENTS = { DE: "EU", FR: "EU", US: "NA", ZZ: "" } as const;

/**
 * Inserts into ClickHouse as a query over HTTP does. Meanwhile the worker repairs nothing: it
 * compares between its own inserts, and would take rows that are in `clicks` and not yet in a
 * rollup for a difference.
 */
export const insert = (stack: SharedStack, query: string, body: string): Promise<void> =>
  withPostgres(stack, async (sql) => {
    const url = `${stack.info().clickhouse_url}/?query=${encodeURIComponent(query)}`;
    const lock = await eventually(() => RepairLock.take(sql), REPAIRED_MS);
    try {
      const response = await fetch(url, { method: "POST", body });
      if (!response.ok) throw new Error(await response.text());
    } finally {
      lock.release();
    }
  });

/** Stores clicks of an account's links, given by their UUIDs. */
export async function insertClicks(
  stack: SharedStack,
  accountId: string,
  links: readonly string[],
  clicks: readonly Click[],
): Promise<void> {
  const account_id = decodeId("acct", accountId) ?? "";
  const rows = clicks.map((clicked, idx) => {
    const { at, link, visitor, place: _, imported, ...click } = clicked;
    return {
      ...click,
      ...placeOf(clicked),
      ts: at,
      link_id: links[link],
      account_id,
      mode: "live",
      import: imported === "yes" ? 3 : 0,
      // Visitor ids are scoped to a link.
      // 0 is nobody.
      visitor: link * 1_000 + visitor + 1,
      journal_id: account_id,
      segment: 0,
      idx: idx % 60_000,
    };
  });
  for (let start = 0; start < rows.length; start += 2_000) {
    const lines = rows.slice(start, start + 2_000).map((row) => JSON.stringify(row));
    await insert(stack, "INSERT INTO clicks FORMAT JSONEachRow", lines.join("\n"));
  }
}

export type Query = {
  period?: string;
  start_date?: string;
  end_date?: string;
  timezone?: string;
};

type Day = { start: number; label: string };

/** The days of zones, by luxon: asking it about each click would take most of a test's time. */
const DAYS = new Map<string, Day[]>();

/**
 * The local days of a zone in which clicks can be or ranges and what they are compared with can
 * end.
 */
function readDays(zone: string): Day[] {
  const known = DAYS.get(zone);
  if (known !== undefined) return known;
  const days: Day[] = [];
  const end = DateTime.now().plus({ years: 2 });
  let day = DateTime.fromISO("2019-01-01", { zone }).startOf("day");
  for (; day < end; day = day.plus({ days: 1 }).startOf("day"))
    days.push({ start: day.toMillis(), label: day.toISODate() ?? "" });
  DAYS.set(zone, days);
  return days;
}

/** Finds the day of an instant: the last one that started before or at it. */
function findDay(days: readonly Day[], at: number): number {
  if (at < (days[0]?.start ?? Infinity)) throw new Error(`No days are known at ${at}.`);
  let [first, next] = [0, days.length];
  while (next - first > 1) {
    const middle = (first + next) >> 1;
    if ((days[middle]?.start ?? Infinity) <= at) first = middle;
    else next = middle;
  }
  return first;
}

export type Span = { from: number; to: number; labels: string[]; labelOf: (at: number) => string };

/** The range and axis of a query, by luxon's rules. */
export function toSpan(
  { period, start_date, end_date, timezone }: Query,
  created: number,
  now: number,
): Span {
  const zone = timezone ?? "UTC";
  const here = DateTime.fromMillis(now, { zone });
  if (start_date === undefined && end_date === undefined && period === "24h") {
    const labelOf = (at: number) =>
      DateTime.fromMillis(at, { zone }).startOf("hour").toFormat("yyyy-MM-dd'T'HH:mm");
    const first = here.startOf("hour").minus({ hours: 23 });
    const labels = Array.from({ length: 24 }, (_, i) =>
      labelOf(first.plus({ hours: i }).toMillis()),
    );
    return { from: first.toMillis(), to: first.plus({ hours: 24 }).toMillis(), labels, labelOf };
  }
  const days = readDays(zone);
  const dayOf = (at: number) => days[findDay(days, at)] ?? { start: NaN, label: "" };
  const labelOf = (at: number) => dayOf(at).label;
  const bound = (text: string, side: "start" | "end") => {
    if (text.length > 10) return Date.parse(text);
    const day = DateTime.fromISO(text, { zone }).startOf("day");
    return (side === "start" ? day : day.plus({ days: 1 }).startOf("day")).toMillis();
  };
  let [from, to] = [0, here.plus({ days: 1 }).startOf("day").toMillis()];
  if (start_date !== undefined || end_date !== undefined) {
    to = end_date === undefined ? now : bound(end_date, "end");
    const first = DateTime.fromMillis(to - 1, { zone }).minus({ days: 29 });
    from = start_date === undefined ? first.startOf("day").toMillis() : bound(start_date, "start");
  } else if (period === "all") {
    from = dayOf(created).start;
  } else {
    const count = { "7d": 7, "30d": 30, "90d": 90 }[period ?? "30d"] ?? 30;
    from = here
      .startOf("day")
      .minus({ days: count - 1 })
      .startOf("day")
      .toMillis();
  }
  const labels = days
    .slice(findDay(days, from))
    .filter(({ start }) => start < to)
    .map(({ label }) => label);
  return { from, to, labels, labelOf };
}

const isMidnight = (at: DateTime): boolean => at.startOf("day").toMillis() === at.toMillis();

/**
 * The same local time a year earlier; of a day that begins at another time than midnight, the start
 * of that day.
 */
function yearBefore(at: DateTime): DateTime {
  const before = at.minus({ years: 1 });
  return isMidnight(at) ? before.startOf("day") : before;
}

/** The span that a span is compared with: while it lasts, up to the same moment as `now`. */
export function comparedSpan(query: Query, span: Span, kind: string, now: number): Span {
  const zone = query.timezone ?? "UTC";
  const [from, to, at] = [span.from, span.to, Math.max(now, span.from)].map((instant) =>
    DateTime.fromMillis(instant, { zone }),
  );
  if (from === undefined || to === undefined || at === undefined) throw new Error("No span.");
  if (query.period === "24h") {
    // From the hour before, or from the last hour a year earlier.
    const last = kind === "previous" ? span.from - 1 : to.minus({ years: 1 }).toMillis() - 1;
    const before = toSpan(query, 0, last);
    return { ...before, to: before.to - (span.to - now) };
  }
  const [start, end] =
    kind === "year"
      ? [yearBefore(from), yearBefore(DateTime.min(at, to))]
      : previous(query, from, to, at);
  const custom = { start_date: start.toUTC().toISO() ?? "", end_date: end.toUTC().toISO() ?? "" };
  return toSpan({ timezone: zone, ...custom }, 0, now);
}

/** The start and the end of the period before, as far as the period has come `at` an instant. */
function previous({ period }: Query, from: DateTime, to: DateTime, at: DateTime) {
  if (!isMidnight(from) || !isMidnight(to)) {
    const start = from.minus({ milliseconds: to.toMillis() - from.toMillis() });
    return [start, DateTime.min(from, start.plus({ milliseconds: +at - +from }))] as const;
  }
  const daysTo = (instant: DateTime) =>
    Math.round(instant.startOf("day").diff(from.startOf("day"), "days").days);
  const areMonths = period === undefined && from.day === 1 && to.day === 1;
  const length = areMonths
    ? { months: (to.year - from.year) * 12 + to.month - from.month }
    : { days: daysTo(to) };
  const start = from.minus(length).startOf("day");
  if (at >= to) return [start, from] as const;
  const { hour, minute, second, millisecond } = at;
  const moment = start.plus({ days: daysTo(at) }).set({ hour, minute, second, millisecond });
  return [start, DateTime.min(from, moment)] as const;
}

export const countUnique = (found: readonly Click[]): number =>
  new Set(found.map(({ visitor, link }) => `${link} ${visitor}`)).size;

/** Totals and time series. Clicks are those of people, or of the given classes. */
export function summarize(
  found: readonly Click[],
  { labels, labelOf }: Span,
  hours: boolean,
  classes: readonly string[] = ["human"],
) {
  const counted = found.filter((click) => classes.includes(click.class));
  const byLabel = Map.groupBy(counted, ({ at }) => labelOf(at));
  return {
    summary: {
      total_clicks: counted.length,
      unique_clicks: countUnique(counted),
      avg_daily_clicks: Math.round(counted.length / (hours ? 1 : labels.length)),
      bot_clicks: found.filter((click) => click.class === "bot").length,
      prefetch_clicks: found.filter((click) => click.class === "prefetch").length,
    },
    clicks_over_time: labels.map((date) => {
      const clicksAt = byLabel.get(date) ?? [];
      return { date, clicks: clicksAt.length, unique: countUnique(clicksAt) };
    }),
  };
}

const DAY_TEXT = fc
  .integer({ min: 0, max: 800 })
  .map((day) => new Date(Date.parse("2024-09-01") + day * DAY_MS).toISOString().slice(0, 10));

/**
 * Instants near clock changes, in steps of so many quarters of an hour, and up to so many
 * milliseconds later.
 */
const instantText = (quarters: number, offMs: number) =>
  fc
    .tuple(
      fc.constantFrom(...CHANGES),
      fc.integer({ min: -200 / quarters, max: 200 / quarters }),
      fc.constantFrom(0, offMs),
    )
    .map(([at, steps, off]) => new Date(at + steps * quarters * 900_000 + off).toISOString());

/** Instants to the quarter of an hour or to the millisecond. */
const INSTANT_TEXT = fc.oneof(instantText(1, 0), instantText(1, 1), instantText(1, 123_457));

/** Both ends of a range: of whole hours, which tables hold, chance would hardly ever make two. */
const INSTANT_TEXTS = fc.oneof(
  fc.tuple(instantText(4, 0), instantText(4, 0)),
  fc.tuple(INSTANT_TEXT, INSTANT_TEXT),
);

/** Days of a zone in which its clocks change. */
const CHANGE_DAYS = ZONES.flatMap((timezone) =>
  CHANGES.map((at) => DateTime.fromMillis(at, { zone: timezone }))
    .filter((local) => local.offset !== local.minus(1).offset)
    .map((local) => ({ timezone, day: local.toISODate() ?? "" })),
);

/**
 * Local days of which the first or the last is one of {@link CHANGE_DAYS}: ends that chance hardly
 * ever finds.
 */
export const anyRangeToChange = fc
  .tuple(fc.constantFrom(...CHANGE_DAYS), DAY_TEXT)
  .map(([{ timezone, day }, other]): Query => {
    const [start_date = "", end_date = ""] = [day, other].toSorted();
    return { start_date, end_date, timezone };
  });

/** Days or instants from which to which a range is. */
export const anyDates = fc
  .oneof(fc.tuple(DAY_TEXT, DAY_TEXT), INSTANT_TEXTS)
  .map(([a, b]) => [a, b].toSorted())
  .filter(([a = "", b = ""]) => a.length === 10 || a < b)
  .map(([start_date = "", end_date = ""]) => ({ start_date, end_date }));

export const anyRange = fc.oneof(
  fc.record({ period: fc.constantFrom("24h", "7d", "30d", "90d", "all") }),
  anyDates,
);
