/** Texts of messages: escaped, and cut to what the receiver accepts. */

const ELLIPSIS = "…";

/**
 * Escapes a text, character by character, and ends it with an ellipsis where the result would be
 * longer than `lengthMax`: no escape is cut in half.
 */
export function escapeWithin(
  text: string,
  lengthMax: number,
  escape: (character: string) => string,
): string {
  let escaped = "";
  /** Up to where an ellipsis still has room. */
  let cut = "";
  for (const character of text) {
    escaped += escape(character);
    if (escaped.length > lengthMax) return cut + ELLIPSIS;
    if (escaped.length < lengthMax) cut = escaped;
  }
  return escaped;
}

/** Joins lines as long as there is room for them. */
export function joinWithin(lines: readonly string[], lengthMax: number): string {
  let text = "";
  for (const line of lines) {
    const next = text === "" ? line : `${text}\n${line}`;
    if (next.length > lengthMax) break;
    text = next;
  }
  return text;
}
