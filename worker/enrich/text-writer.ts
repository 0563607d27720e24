/** Writes text as bytes, without intermediate strings. */

/** Appends to a buffer, which grows as needed. */
export type TextWriter = {
  bytes(part: Uint8Array): void;
  /** Appends a text of ASCII characters. */
  ascii(text: string): void;
  /** Appends an integer >= 0 in decimal digits. */
  integer(value: number): void;

  finish(): Buffer;
};

/** More than the digits of any integer of a `number`. */
const DIGITS_MAX = 20;

const ZERO = 48;

/** Creates a writer whose buffer has `capacity` bytes at first. */
export function createTextWriter(capacity: number): TextWriter {
  let buffer = Buffer.allocUnsafeSlow(Math.max(capacity, DIGITS_MAX));
  let end = 0;

  function reserve(length: number): void {
    if (end + length <= buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * buffer.length, end + length));
    larger.set(buffer.subarray(0, end));
    buffer = larger;
  }

  return {
    bytes(part) {
      reserve(part.length);
      buffer.set(part, end);
      end += part.length;
    },
    ascii(text) {
      reserve(text.length);
      for (let i = 0; i < text.length; i++) buffer[end++] = text.charCodeAt(i);
    },
    integer(value) {
      reserve(DIGITS_MAX);
      let digits = 1;
      for (let limit = 10; value >= limit; limit *= 10) digits++;
      let rest = value;
      for (let at = end + digits - 1; at >= end; at--) {
        const next = Math.floor(rest / 10);
        buffer[at] = ZERO + (rest - next * 10);
        rest = next;
      }
      end += digits;
    },
    finish: () => buffer.subarray(0, end),
  };
}
