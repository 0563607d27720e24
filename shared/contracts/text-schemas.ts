/** Schemas of texts and of instants in requests. */
import * as z from "zod";

import { composeLetters, hasControlCharacter } from "./text.ts";

/**
 * A text that is compared with those that people have written. Its letters are composed (NFC): what
 * looks alike is found and counted alike, however a device writes it. The length is checked first:
 * to compose letters of many marks takes a while.
 */
export const searchText = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax, { abort: true })
    .overwrite(composeLetters)
    // Composed letters may be more than before.
    .max(lengthMax);

const withoutControls = (text: z.ZodString) =>
  text.refine((text) => !hasControlCharacter(text), "must not hold control characters");

/** A single line of text, without control characters. */
export const plainText = (lengthMax: number) => withoutControls(searchText(lengthMax));

/** As {@link plainText}, of what programs compare: its letters stay as they are. */
export const exactText = (lengthMax: number) => withoutControls(z.string().max(lengthMax));

/**
 * A name by which a path addresses something. URLs resolve these two to another path, also
 * percent-encoded (URL Standard §4.4); every other text can be a segment.
 */
export const nameInPath = (text: z.ZodString) =>
  text
    .min(1)
    .refine(
      (name) => name !== "." && name !== "..",
      "must not be . or .., which URLs resolve to another path",
    );

/** Control characters of texts of several lines, which have line feeds and tabs. */
const CONTROL_IN_LINES = /(?![\n\t])\p{Cc}/u;

/** Several lines of text; lines end with a line feed, whatever the device writes. */
export const linesOfText = (lengthMax: number) =>
  z
    .string()
    .overwrite((text) => text.replaceAll(/\r\n?/g, "\n"))
    .max(lengthMax, { abort: true })
    .overwrite(composeLetters)
    .max(lengthMax)
    .refine((text) => !CONTROL_IN_LINES.test(text), "must not hold control characters");

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

/**
 * An instant in ISO 8601, in its extended or basic form, also without seconds. Programs write
 * offsets without a colon (PHP, Python, Bitly) and without minutes (PostgreSQL); a query that is
 * not encoded has a blank for the plus sign.
 */
const INSTANT =
  /^(\d{4})-?(\d\d)-?(\d\d)[t ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?(?:z|(?: ?([+-])| )(\d\d)(?::?(\d\d))?)$/i;

/** An instant as RFC 3339 and `Date` have it; another text stays as it is. */
export function normalizeInstant(text: string): string {
  const parts = INSTANT.exec(text);
  if (parts === null) return text;
  const [, year, month, day, hour, minute, second = "00", fraction, sign = "+", hours] = parts;
  const minutes = parts[10] ?? "00";
  const decimals = fraction === undefined ? "" : `.${fraction}`;
  const offset = hours === undefined ? "Z" : `${sign}${hours}:${minutes}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${decimals}${offset}`;
}

/** A date and time with `Z` or an offset. */
export const instant = z
  .string()
  .overwrite(normalizeInstant)
  .check(z.iso.datetime({ offset: true }))
  .refine(isWithinYears, "must be in the years 1 to 9999");
