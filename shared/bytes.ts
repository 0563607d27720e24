/** Parts of longer runs of bytes, so that what passes through need not be copied or made a text. */

/** A range of bytes; empty when start and end are equal. */
export type Span = { start: number; end: number };

/** A range of `bytes`. */
export type Passage = Span & { bytes: Buffer };

/** A passage of nothing, to be set. */
export const newPassage = (): Passage => ({ bytes: NOTHING, start: 0, end: 0 });

/** A passage that is a copy, and stays as it is. */
export const copyPassage = ({ bytes, start, end }: Passage): Passage =>
  passageOf(Buffer.from(bytes.subarray(start, end)));

/** The whole of `bytes`. */
export const passageOf = (bytes: Buffer): Passage => ({ bytes, start: 0, end: bytes.length });

/** A passage as text, each byte a character. */
export const passageText = ({ bytes, start, end }: Passage): string =>
  bytes.toString("latin1", start, end);

const NOTHING = Buffer.alloc(0);
