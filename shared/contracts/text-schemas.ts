/** Schemas of texts and of instants in requests. */
import * as z from "zod";

import { hasControlCharacter } from "./text.ts";

/** A single line of text, without control characters. */
export const plainText = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .refine((text) => !hasControlCharacter(text), "must not hold control characters");

/** Control characters of texts of several lines, which have line feeds and tabs. */
const CONTROL_IN_LINES = /(?![\n\t])\p{Cc}/u;

/** Several lines of text; lines end with a line feed, whatever the device writes. */
export const linesOfText = (lengthMax: number) =>
  z
    .string()
    .overwrite((text) => text.replaceAll(/\r\n?/g, "\n"))
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

/** A date and time with `Z` or an offset. */
export const instant = z.iso
  .datetime({ offset: true })
  .refine(isWithinYears, "must be in the years 1 to 9999");
