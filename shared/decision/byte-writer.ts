/** Writes numbers and texts one after another, into memory that grows with them. */

const FIRST_BYTES = 1024;

export class ByteWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  u8(value: number): void {
    this.#at = this.#room(1).writeUInt8(value, this.#at);
  }

  u16(value: number): void {
    this.#at = this.#room(2).writeUInt16LE(value, this.#at);
  }

  f64(value: number): void {
    this.#at = this.#room(8).writeDoubleLE(value, this.#at);
  }

  /** Writes a text with its length in bytes. */
  text(text: string): void {
    this.u16(Buffer.byteLength(text));
    this.rest(text);
  }

  /** Writes a text whose end is known otherwise. */
  rest(text: string): void {
    this.#at += this.#room(3 * text.length).write(text, this.#at);
  }

  /** Has `write` write `length` bytes, however many that is, at an offset of a buffer. */
  raw(length: number, write: (bytes: Buffer, at: number) => void): void {
    write(this.#room(length), this.#at);
    this.#at += length;
  }

  /** Writes what `write` does, after its length and this length's own four bytes. */
  sized(write: () => void): void {
    const start = this.#at;
    this.raw(4, () => undefined);
    write();
    this.#bytes.writeUInt32LE(this.#at - start, start);
  }

  done(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  #room(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#at + length));
      larger.set(this.#bytes.subarray(0, this.#at));
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}

/** A number that {@link ByteWriter} wrote; manually, as the functions of buffers check more. */
export const u16At = (bytes: Buffer, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);

/** As {@link u16At}; less than 2 GiB. */
export const u32At = (bytes: Buffer, at: number): number =>
  u16At(bytes, at) | (u16At(bytes, at + 2) << 16);

/** Whether bytes are a text in UTF-8, without decoding them. */
export const isText = (bytes: Buffer, start: number, end: number, text: string): boolean =>
  prefixLength(bytes, start, end, text) === text.length;

/** How much of a text the bytes are, in UTF-8; -1 if the text does not begin with them. */
export function prefixLength(bytes: Buffer, start: number, end: number, text: string): number {
  let i = 0;
  for (let at = start; at < end; i++) {
    const byte = bytes[at++] ?? 0;
    if (byte < 0x80) {
      if (text.charCodeAt(i) !== byte) return -1;
      continue;
    }
    const following = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    let point = byte & (0x3f >> following);
    for (let k = 0; k < following; k++) point = (point << 6) | ((bytes[at++] ?? 0) & 0x3f);
    if (text.codePointAt(i) !== point) return -1;
    // Two units of UTF-16.
    if (following === 3) i++;
  }
  return i;
}
