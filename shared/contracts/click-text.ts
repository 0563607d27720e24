/** The texts of a click, as a record contains them: u16 length, little-endian, and UTF-8 bytes. */
import type { ByteRange } from "../bytes.ts";

/** Maximum bytes stored of each text of a click. Longer texts are truncated, never rejected. */
export const CLICK_TEXT_BYTES_MAX = {
  address: 45,
  host: 255,
  userAgent: 512,
  referrer: 1024,
  language: 64,
  query: 512,
} as const;

/**
 * Up to this many characters, {@link writeText} copies ASCII itself instead of calling
 * `Buffer.write`.
 */
const ASCII_COPY_LENGTH_MAX = 40;

/**
 * Writes a text's length and UTF-8 bytes; `Buffer.write` truncates to `max` without splitting a
 * character. For short ASCII texts, such as addresses and hosts, a loop is faster than that call.
 */
export function writeText(target: Buffer, offset: number, text: string, max: number): number {
  if (text.length <= ASCII_COPY_LENGTH_MAX) {
    let end = offset + 2;
    let bits = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      bits |= code;
      target[end++] = code;
    }
    if (bits < 128) {
      target[offset] = text.length;
      target[offset + 1] = 0;
      return end;
    }
  }
  const length = target.write(text, offset + 2, max, "utf8");
  target.writeUInt16LE(length, offset);
  return offset + 2 + length;
}

/** Like {@link writeText} for UTF-8 bytes; also truncates without splitting a character. */
export function writeTextBytes(
  target: Buffer,
  offset: number,
  bytes: Buffer,
  range: ByteRange,
  max: number,
): number {
  const { start } = range;
  const length = truncatedLength(bytes, range, max);
  target.writeUInt16LE(length, offset);
  if (length > 0) bytes.copy(target, offset + 2, start, start + length);
  return offset + 2 + length;
}

/** The length of the longest beginning of a text in UTF-8 that has at most `max` bytes. */
export function truncatedLength(bytes: Buffer, { start, end }: ByteRange, max: number): number {
  let length = end - start;
  if (length > max) {
    length = max;
    while (length > 0 && ((bytes[start + length] ?? 0) & 0xc0) === 0x80) length--;
  }
  return length;
}

/** Returns the end of the part of a header value that a click keeps. */
export const clickTextEnd = (
  text: "userAgent" | "referrer",
  bytes: Buffer,
  range: ByteRange,
): number => range.start + truncatedLength(bytes, range, CLICK_TEXT_BYTES_MAX[text]);

/** Decodes a text whose UTF-8 bytes were decoded as Latin-1. */
export const decodeText = (latin1: string): string =>
  ASCII.test(latin1) ? latin1 : Buffer.from(latin1, "latin1").toString("utf8");

// oxlint-disable-next-line no-control-regex -- ASCII includes control characters.
const ASCII = /^[\x00-\x7f]*$/;
