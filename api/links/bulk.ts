/**
 * Requests for many links at once: each row is read and fails on its own, and the response has one
 * entry for each.
 */
import * as z from "zod";

import { component, strictComponent } from "../../shared/contracts/components.ts";
import { CUSTOM_DOMAIN, LINK_ID, LONG_URL } from "../../shared/contracts/examples.ts";
import {
  BULK_LINKS_MAX,
  BULK_PASSWORDS_MAX,
  newLinkBody,
  updateLinkBody,
} from "../../shared/contracts/link-schemas.ts";
import { decodeId, type Uuid } from "../../shared/ids.ts";
import { count, entryError, items, text } from "../http/common-schemas.ts";
import { type ApiError, invalidField, notFound } from "../http/errors.ts";
import { validateValue } from "../http/validation.ts";
import type { LinkRow } from "./model.ts";
import { fullLink, linkResponse } from "./responses.ts";
import { type Creation, type Failure, type LinkResult, toFailure, type Update } from "./results.ts";

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
      description: `The links, at most ${BULK_PASSWORDS_MAX} of them with a password; each password counts against the account's budget of passwords.`,
    });

const hasPassword = (row: unknown): boolean =>
  typeof row === "object" && row !== null && "password" in row && typeof row.password === "string";

export const bulkCreateBody = z.strictObject({ links: rowsOf(newLinkBody) }).meta({
  id: "NewLinks",
  description: "Links to create at once.",
  examples: [{ links: [{ url: LONG_URL }, { url: "https://example.com/shoes", alias: "shoes" }] }],
});

const bulkChange = updateLinkBody
  .extend({
    id: text("The id of the link to change.", LINK_ID),
    domain: newLinkBody.shape.domain.meta({
      description:
        "The domain to move the link to: a verified one of the account, or null for the service's own. Its alias goes with it, and the old short URL ends.",
      examples: [CUSTOM_DOMAIN],
    }),
  })
  .meta({ id: "LinkChangeOfMany", description: "A link, and the fields of it to change." });

export const bulkUpdateBody = z.strictObject({ links: rowsOf(bulkChange) }).meta({
  id: "LinkChanges",
  description: "Links to change at once.",
  examples: [{ links: [{ id: LINK_ID, title: "Spring sale, extended" }] }],
});

export const bulkDeleteBody = strictComponent("LinkDeletions", "Links to delete at once.", {
  ids: z
    .array(z.string())
    .min(1)
    .max(BULK_LINKS_MAX)
    .meta({
      description: "The ids of the links to delete, without duplicates.",
      examples: [[LINK_ID]],
    }),
});

const index = count("The position in the request, from 0.", 0);

const failed = count("How many entries failed.", 1);

/** How many entries succeeded. */
const countOf = (description: string) => z.int().meta({ description, examples: [99] });

const entriesOf = <Entry extends z.ZodRawShape>(entry: Entry) =>
  items(
    "One entry per row, in the order of the request.",
    z.union([z.object({ index, ...entry }), z.object({ index, error: entryError })]),
  );

export const bulkCreateResponse = component(
  "BulkLinks",
  "The outcome of each link of a bulk request.",
  {
    data: entriesOf({ link: linkResponse.meta({ description: "The link." }) }),
    created: countOf("How many links were created."),
    failed,
  },
);

export const bulkCheckResponse = component(
  "BulkCheck",
  "What was found about each link; none was created.",
  {
    data: entriesOf({
      valid: z.literal(true).meta({ description: "The link could be created." }),
    }),
    valid: count("How many links could be created.", 1),
    failed,
  },
);

export const bulkUpdateResponse = component(
  "BulkChanges",
  "The outcome of each change of a bulk request.",
  {
    data: entriesOf({ link: fullLink.meta({ description: "The link." }) }),
    updated: countOf("How many links were changed."),
    failed,
  },
);

export const bulkDeleteResponse = component(
  "BulkDeletions",
  "The outcome of each deletion of a bulk request.",
  {
    data: entriesOf({
      id: text("The id of the link.", LINK_ID),
    }),
    deleted: countOf("How many links were deleted."),
    failed,
  },
);

/** Links to create. Their ids derive from `firstId`, so that a retry finds the same links. */
export const readCreations = (firstId: Uuid, rows: readonly unknown[]): (Creation | Failure)[] =>
  readRows(rows, (row, index) => ({
    id: nthId(firstId, index),
    body: validateValue(newLinkBody, row),
  }));

/** Links to update. Of several updates of one link, the first wins. */
export function readUpdates(rows: readonly unknown[]): (Update | Failure)[] {
  const seen = new Set<Uuid>();
  return readRows(rows, (row) => {
    const { id, ...body } = validateValue(bulkChange, row, true);
    return { id: requireOnce(seen, id), body };
  });
}

/** Links to delete, by their ids; each once. */
export function readDeletions(ids: readonly string[]): ({ id: Uuid } | Failure)[] {
  const seen = new Set<Uuid>();
  return readRows(ids, (id) => ({ id: requireOnce(seen, id) }));
}

const readRows = <Row, Read>(
  rows: readonly Row[],
  read: (row: Row, index: number) => Read,
): (Read | Failure)[] =>
  rows.map((row, index) => {
    try {
      return read(row, index);
    } catch (error) {
      return toFailure(error);
    }
  });

/** Decodes an id; throws `not_found`, and `invalid_request` when an earlier row has the same id. */
function requireOnce(seen: Set<Uuid>, text: string): Uuid {
  const id = decodeId("link", text);
  if (id === undefined) throw notFound("link");
  if (seen.has(id)) throw invalidField("id", "must not name a link twice");
  seen.add(id);
  return id;
}

/** The `n`th id after `first`: adds `n` to its last 48 bits, which are random. */
function nthId(first: Uuid, n: number): Uuid {
  const last = (BigInt(`0x${first.slice(-12)}`) + BigInt(n)) & 0xffff_ffff_ffffn;
  return first.slice(0, -12) + last.toString(16).padStart(12, "0");
}

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
