/** Fields and schemas that several resources share. */
import * as z from "zod";

import { CREATED_AT, EXPIRES_AT } from "../../shared/contracts/examples.ts";
import { ERROR_CODES, invalidField } from "./errors.ts";

/** The schema of a text, with an example for the document; {@link count} and others likewise. */
export const text = (description: string, example: string) =>
  z.string().meta({ description, examples: [example] });

export const count = (description: string, example: number) =>
  z.int().meta({ description, examples: [example] });

export const instant = (description: string, example: string) =>
  z.iso.datetime().meta({ description, examples: [example] });

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

/** The fields that a request has: one that is left out, and so undefined, is not there. */
export const presentFields = <Fields extends object>(fields: Fields) =>
  // The same fields, or fewer.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>;
  };

/** The response of an operation that returns no resource. */
export const successResponse = z
  .object({
    success: z
      .boolean()
      .meta({ description: "Always true: failures are errors.", examples: [true] }),
    message: text("A sentence for people.", "The link has been deleted."),
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

export const createdAt = instant("When it was created.", CREATED_AT);

export const updatedAt = instant("When it was last changed.", CREATED_AT);

export const expiresAt = z.iso
  .datetime()
  .nullable()
  .meta({ description: "When it expires; null for never.", examples: [EXPIRES_AT] });

export const hasPassword = z
  .boolean()
  .meta({ description: "Whether visitors must enter a password.", examples: [false] });

const errorCode = z.enum(ERROR_CODES).meta({
  description:
    "A stable code for programs. New codes may be added: treat an unknown one by the status.",
  examples: ["invalid_request"],
  override: ({ jsonSchema }) => {
    // New codes may be added, so clients must accept unknown ones.
    delete jsonSchema.enum;
    jsonSchema["x-extensible-enum"] = ERROR_CODES;
  },
});

const message = text("A sentence for people; its wording may change.", "url is required.");

const param = text(
  "The field or query parameter that the error is about, with dots for fields of fields.",
  "url",
);

const errorDetail = z
  .object({ param, message })
  .meta({ id: "ErrorDetail", description: "One of several problems of a request." });

const details = z
  .array(errorDetail)
  .optional()
  .meta({ description: "Every problem that was found in the request, at most 20." });

export const entryError = z
  .object({ code: errorCode, message, param: param.optional(), details })
  .meta({ description: "What went wrong." });

export const errorResponse = z
  .object({
    error: z
      .object({
        code: errorCode,
        message,
        retry_after: z
          .int()
          .optional()
          .meta({
            description: "Whole seconds to wait before a retry; only with `rate_limited`.",
            examples: [42],
          }),
        param: param.optional(),
        details,
        doc_url: z
          .string()
          .optional()
          .meta({
            description: "A page that explains the code; not with `not_found`.",
            examples: ["https://api.example.com/docs/errors#invalid_request"],
          }),
      })
      .meta({ description: "What went wrong." }),
  })
  .meta({ id: "ApiError", description: "The body of every error." });
