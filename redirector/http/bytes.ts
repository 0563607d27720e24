/** Bytes of HTTP heads: character classes, and fast comparison. */

export const CR = 13;
export const LF = 10;
export const SPACE = 32;
export const TAB = 9;
export const COLON = 58;
export const AMPERSAND = 38;
export const QUESTION_MARK = 63;
export const SLASH = 47;
export const ZERO = 48;
export const NINE = 57;

/**
 * Character classes (RFC 9110 §5.5, §5.6.2; a target may contain raw UTF-8, as browsers send it).
 */
export const TOKEN = 1;
export const TARGET = 2;
const VALUE = 4;

const CLASSES_OF_BYTES = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const character = String.fromCharCode(byte);
  CLASSES_OF_BYTES[byte] =
    (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(character) ? TOKEN : 0) |
    (byte > SPACE && byte !== 127 ? TARGET : 0) |
    (byte === TAB || (byte >= SPACE && byte !== 127) ? VALUE : 0);
}

/** Whether the byte at `at` belongs to a class. */
export const isInClass = (bytes: Buffer, at: number, characterClass: number): boolean =>
  ((CLASSES_OF_BYTES[bytes[at] ?? 0] ?? 0) & characterClass) !== 0;

/** Bytes to parse, up to `limit`; `words` reads the same bytes four at a time. */
export class ScanBuffer {
  readonly bytes: Buffer;
  readonly words: DataView;
  limit = 0;

  constructor(size: number) {
    this.bytes = Buffer.alloc(size);
    this.words = new DataView(this.bytes.buffer, this.bytes.byteOffset, size);
  }
}

const WORD = 4;

/** Returns the position of the first byte that may not be in a field's value. */
export function findValueEnd({ bytes, words, limit }: ScanBuffer, from: number): number {
  let at = from;
  // Eight bytes per iteration: control characters are rare.
  while (at + 2 * WORD <= limit) {
    const found =
      findControls(words.getInt32(at, true)) | findControls(words.getInt32(at + WORD, true));
    if (found !== 0) break;
    at += 2 * WORD;
  }
  while (at < limit && isInClass(bytes, at, VALUE)) at++;
  return at;
}

/**
 * Finds control characters, which are bytes below 32 and 127, in four bytes: sets the high bit of
 * each. With the high bits masked out, adding 1 sets the high bit of 127, and adding 96 leaves the
 * high bit of bytes below 32 clear; neither carries into the next byte (after Anderson, Bit
 * Twiddling Hacks, "determine if a word has a byte less than n").
 */
function findControls(word: number): number {
  const low = word & 0x7f7f7f7f;
  return ((low + 0x01010101) | ~(low + 0x60606060)) & ~word & 0x80808080;
}

/** A field name in lower case as words of four bytes; the last word may overlap the one before. */
export type FieldName = readonly number[];

/** Encodes a lower-case name of four or more letters, digits or hyphens: {@link hasFieldName}. */
export const toFieldName = (lowerCase: string): FieldName =>
  Array.from({ length: Math.ceil(lowerCase.length / WORD) }, (_, i) =>
    Buffer.from(lowerCase).readInt32LE(Math.min(i * WORD, lowerCase.length - WORD)),
  );

/** Whether the token at `at` is `expected`, of the same length; ignores case. */
export function hasFieldName(
  { words }: ScanBuffer,
  at: number,
  length: number,
  expected: FieldName,
): boolean {
  const last = expected.length - 1;
  for (let i = 0; i <= last; i++) {
    const word = words.getInt32(i < last ? at + i * WORD : at + length - WORD, true);
    // Lower-cases letters; it makes no other token character equal to one of these names'
    // characters.
    if ((word | 0x20202020) !== expected[i]) return false;
  }
  return true;
}

/** Whether the bytes at `at` equal `text`; false for an empty text. */
export function equalsText(bytes: Buffer, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return text !== "";
}

/** Decodes bytes one character each; everything in a head that this code interprets is ASCII. */
export const decodeLatin1 = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString("latin1", start, end);
