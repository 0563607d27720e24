/** Fields and schemas that several resources share. */
import * as z from "zod";

import { invalidField } from "./errors.ts";

/** Parses an instant that must lie in the future; returns null for no instant. Throws `invalid_request`. */
export function futureInstant(
  field: string,
  text: string | null | undefined,
  now: Date,
): Date | null {
  if (text === null || text === undefined) return null;
  const instant = new Date(text);
  if (!(instant.getTime() > now.getTime())) {
    throw invalidField(field, "must be in the future");
  }
  return instant;
}

/** The response of an operation that returns no resource. */
export const successResponse = z.object({ success: z.boolean(), message: z.string() });

/** The path parameters of one resource. */
export const idParams = z.object({ id: z.string() });
