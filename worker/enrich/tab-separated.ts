/**
 * ClickHouse's format TabSeparated (https://clickhouse.com/docs/interfaces/formats/TabSeparated).
 */

/**
 * Escapes a text as one field. Beyond what the format requires (backslash, tab, line feed), it
 * escapes a carriage return, which ClickHouse rejects at the end of a line, and a zero byte, which
 * ends a text in C.
 */
export const escapeField = (text: string): string =>
  SPECIAL.test(text)
    ? text.replaceAll(SPECIALS, (character) => ESCAPES.get(character) ?? character)
    : text;

/** The text of a field, as this module or ClickHouse has escaped it. */
export const unescapeField = (field: string): string =>
  field.includes("\\")
    ? field.replaceAll(/\\(.)/g, (_, character: string) => UNESCAPES.get(character) ?? character)
    : field;

const UNESCAPES: ReadonlyMap<string, string> = new Map([
  ["t", "\t"],
  ["n", "\n"],
  ["r", "\r"],
  ["0", "\0"],
  ["b", "\b"],
  ["f", "\f"],
]);

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\", "\\\\"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\0", "\\0"],
]);

// oxlint-disable no-control-regex -- Control characters are what must be escaped.
const SPECIAL = /[\\\t\n\r\0]/;
const SPECIALS = /[\\\t\n\r\0]/g;
