/**
 * Rules for text that people enter. Imports nothing, because the first page of the dashboard loads
 * them; schemas are in `text-schemas.ts`.
 */

/** Control characters, and bidirectional controls, which can make a text look like another one. */
const INVISIBLE = /[\p{Cc}\p{Bidi_Control}]/u;

export const hasControlCharacter = (text: string): boolean => INVISIBLE.test(text);

/**
 * A text of others, such as the title of a page, in one line and without what
 * {@link hasControlCharacter} finds: titles in Hebrew and Arabic often have marks of direction.
 */
export const toSingleLine = (text: string): string =>
  text
    .replaceAll(/\p{Bidi_Control}+/gu, "")
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim();

/**
 * Characters that nobody sees at an end of a text: white space, format characters such as the byte
 * order mark and marks of direction, fillers and other characters that Unicode wants ignored, the
 * place of an image (U+FFFC) that was copied as text, and the empty pattern of Braille.
 */
const UNSEEN = /^[\s\p{Cf}\p{Default_Ignorable_Code_Point}\ufffc\u2800]$/u;

/** Characters that belong to the visible one before them: a variation, the tags of a flag. */
const VARIATION = /^[\p{Extended_Pictographic}\p{Script=Han}]\p{Variation_Selector}/u;
const FLAG_TAGS = /^\u{1F3F4}[\u{E0020}-\u{E007E}]{1,6}\u{E007F}/u;

/**
 * Maximum invisible characters that are removed at an end, beside blanks: what is pasted has few.
 */
const UNSEEN_MAX = 256;

/** Removes what nobody sees from both ends of a text, but nothing of its last visible character. */
export function trimInvisible(text: string): string {
  let trimmed = text.trim();
  for (let i = 0; i < UNSEEN_MAX; i++) {
    const first = String.fromCodePoint(trimmed.codePointAt(0) ?? 0);
    if (!UNSEEN.test(first)) break;
    trimmed = trimmed.slice(first.length);
  }
  let end = trimmed.length;
  let last = characterBefore(trimmed, end);
  for (let i = 0; i < UNSEEN_MAX && UNSEEN.test(last); i++) {
    end -= last.length;
    last = characterBefore(trimmed, end);
  }
  if (end === trimmed.length) return trimmed;
  const tail = trimmed.slice(end - last.length);
  const [whole] = VARIATION.exec(tail) ?? FLAG_TAGS.exec(tail) ?? [last];
  return trimmed.slice(0, end - last.length + whole.length);
}

/** Texts without what nobody sees at their ends; those of which nothing is left are left out. */
export const trimEach = (texts: readonly string[]): string[] =>
  texts.map(trimInvisible).filter((text) => text !== "");

/** The character that ends at `end`: of two code units if these are a pair. */
function characterBefore(text: string, end: number): string {
  const pair = String.fromCodePoint(text.codePointAt(end - 2) ?? 0);
  return pair.length === 2 ? pair : text.charAt(end - 1);
}

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

/** More marks on a letter than any writing has (UAX #15, Stream-Safe Text Format). */
const OVERLOADED = /\p{M}{31}/u;

/**
 * Composes the letters of a text (NFC): what looks alike is then the same, however a device writes
 * it. A text with overloaded letters stays as it is: to order their marks takes time with the
 * square of their number.
 */
export const composeLetters = (text: string): string =>
  OVERLOADED.test(text) ? text : text.normalize("NFC");

/**
 * A password as it is hashed and compared (RFC 8265 §4.2.2): devices type an accent as a character
 * of its own or not, and further blanks beside that of the space bar. One that is pasted comes with
 * the blank, the line's end or the mark beside it in the message.
 */
export function preparePassword(typed: string): string {
  const text = composeLetters(typed.replaceAll(/\p{Zs}/gu, " "));
  // One of blanks alone stays what it is: nothing is no password.
  return trimInvisible(text) || text;
}

/** A name or value as it is stored and compared: what looks alike is one. "" for blanks. */
export const composeTrimmed = (text: string): string => composeLetters(trimInvisible(text));
