/**
 * Slices of buffers, so that data can be passed on without a copy or decoding; texts that are cut
 * without breaking a character.
 */

/** A range of bytes, `end` exclusive; empty when start and end are equal. */
export type ByteRange = { start: number; end: number };

export type ByteSlice = ByteRange & { bytes: Buffer };

/** Creates an empty slice, for the caller to set. */
export const emptySlice = (): ByteSlice => ({ bytes: EMPTY, start: 0, end: 0 });

/** Copies a slice into memory of its own, which nothing overwrites. */
export const copySlice = ({ bytes, start, end }: ByteSlice): ByteSlice =>
  toSlice(Buffer.from(bytes.subarray(start, end)));

/** Returns all of `bytes` as a slice. */
export const toSlice = (bytes: Buffer): ByteSlice => ({ bytes, start: 0, end: bytes.length });

/** Decodes a slice as Latin-1: each byte is one character. */
export const sliceToString = ({ bytes, start, end }: ByteSlice): string =>
  bytes.toString("latin1", start, end);

/** Cuts a text to `max` bytes of UTF-8 without splitting a character. */
export function truncateBytes(text: string, max: number): string {
  const bytes = Buffer.from(text);
  let end = Math.min(bytes.length, max);
  if (end === bytes.length) return text;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

const EMPTY = Buffer.alloc(0);

export const truncateText = (text: string, lengthMax: number): string =>
  text.slice(0, lengthMax).toWellFormed();
