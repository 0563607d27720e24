/** Cursors of lists: the end of a page, as opaque text for clients. */
import * as z from "zod";

import { CURSOR } from "../../shared/contracts/examples.ts";
import { invalidField } from "./errors.ts";

/** Maximum characters of a cursor: it can contain breakdown values of several hundred bytes. */
const CURSOR_LENGTH_MAX = 8_192;

/** The parameter that continues a list after its previous page. */
export const cursorParameter = (description = "The `next_cursor` of the previous page.") =>
  z
    .string()
    .max(CURSOR_LENGTH_MAX)
    .optional()
    .meta({ description, examples: [CURSOR] });

/** Encodes the position at which a page ended. */
export const writeCursor = (position: unknown): string =>
  Buffer.from(JSON.stringify(position)).toString("base64url");

/**
 * Decodes the cursor of a parameter; undefined without one. Throws `invalid_request` for an invalid
 * cursor.
 */
export function readCursor<Position>(
  schema: z.ZodType<Position>,
  text: string | undefined,
  parameter = "starting_after",
): Position | undefined {
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
  } catch {
    throw invalidField(parameter, "must be the next_cursor of this list in the same order");
  }
}
