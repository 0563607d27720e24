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
const VALUE = 4;

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

/** Bytes up to `limit`, and the same to be looked at four at a time. */
export type Scan = { bytes: Buffer; words: DataView; limit: number };

/** Room for `size` bytes to be scanned. */
export function newScan(size: number): Scan {
  const bytes = Buffer.alloc(size);
  return { bytes, words: new DataView(bytes.buffer, bytes.byteOffset, size), limit: 0 };
}

const WORD = 4;

/** Where what may stand in a field's value ends. */
export function valueEnd({ bytes, words, limit }: Scan, from: number): number {
  let at = from;
  // Twice as many at a time, as it is all the same as long as there is nothing to be seen.
  while (at + 2 * WORD <= limit) {
    const found = controls(words.getInt32(at, true)) | controls(words.getInt32(at + WORD, true));
    if (found !== 0) break;
    at += 2 * WORD;
  }
  while (at < limit && isA(bytes, at, VALUE)) at++;
  return at;
}

/**
 * Which of four bytes are below 32, or 127: their high bits. Without its own high bit, a byte has one after
 * the addition if it is 127, or is none the less without after the other if it is below 32; neither carries
 * into the next (after Anderson, Bit Twiddling Hacks, "determine if a word has a byte less than n").
 */
function controls(word: number): number {
  const low = word & 0x7f7f7f7f;
  return ((low + 0x01010101) | ~(low + 0x60606060)) & ~word & 0x80808080;
}

/** Four letters, digits or hyphens at a time, in lower case; the last four may repeat some. */
export type Name = readonly number[];

/** A name to be looked for: it has four characters at least. */
export const nameOf = (lower: string): Name =>
  Array.from({ length: Math.ceil(lower.length / WORD) }, (_, i) =>
    Buffer.from(lower).readInt32LE(Math.min(i * WORD, lower.length - WORD)),
  );

/** Whether the token at `at`, of `length` bytes, is `expected`, which is as long; case does not matter. */
export function isNamed({ words }: Scan, at: number, length: number, expected: Name): boolean {
  const last = expected.length - 1;
  for (let i = 0; i <= last; i++) {
    const word = words.getInt32(i < last ? at + i * WORD : at + length - WORD, true);
    // Of what tokens are made of, this makes letters alone what these names have.
    if ((word | 0x20202020) !== expected[i]) return false;
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
