/**
 * Reads single clicks: pages of the newest first, and exports of a whole range. Neither addresses nor user agents are stored,
 * and the hash of a visitor is not returned.
 */
import * as z from "zod";

import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { COLUMN_FILTERS, type Condition } from "../analytics/filters.ts";
import { clampInstant, type QueryRange, RAW_RANGE } from "../analytics/sources.ts";
import { ApiError } from "../http/errors.ts";

/** A client that can return rows as text, without reading each. */
export type ClickTexts = {
  query(
    query: Parameters<ClickHouse["query"]>[0],
  ): Promise<{ json<Row>(): Promise<Row[]>; text(): Promise<string> }>;
};

/** The clicks to read: a condition with its parameters, `classes` among them. */
export type ClicksScope = Condition;

/** The columns of a click besides its time, link and id, under the names that clients see. */
const CLICK_COLUMNS = ["class", "class_reason", ...COLUMN_FILTERS, "region_name"] as const;

export type SingleClick = { id: string; time: string; link_id: string } & Record<
  (typeof CLICK_COLUMNS)[number],
  string
>;

/** The names of a click's fields, in order. */
export const CLICK_FIELDS = ["id", "time", "link_id", ...CLICK_COLUMNS] as const;

/** The place of a click in a redirector's journal, which identifies it. */
const ID = "concat(toString(journal_id), '.', toString(segment), '.', toString(idx))";

/** RFC 3339 in UTC, with milliseconds. */
const TIME = "concat(replaceOne(toString(ts), ' ', 'T'), 'Z')";

const SELECT = `SELECT ${ID} AS id, ${TIME} AS time, toString(link_id) AS link_id, ${CLICK_COLUMNS.map(
  (column) => `toString(${column}) AS ${column}`,
).join(", ")}`;

/** Conditions are on columns, which the texts of the same names must not replace. */
const SETTINGS = "SETTINGS prefer_column_name_to_alias = 1";

/** Where a page ends: the time (Unix milliseconds) and the id of its last click. */
export type ClickCursor = { ms: number; id: string };

/** The schema of a page's cursor. */
export const clickCursor: z.ZodType<ClickCursor> = z.object({
  ms: z.int(),
  id: z.string().max(64),
});

/** How far back a page is searched for, step by step: most pages lie within the last hour or day. */
const WINDOWS_MS = [3_600_000, 86_400_000, 8 * 86_400_000, Infinity];

