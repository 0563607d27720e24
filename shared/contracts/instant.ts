/** Instants in requests. */
import * as z from "zod";

/**
 * The instants that every store and every response can write: those whose year in UTC has four
 * digits and is not 0.
 */
const EARLIEST = Date.parse("0001-01-01T00:00:00Z");
const LATEST = Date.parse("9999-12-31T23:59:59.999Z");

/** Accepts text that is no date: the schema before this check rejects it. */
const isWithinYears = (text: string): boolean => {
  const instant = Date.parse(text);
  return !(instant < EARLIEST || instant > LATEST);
};

/** A date and time with `Z` or an offset. */
export const instant = z.iso
  .datetime({ offset: true })
  .refine(isWithinYears, "must be in the years 1 to 9999");
