/**
 * ClickHouse's format TabSeparated (https://clickhouse.com/docs/interfaces/formats/TabSeparated),
 * and a writer of such text as bytes.
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

/** More than the digits of any integer of a `number`. */
const DIGITS_MAX = 20;

const ZERO = 48;

/** Appends text to a buffer, which grows as needed, without intermediate strings. */
export class TextWriter {
  #buffer: Buffer;
  #end = 0;

  /** The buffer has `capacity` bytes at first. */
  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(capacity, DIGITS_MAX));
  }

  bytes(part: Uint8Array): void {
    this.#reserve(part.length);
    this.#buffer.set(part, this.#end);
    this.#end += part.length;
  }

  /** Appends a text of ASCII characters. */
  ascii(text: string): void {
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) this.#buffer[this.#end++] = text.charCodeAt(i);
  }

  /** Appends an integer >= 0 in decimal digits. */
  integer(value: number): void {
    this.#reserve(DIGITS_MAX);
    let digits = 1;
    for (let limit = 10; value >= limit; limit *= 10) digits++;
    let rest = value;
    for (let at = this.#end + digits - 1; at >= this.#end; at--) {
      const next = Math.floor(rest / 10);
      this.#buffer[at] = ZERO + (rest - next * 10);
      rest = next;
    }
    this.#end += digits;
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#end);
  }

  #reserve(length: number): void {
    if (this.#end + length <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, this.#end + length));
    larger.set(this.#buffer.subarray(0, this.#end));
    this.#buffer = larger;
  }
}