/** Returns up to `limit` clicks of a range, newest first, that come after `cursor` in this order. */
export async function readNewestClicks(
  clickhouse: Pick<ClickHouse, "query">,
  scope: ClicksScope,
  { from, to }: Pick<QueryRange, "from" | "to">,
  limit: number,
  cursor: ClickCursor | undefined,
): Promise<SingleClick[]> {
  const end = Math.min(to, cursor === undefined ? Date.now() + 1_000 : cursor.ms + 1);
  for (const window of WINDOWS_MS) {
    const start = Math.max(from, end - window);
    const rows = await queryRows<SingleClick>(
      clickhouse,
      `${SELECT}
         FROM clicks AS click
        WHERE ${scope.condition} AND ${RAW_RANGE} AND class IN {classes: Array(String)}
          ${cursor === undefined ? "" : `AND (toUnixTimestamp64Milli(ts), ${ID}) < ({cursor_ms: Int64}, {cursor_id: String})`}
        ORDER BY ts DESC, id DESC
        LIMIT {limit: UInt32} ${SETTINGS}`,
      {
        ...scope.params,
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

/** Clicks of one query of an export: some 15 MB of text. */
const EXPORT_ROWS = 50_000;

/** Exports that run at once in a process: each may hold a query's text twice. */
const EXPORTS_MAX = 4;

/** Bounds the exports of a process; beyond {@link EXPORTS_MAX} they throw `unavailable`. */
export function createExports() {
  let running = 0;
  return async function* run(start: () => AsyncGenerator<string>): AsyncGenerator<string> {
    if (running >= EXPORTS_MAX) {
      throw new ApiError("unavailable", "Too many exports are running. Try again shortly.", {
        retryAfterSeconds: 5,
      });
    }
    running++;
    try {
      yield* start();
    } finally {
      running--;
    }
  };
}

/** Where an export goes on: the last click that was read, in the order of the table. */
type ExportCursor = { link_id: Uuid; ms: number; id: string };

/**
 * Reads all clicks of a range as lines of JSON, a few MB at a time, in the order of links and times: that of the table,
 * which needs no sorting. Each query seeks to where the one before ended, so that memory is bounded on both sides. The next
 * query runs while the lines of the one before are sent.
 */
export async function* exportClicks(
  clickhouse: ClickTexts,
  scope: ClicksScope,
  range: Pick<QueryRange, "from" | "to">,
): AsyncGenerator<string> {
  const encode = createLinkEncoder();
  let part = await readPart(clickhouse, scope, range, undefined);
  while (part.last !== undefined) {
    const next = readPart(clickhouse, scope, range, part.last);
    // Whoever stops reading does not wait for it.
    next.catch(() => undefined);
    yield encode(part.lines);
    part = await next;
  }
}

/** Lines of JSON, and the last click among them, if there is any. */
type ExportPart = { lines: string; last: ExportCursor | undefined };

async function readPart(
  clickhouse: ClickTexts,
  scope: ClicksScope,
  { from, to }: Pick<QueryRange, "from" | "to">,
  after: ExportCursor | undefined,
): Promise<ExportPart> {
  const result = await clickhouse.query({
    query: `${SELECT}
              FROM clicks
             WHERE ${scope.condition} AND ${RAW_RANGE} AND class IN {classes: Array(String)}
               ${after === undefined ? "" : AFTER}
             ORDER BY clicks.link_id, ts, journal_id, segment, idx
             LIMIT {rows: UInt32} ${SETTINGS}`,
    query_params: {
      ...scope.params,
      from: clampInstant(from),
      to: clampInstant(to),
      rows: EXPORT_ROWS,
      ...(after === undefined ? {} : toParams(after)),
    },
    format: "JSONEachRow",
  });
  const lines = await result.text();
  const line = lines.slice(lines.lastIndexOf("\n", lines.length - 2) + 1);
  if (line.trim() === "") return { lines: "", last: undefined };
  const { link_id, time, id }: SingleClick = JSON.parse(line);
  return { lines, last: { link_id, ms: Date.parse(time), id } };
}

/** The index is used for the first two lines only; without the second, all of a link's clicks would be read again. */
const AFTER = `
  AND clicks.link_id >= {after_link: UUID}
  AND (clicks.link_id > {after_link: UUID} OR ts >= fromUnixTimestamp64Milli({after_ms: Int64}))
  AND (clicks.link_id, ts, journal_id, segment, idx)
    > ({after_link: UUID}, fromUnixTimestamp64Milli({after_ms: Int64}), {after_journal: UUID}, {after_segment: UInt32}, {after_idx: UInt16})`;

function toParams({ link_id, ms, id }: ExportCursor) {
  const [journal = "", segment = "0", idx = "0"] = id.split(".");
  return {
    after_link: link_id,
    after_ms: ms,
    after_journal: journal,
    after_segment: Number(segment),
    after_idx: Number(idx),
  };
}

/**
 * Replaces the UUIDs of links in lines of JSON by public ids. A value cannot contain the text that is looked for, as its
 * quotes are escaped. Lines are in the order of links, so the last id is the one that is needed next.
 */
function createLinkEncoder(): (lines: string) => string {
  let known = { uuid: "", id: "" };
  return (lines) =>
    lines.replaceAll(/"link_id":"([0-9a-f-]{36})"/g, (_, uuid: string) => {
      if (uuid !== known.uuid) known = { uuid, id: encodeId("link", uuid) };
      return `"link_id":"${known.id}"`;
    });
}
