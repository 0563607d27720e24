/**
 * Lists, the same for every resource. By page, a list has a total. By cursor, which is the end of a
 * page as opaque text, a page costs the same at any depth, and no entry is skipped or repeated
 * while others are added and removed.
 */
import * as z from "zod";

import { component } from "../../shared/contracts/components.ts";
import { CURSOR } from "../../shared/contracts/examples.ts";
import type { Uuid } from "../../shared/ids.ts";
import { count, items, textOrNull, wholeNumber } from "./common-schemas.ts";
import { ApiError, invalidField } from "./errors.ts";

const PAGE_MAX = 1_000_000;

/** Maximum entries of a page. */
export const PAGE_SIZE_MAX = 100;

/** Maximum characters of the cursor of a list; ours are shorter. */
const LIST_CURSOR_LENGTH_MAX = 200;

/** The requested number of entries of a list. */
export const listLimit = wholeNumber(1, PAGE_SIZE_MAX)
  .default(20)
  .meta({ description: "The maximum number of entries to return." });

export const listQuery = z.object({
  page: wholeNumber(1, PAGE_MAX)
    .optional()
    .meta({ description: "1 when left out; not with `starting_after`.", examples: [1] }),
  limit: listLimit,
  starting_after: z
    .string()
    .max(LIST_CURSOR_LENGTH_MAX)
    .optional()
    .meta({
      description:
        "The `next_cursor` of the previous response; empty for the start of the list. The response then has no `pagination`.",
      examples: [CURSOR],
    }),
});

type ListQuery = z.output<typeof listQuery>;

const paginationSchema = component("Pagination", "The position of a page in its list.", {
  page: count("The number of the page, from 1.", 1),
  limit: count("The maximum number of entries of a page.", 20),
  total: count("The number of all entries.", 42),
  total_pages: count("The number of pages.", 3),
  total_is_estimate: z.literal(true).optional().meta({
    description:
      "Present when `total` is an estimate: more than 100,000 entries match, or a search that no index supports read only the first 100,000 links (30,000 when sorted by clicks or last click).",
  }),
});

/** The entries of a page. */
export const entriesOf = <Item extends z.ZodType>(item: Item) =>
  items("The entries of this page, in order.", item);

export const nextCursor = textOrNull(
  "Send it as `starting_after` for the next page; null on the last one.",
  CURSOR,
);

/** The schema of a list of `item`s, by its name in the document. */
export const listOf = <Item extends z.ZodType>(id: string, description: string, item: Item) =>
  component(id, description, {
    data: entriesOf(item),
    pagination: paginationSchema
      .optional()
      .meta({ description: "Not with `starting_after`, which needs no total." }),
    next_cursor: nextCursor.meta({
      description: "Pass it as `starting_after` to continue; null at the end.",
    }),
  });

/**
 * The position at which a list continues: the sort key of its last entry, and the id that breaks
 * ties.
 */
export type ListPosition = { key: number; id: Uuid };

/** The requested part of a list: a page, or the entries after a position (null for the start). */
export type ListRequest = { limit: number } & ({ page: number } | { after: ListPosition | null });

/** A part of a list; `total` only by page. `next` is null at the end. */
export type ListPart<Row> = {
  rows: Row[];
  total?: number;
  /** Whether the total is an estimate; if absent, it is exact. */
  isEstimate?: boolean;
  next: ListPosition | null;
};

/**
 * The response to the query of a list, whose part `read` reads. `list` names the list and its
 * order; cursors of another one are rejected. Throws `invalid_request`.
 */
export async function respondWithList<Row, Item>(
  query: ListQuery,
  list: string,
  read: (request: ListRequest) => Promise<ListPart<Row>>,
  toItem: (row: Row) => Item,
) {
  const request = readListRequest(query, list);
  const { rows, total, isEstimate = false, next } = await read(request);
  return {
    data: rows.map((row) => toItem(row)),
    ...("page" in request && total !== undefined
      ? { pagination: paginationOf(request.page, request.limit, total, isEstimate) }
      : {}),
    next_cursor: writeNext(next && [list, next.key, next.id]),
  };
}

function readListRequest(
  { page, limit, starting_after: cursor }: ListQuery,
  list: string,
): ListRequest {
  if (cursor === undefined) return { limit, page: page ?? 1 };
  if (page !== undefined) {
    const message = 'Send "page" or "starting_after", not both.';
    throw new ApiError("invalid_request", message, { param: "starting_after" });
  }
  return { limit, after: cursor === "" ? null : readPosition(cursor, list) };
}

/** The `pagination` member of a list response. */
const paginationOf = (page: number, limit: number, total: number, isEstimate: boolean) => ({
  page,
  limit,
  total,
  total_pages: Math.ceil(total / limit),
  ...(isEstimate ? { total_is_estimate: true as const } : {}),
});

/**
 * Removes the extra row that was read beyond `limit` to detect another page; `next` is the last row
 * kept.
 */
export function cutPart<Row, Position>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => Position,
): { rows: Row[]; next: Position | null } {
  const kept = rows.slice(0, limit);
  const last = kept.at(-1);
  return { rows: kept, next: rows.length > limit && last !== undefined ? positionOf(last) : null };
}

/**
 * Above every number of clicks, and the last instant, in Unix milliseconds, whose year has four
 * digits.
 */
const KEY_MAX = 253_402_300_799_999;

function readPosition(text: string, list: string): ListPosition | null {
  const schema = z.tuple([z.literal(list), z.int().min(0).max(KEY_MAX), z.uuid()]);
  const [, key, id] = readCursor(schema, text) ?? [];
  return key === undefined || id === undefined ? null : { key, id };
}

/** Where the rows of a request start in a list. */
export type ListStart = { offset: number } | { after: ListPosition | null };

/** Reads the requested part of a list, newest first; counts only by page. */
export async function readPart<Row extends { id: Uuid; created_at: Date }>(
  request: ListRequest,
  read: (limit: number, start: ListStart) => Promise<Row[]>,
  count: () => Promise<number>,
): Promise<ListPart<Row>> {
  const { limit } = request;
  const toPosition = ({ id, created_at }: Row): ListPosition => ({ key: created_at.getTime(), id });
  const start =
    "after" in request ? { after: request.after } : { offset: (request.page - 1) * limit };
  const [rows, total] = await Promise.all([
    read(limit + 1, start),
    "after" in request ? undefined : count(),
  ]);
  return { ...cutPart(rows, limit, toPosition), ...(total === undefined ? {} : { total }) };
}

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

/** As {@link writeCursor}; null at the end of a list. */
export const writeNext = (position: unknown): string | null =>
  position === null ? null : writeCursor(position);

/**
 * Decodes the cursor `starting_after`; undefined without one. Throws `invalid_request` for an
 * invalid cursor.
 */
export function readCursor<Value>(
  schema: z.ZodType<Value>,
  text: string | undefined,
): Value | undefined {
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
  } catch {
    throw invalidField("starting_after", "must be the next_cursor of this list in the same order");
  }
}
