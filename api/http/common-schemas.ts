/** Fields and schemas that several resources share. */
import * as z from "zod";

import { CREATED_AT, EXPIRES_AT } from "../../shared/contracts/examples.ts";
import { invalidField } from "./errors.ts";

/**
 * Parses an instant that must lie in the future; returns null for no instant. Throws
 * `invalid_request`.
 */
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
export const successResponse = z
  .object({
    success: z
      .boolean()
      .meta({ description: "Always true: failures are errors.", examples: [true] }),
    message: z
      .string()
      .meta({ description: "A sentence for people.", examples: ["The link has been deleted."] }),
  })
  .meta({
    id: "Confirmation",
    description: "The response of an operation that returns no resource.",
  });

/**
 * An id as a parameter, by the TypeID specification: a prefix, and a UUIDv7 in Crockford's base 32.
 * The schema only documents its form: a malformed id is `not_found`, like an unknown one.
 */
export const idParameter = (prefix: string, description: string, example: string) =>
  z.string().meta({
    description,
    examples: [example],
    pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
    maxLength: prefix.length + 27,
  });

export const createdAt = z.iso
  .datetime()
  .meta({ description: "When it was created.", examples: [CREATED_AT] });

export const updatedAt = z.iso
  .datetime()
  .meta({ description: "When it was last changed.", examples: [CREATED_AT] });

export const expiresAt = z.iso
  .datetime()
  .nullable()
  .meta({ description: "When it expires; null for never.", examples: [EXPIRES_AT] });

export const hasPassword = z
  .boolean()
  .meta({ description: "Whether visitors must enter a password.", examples: [false] });
