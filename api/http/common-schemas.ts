/** Fields and schemas that several resources share. */
import * as z from "zod";

import { component } from "../../shared/contracts/components.ts";
import { CREATED_AT, EXPIRES_AT } from "../../shared/contracts/examples.ts";
import { decodeId, type IdKind } from "../../shared/ids.ts";
import { ERROR_CODES, invalidField } from "./errors.ts";

/** The schema of a text, with an example for the document; {@link count} and others likewise. */
export const text = (description: string, example: string) =>
  z.string().meta({ description, examples: [example] });

export const count = (description: string, example: number) =>
  z.int().meta({ description, examples: [example] });

export const instant = (description: string, example: string) =>
  z.iso.datetime().meta({ description, examples: [example] });

export const items = <Item extends z.ZodType>(description: string, item: Item) =>
  z.array(item).meta({ description });

/** One of these values; the document has no example of it if that is left out. */
export const choice = <const Values extends readonly [string, ...string[]]>(
  description: string,
  values: Values,
  example?: Values[number],
) =>
  z
    .enum(values)
    .meta(example === undefined ? { description } : { description, examples: [example] });

export const flag = (description: string, example: boolean) =>
  z.boolean().meta({ description, examples: [example] });

export const textOrNull = (description: string, example: string | null) =>
  z
    .string()
    .nullable()
    .meta({ description, examples: [example] });

export const countOrNull = (description: string, example: number) =>
  z
    .int()
    .nullable()
    .meta({ description, examples: [example] });

export const instantOrNull = (description: string, example: string | null) =>
  z.iso
    .datetime()
    .nullable()
    .meta({ description, examples: [example] });

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
export const successResponse = component(
  "Confirmation",
  "The response of an operation that returns no resource.",
  {
    success: flag("Always true: failures are errors.", true),
    message: text("A sentence for people.", "The link has been deleted."),
  },
);

/** Responds with a {@link successResponse} once the operation is done. */
export async function confirmAfter(work: Promise<unknown>, message: string) {
  await work;
  return { success: true, message };
}

/** A whole number as a parameter of a query. */
export const wholeNumber = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

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

/** An {@link idParameter} of a path, decoded; undefined for a malformed one. */
export const idInPath = (kind: IdKind, description: string, example: string) =>
  // The input is documented.
  idParameter(kind, description, example).transform((text) => decodeId(kind, text));

export const createdAt = instant("When it was created.", CREATED_AT);

export const updatedAt = instant("When it was last changed.", CREATED_AT);

export const expiresAt = instantOrNull("When it expires; null for never.", EXPIRES_AT);

export const hasPassword = flag("Whether visitors must enter a password.", false);

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

const errorDetail = component("ErrorDetail", "One of several problems of a request.", {
  param,
  message,
});

const details = items(
  "Every problem that was found in the request, at most 20.",
  errorDetail,
).optional();

export const entryError = z
  .object({ code: errorCode, message, param: param.optional(), details })
  .meta({ description: "What went wrong." });

export const errorResponse = component("ApiError", "The body of every error.", {
  error: z
    .object({
      code: errorCode,
      message,
      retry_after: count(
        "Whole seconds to wait before a retry; only with `rate_limited`.",
        42,
      ).optional(),
      param: param.optional(),
      details,
      doc_url: text(
        "A page that explains the code; not with `not_found`.",
        "https://api.example.com/docs/errors#invalid_request",
      ).optional(),
    })
    .meta({ description: "What went wrong." }),
});
