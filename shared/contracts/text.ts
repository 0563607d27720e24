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
 * Beginnings that a spreadsheet can interpret as a formula, also in full width (OWASP, "CSV injection"), and behind blanks
 * and invisible characters, which some leave out.
 */
export const FORMULA = /^(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;

/** As {@link FORMULA}, also behind the apostrophes that escape one: where these get one more, each text stays its own. */
export const ESCAPED_FORMULA = /^'*(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;
