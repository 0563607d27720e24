/** Cursors of lists: where a page ended, as text that clients only pass on. */
import type * as z from "zod";

import { invalidField } from "./errors.ts";

/** Characters of a cursor: the values of a breakdown have up to some hundred bytes. */
export const CURSOR_LENGTH_MAX = 8_192;

/** Writes what a page ended with. */
export const writeCursor = (position: unknown): string =>
  Buffer.from(JSON.stringify(position)).toString("base64url");

/** Reads a cursor; undefined without one. Throws `invalid_request` for a text that is none. */
export function readCursor<Position>(
  schema: z.ZodType<Position>,
  text: string | undefined,
): Position | undefined {
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
  } catch {
    throw invalidField("starting_after", "must be the next_cursor of this list in the same order");
  }
}
