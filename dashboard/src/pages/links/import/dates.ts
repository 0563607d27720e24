/**
 * Reads dates as people write them: `31.12.2026`, `12/31/2026 14:30`. Dots mean that the day is
 * first; of other dates that could be read in two ways, the user is asked for the order.
 */

export const DATE_ORDERS = ["day", "month"] as const;
/** What comes first in a date. */
export type DateOrder = (typeof DATE_ORDERS)[number];

const DATE =
  /^(?<first>\d{1,2})(?<mark>[./-])(?<second>\d{1,2})\k<mark>(?<year>\d{4})(?:,?[T ]+(?<time>\d{1,2}:\d{2}(?::\d{2})?))?$/;

const MONTHS = 12;

/** The order that a date can only have; `either` if it can be read in two ways. */
function orderOf(text: string): DateOrder | "either" | undefined {
  const { first, second, mark } = DATE.exec(text)?.groups ?? {};
  if (first === undefined) return undefined;
  if (mark === "." || Number(first) > MONTHS) return "day";
  if (Number(second) > MONTHS) return "month";
  // The first of January is the same in both.
  return first === second ? "day" : "either";
}

/** Returns the date as `YYYY-MM-DD`, with its time of day; undefined if it cannot be read. */
export function normalizeOrder(text: string, order: DateOrder | undefined): string | undefined {
  const found = orderOf(text);
  const used = found === "either" ? order : found;
  const { first = "", second = "", year, time } = DATE.exec(text)?.groups ?? {};
  if (used === undefined || year === undefined) return undefined;
  const [month, day] = used === "day" ? [second, first] : [first, second];
  const clock = time === undefined ? "" : ` ${time.padStart(time.length < 6 ? 5 : 8, "0")}`;
  return `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}${clock}`;
}

/** Whether some of the dates can be read in two ways, and the order that the others show. */
export function findDateOrder(texts: Iterable<string>): {
  isAmbiguous: boolean;
  order: DateOrder | undefined;
} {
  const found = new Set<string>();
  for (const text of texts) {
    // What dots say of a file is nothing about its slashes.
    if (!text.includes(".")) found.add(orderOf(text.trim()) ?? "");
  }
  const [only, ...others] = DATE_ORDERS.filter((order) => found.has(order));
  return { isAmbiguous: found.has("either"), order: others.length === 0 ? only : undefined };
}
