/**
 * Reads single clicks, newest first. Neither addresses nor user agents are stored,
 * and the hash of a visitor is not returned.
 */
import * as z from "zod";

import { type ClickHouseReader, queryRows } from "../../shared/clicks/query.ts";
import { CLICK_COLUMNS } from "../../shared/contracts/analytics.ts";
import { DAY_MS, HOUR_MS } from "../../shared/durations.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import type { Span } from "../analytics/period.ts";
import {
  allOf,
  clampInstant,
  clickedParams,
  IN_CLASSES,
  RAW_RANGE,
  whereClicked,
} from "../analytics/plan.ts";
import type { Condition } from "../analytics/service.ts";

/**
 * The clicks to read: a condition with its parameters, including `classes`; and their link, unless
 * the selection is an account's.
 */
export type ClicksSelection = { where: Condition; link: Uuid | undefined };

export type SingleClick = { id: string; time: string; link_id: string } & Record<
  (typeof CLICK_COLUMNS)[number],
  string
>;

/** The names of a click's fields, in order. */
export const CLICK_FIELDS = ["id", "time", "link_id", ...CLICK_COLUMNS] as const;

/** The position of a click in a redirector's journal, which identifies it. */
const ID = "concat(toString(journal_id), '.', toString(segment), '.', toString(idx))";

/** RFC 3339 in UTC, with milliseconds. */
const TIME = "concat(replaceOne(toString(ts), ' ', 'T'), 'Z')";

/** Selects the fields of clicks; `link` is the expression for the link's id. */
export const selectFields = (link = "toString(link_id)"): string =>
  `SELECT ${ID} AS id, ${TIME} AS time, ${link} AS link_id, ${CLICK_COLUMNS.join(", ")}`;

/** Conditions apply to columns, which the aliases of the same names must not replace. */
export const SETTINGS = "SETTINGS prefer_column_name_to_alias = 1";

/** The end of a page: the time (Unix milliseconds) and the id of its last click. */
export type ClickCursor = { ms: number; id: string };

/** The schema of a page's cursor. */
export const clickCursor: z.ZodType<ClickCursor> = z.object({
  ms: z.int(),
  id: z.string().max(64),
});

/** The index finds clicks by whole seconds. */
const SECOND_MS = 1_000;

/** How far back to search for a page, step by step: most pages lie within the last hour or day. */
const WINDOWS_MS = [HOUR_MS, DAY_MS, 8 * DAY_MS, Infinity];

/**
 * Returns up to `limit` clicks of a range, newest first, that come after `cursor` in this order.
 */
export async function readNewestClicks(
  clickhouse: ClickHouseReader,
  { where, link }: ClicksSelection,
  { from, to }: Span,
  limit: number,
  cursor: ClickCursor | undefined,
): Promise<SingleClick[]> {
  const end = Math.min(to, cursor === undefined ? Date.now() + 1_000 : cursor.ms + 1);
  for (const window of WINDOWS_MS) {
    const start = Math.max(from, end - window);
    const ofLinks = link === undefined ? whereClicked("link_id", true) : "";
    const rows = await queryRows<SingleClick>(
      clickhouse,
      `${selectFields()}
         FROM clicks AS click
        WHERE ${allOf(where.condition, ofLinks, RAW_RANGE, IN_CLASSES)}
          ${cursor === undefined ? "" : `AND (toUnixTimestamp64Milli(ts), ${ID}) < ({cursor_ms: Int64}, {cursor_id: String})`}
        ORDER BY ts DESC, id DESC
        LIMIT {limit: UInt32} ${SETTINGS}`,
      {
        ...where.params,
        ...clickedParams({ from: start, to: end + SECOND_MS }),
        from: clampInstant(start),
        to: clampInstant(end),
        limit,
        cursor_ms: cursor?.ms ?? 0,
        cursor_id: cursor?.id ?? "",
      },
    );
    if (rows.length === limit || start <= from) return rows.map(withPublicId);
  }
  return [];
}

const withPublicId = (row: SingleClick): SingleClick => ({
  ...row,
  link_id: encodeId("link", row.link_id),
});
