/**
 * Requests for many links at once: each row is validated separately, and the response has one entry
 * for each.
 */
import * as z from "zod";

import {
  BULK_LINKS_MAX,
  BULK_PASSWORDS_MAX,
  createLinkBody,
  updateLinkBody,
} from "../../../shared/contracts/link-schemas.ts";
import { type ApiError, ERROR_CODES } from "../../http/errors.ts";
import type { LinkRow } from "../model.ts";
import { createdLink, fullLink } from "../responses.ts";
import type { LinkResult } from "../results.ts";

/**
 * A list whose rows are validated separately. It accepts any row, and is documented as a list of
 * `row`s. Invalid rows are found later, so that they do not fail the others.
 */
const rowsOf = <Row extends z.ZodType>(row: Row) =>
  z
    .array(
      z.union([row, z.unknown()]).meta({
        override: ({ jsonSchema }) => {
          const [documented] = jsonSchema.anyOf ?? [];
          delete jsonSchema.anyOf;
          Object.assign(jsonSchema, documented);
        },
      }),
    )
    .min(1)
    .max(BULK_LINKS_MAX)
    .refine(
      (rows) => rows.filter(hasPassword).length <= BULK_PASSWORDS_MAX,
      `at most ${BULK_PASSWORDS_MAX} links with a password at once`,
    )
    .meta({
      description: `At most ${BULK_PASSWORDS_MAX} of them with a password; each counts against the account's budget of passwords.`,
    });

const hasPassword = (row: unknown): boolean =>
  typeof row === "object" && row !== null && "password" in row && typeof row.password === "string";

export const bulkCreateBody = z
  .strictObject({ links: rowsOf(createLinkBody) })
  .meta({ id: "NewLinks" });

/** An update of one of several links. */
export const bulkChange = updateLinkBody
  .extend({ id: z.string() })
  .meta({ id: "LinkChangeOfMany" });

export const bulkUpdateBody = z
  .strictObject({ links: rowsOf(bulkChange) })
  .meta({ id: "LinkChanges" });

export const bulkDeleteBody = z
  .strictObject({ ids: z.array(z.string()).min(1).max(BULK_LINKS_MAX) })
  .meta({ id: "LinkDeletions" });

const rowError = z.object({
  code: z.enum(ERROR_CODES),
  message: z.string(),
  param: z.string().optional(),
  details: z.array(z.object({ param: z.string(), message: z.string() })).optional(),
});

const entriesOf = <Entry extends z.ZodRawShape>(entry: Entry) =>
  z
    .array(
      z.union([
        z.object({ index: z.int(), ...entry }),
        z.object({ index: z.int(), error: rowError }),
      ]),
    )
    .meta({ description: "One entry per row, in the order of the request." });

export const bulkCreateResponse = z
  .object({ data: entriesOf({ link: createdLink }), created: z.int(), failed: z.int() })
  .meta({ id: "BulkLinks" });

export const bulkCheckResponse = z
  .object({
    data: entriesOf({
      valid: z.literal(true).meta({ description: "The link could be created." }),
    }),
    valid: z.int().meta({ description: "How many links could be created.", examples: [1] }),
    failed: z.int(),
  })
  .meta({ id: "BulkCheck", description: "What was found about each link; none was created." });

export const bulkUpdateResponse = z
  .object({ data: entriesOf({ link: fullLink }), updated: z.int(), failed: z.int() })
  .meta({ id: "BulkChanges" });

export const bulkDeleteResponse = z
  .object({ data: entriesOf({ id: z.string() }), deleted: z.int(), failed: z.int() })
  .meta({ id: "BulkDeletions" });

/** The entries of a response, and how many failed. */
export function toEntries<Entry extends object>(
  results: readonly LinkResult[],
  toEntry: (link: LinkRow) => Entry,
) {
  const data = results.map((result, index) => {
    if ("link" in result) return { index, ...toEntry(result.link) };
    return { index, error: toRowError(result.error) };
  });
  const failed = results.filter((result) => "error" in result).length;
  return { data, failed, succeeded: results.length - failed };
}

/** The response to a check: an error of each row that could not be created. */
export function toCheckResponse(errors: readonly (ApiError | undefined)[]) {
  const data = errors.map((error, index) =>
    error === undefined ? { index, valid: true as const } : { index, error: toRowError(error) },
  );
  const failed = errors.filter((error) => error !== undefined).length;
  return { data, valid: errors.length - failed, failed };
}

const toRowError = ({ reason: code, message, param, details }: ApiError) => ({
  code,
  message,
  ...(param === undefined ? {} : { param }),
  ...(details === undefined ? {} : { details: [...details] }),
});
