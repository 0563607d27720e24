/** Bytes of HTTP heads: which may stand where, and how they are compared. */

export const CR = 13;
export const LF = 10;
export const SPACE = 32;
export const TAB = 9;
export const COLON = 58;
export const QUESTION_MARK = 63;
export const SLASH = 47;
export const ZERO = 48;
export const NINE = 57;

/** What a byte may be part of (RFC 9110 §5.5, §5.6.2; targets may hold raw UTF-8, as browsers send it). */
export const TOKEN = 1;
export const TARGET = 2;
export const VALUE = 4;

const CLASSES = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const character = String.fromCharCode(byte);
  CLASSES[byte] =
    (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(character) ? TOKEN : 0) |
    (byte > SPACE && byte !== 127 ? TARGET : 0) |
    (byte === TAB || (byte >= SPACE && byte !== 127) ? VALUE : 0);
}

export const isA = (bytes: Buffer, at: number, kind: number): boolean =>
  ((CLASSES[bytes[at] ?? 0] ?? 0) & kind) !== 0;

/** Whether the name at `at` is `expected`, which is in lower case and as long; case does not matter. */
export function named(bytes: Buffer, at: number, expected: string): boolean {
  for (let i = 0; i < expected.length; i++) {
    const byte = bytes[at + i] ?? 0;
    const lower = byte >= 65 && byte <= 90 ? byte | 32 : byte;
    if (lower !== expected.charCodeAt(i)) return false;
  }
  return true;
}

/** Whether the bytes at `at` are `text`, which must not be empty. */
export function equal(bytes: Buffer, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return text !== "";
}

/** Bytes as text, each a character: what is in a head means ASCII, or nothing to us. */
export const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString("latin1", start, end);
