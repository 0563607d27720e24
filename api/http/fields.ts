/** Rules that fields of several resources share. */
import * as z from "zod";

import { ApiError } from "./errors.ts";

/** Reads an instant that must lie in the future; null for none. Throws `invalid_request`. */
export function futureInstant(
  field: string,
  text: string | null | undefined,
  now: Date,
): Date | null {
  if (text === null || text === undefined) return null;
  const instant = new Date(text);
  if (!(instant.getTime() > now.getTime())) {
    throw new ApiError("invalid_request", `Invalid value for "${field}": must be in the future.`);
  }
  return instant;
}

/** The answer to what leaves nothing to show. */
export const doneAnswer = z.object({ success: z.boolean(), message: z.string() });

/** The path of one resource. */
export const idParams = z.object({ id: z.string() });
