/** Rules for text that people enter. */
import * as z from "zod";

/** Control characters, and bidirectional controls, which can make a text look like another one. */
const INVISIBLE = /[\p{Cc}\p{Bidi_Control}]/u;

export const hasControlCharacter = (text: string): boolean => INVISIBLE.test(text);

/** A single line of text, without control characters. */
export const plainText = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .refine((text) => !hasControlCharacter(text), "must not hold control characters");

/**
 * Beginnings that a spreadsheet can interpret as a formula (OWASP, "CSV injection"): also in full
 * width, and after spaces and invisible characters, which some spreadsheets ignore.
 */
export const FORMULA = /^(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;

/**
 * Like {@link FORMULA}, also after the apostrophes that escape one: one more is added, so that
 * texts stay distinct.
 */
export const ESCAPED_FORMULA = /^'*(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;
