/**
 * Exports all single clicks of a range as lines of JSON, ordered by link and time. This is the
 * order of the table, so no sorting is needed. They are read in parts, with bounded memory on both
 * sides.
 */
import { Readable } from "node:stream";

import {
  type ClickChunks,
  type ClickHouseReader,
  queryRows,
  readChunks,
} from "../../shared/clicks/query.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import type { Span } from "../analytics/period.ts";
import {
  clampInstant,
  clickedParams,
  IN_CLASSES,
  RAW_RANGE,
  selectClicked,
} from "../analytics/plan.ts";
import type { Condition } from "../analytics/service.ts";
import { type ClicksSelection, selectFields, SETTINGS, type SingleClick } from "./single-clicks.ts";

/**
 * Clicks of one part: about 45 MB. With smaller parts, starting each statement takes a third of the
 * time.
 */
const PART_ROWS = 100_000;

/**
 * Clicks of the first part. Each next part has twice as many, as long as the client keeps reading.
 */
const FIRST_PART_ROWS = 5_000;

/**
 * Clicks that ClickHouse finds and writes at a time: these 4 MB stay in the processor's cache, and
 * are sent while it finds the next ones.
 */
const BLOCK_ROWS = 8_192;

/** Links of one statement; the index finds their clicks. */
const GROUP_LINKS = 1_000;

/** Links of an account that one lookup reads. */
const LOOKUP_LINKS = 20_000;

type Reading = ClickHouseReader & ClickChunks;

/**
 * Reads all clicks of a range as lines of JSON, in chunks that may end anywhere. Reads the next
 * part while one is sent.
 */
export async function* exportClicks(
  clickhouse: Reading,
  { where, link }: ClicksSelection,
  range: Span,
): AsyncGenerator<Uint8Array, undefined> {
  const groups = link === undefined ? groupLinks(clickhouse, where, range) : [[link]];
  const read = readParts(clickhouse, where, range, groups);
  const parts: AsyncIterable<Uint8Array[]> = Readable.from(read, { highWaterMark: 1 });
  for await (const chunks of parts) yield* chunks;
  return undefined;
}

/**
 * Reads the links of an account that have clicks in a range, in table order, and divides them into
 * groups.
 */
async function* groupLinks(
  clickhouse: Reading,
  where: Condition,
  range: Span,
): AsyncGenerator<readonly Uuid[]> {
  let after: Uuid | undefined;
  for (;;) {
    const rows = await queryRows<{ link_id: Uuid }>(
      clickhouse,
      `SELECT DISTINCT link_id FROM (${selectClicked(true)})
        ${after === undefined ? "" : "WHERE link_id > {after: UUID}"}
        ORDER BY link_id LIMIT {limit: UInt32}`,
      {
        ...where.params,
        ...clickedParams(range),
        limit: LOOKUP_LINKS,
        ...(after === undefined ? {} : { after }),
      },
    );
    const links = rows.map(({ link_id }) => link_id);
    for (let i = 0; i < links.length; i += GROUP_LINKS) yield links.slice(i, i + GROUP_LINKS);
    if (links.length < LOOKUP_LINKS) return;
    after = links.at(-1);
  }
}

/** Reads the clicks of each group of links, in parts. */
async function* readParts(
  clickhouse: Reading,
  where: Condition,
  range: Span,
  groups: AsyncIterable<readonly Uuid[]> | Iterable<readonly Uuid[]>,
): AsyncGenerator<Uint8Array[]> {
  let limit = FIRST_PART_ROWS;
  for await (const links of groups) {
    let after: ExportPosition | undefined;
    for (let isWhole = false; !isWhole;) {
      const { chunks, lines } = await readPart(clickhouse, where, range, { links, after, limit });
      if (chunks.length === 0) break;
      // Throws when ClickHouse failed midway and ended the response with an error message.
      after = positionOf(chunks);
      isWhole = lines < limit;
      limit = Math.min(PART_ROWS, 2 * limit);
      yield chunks;
    }
  }
}

const NEWLINE = 10;

function countLines(chunk: Uint8Array): number {
  let count = 0;
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** The last click of a part, in the order of the table. */
type ExportPosition = { link_id: Uuid; ms: number; id: string };

function positionOf(chunks: readonly Uint8Array[]): ExportPosition {
  const last: SingleClick = JSON.parse(lastLineOf(chunks));
  const link_id = decodeId("link", last.link_id);
  if (link_id === undefined) throw new Error(`A click has the link "${last.link_id}".`);
  return { link_id, ms: Date.parse(last.time), id: last.id };
}

/** The last line, which may begin in an earlier chunk. */
function lastLineOf(chunks: readonly Uint8Array[]): string {
  let end = Buffer.alloc(0);
  for (const chunk of chunks.toReversed()) {
    end = Buffer.concat([chunk, end]);
    const start = end.subarray(0, -1).lastIndexOf(NEWLINE) + 1;
    if (start > 0) return end.toString("utf8", start);
  }
  return end.toString();
}

/** Up to `limit` clicks of links, after a position. */
type Part = { links: readonly Uuid[]; after: ExportPosition | undefined; limit: number };

/**
 * ClickHouse writes the public ids of links, which the query passes in: replacing them here would
 * mean parsing each line.
 */
const PUBLIC_ID =
  "transform(toString(clicks.link_id), {links: Array(String)}, {ids: Array(String)}, '')";

async function readPart(
  clickhouse: Reading,
  { condition, params }: Condition,
  { from, to }: Span,
  { links, after, limit }: Part,
): Promise<{ chunks: Uint8Array[]; lines: number }> {
  const read = await readChunks(
    clickhouse,
    `${selectFields(PUBLIC_ID)}
              FROM clicks
             WHERE ${condition} AND clicks.link_id IN {links: Array(UUID)}
               AND ${RAW_RANGE} AND ${IN_CLASSES}
               ${after === undefined ? "" : AFTER}
             ORDER BY clicks.link_id, ts, journal_id, segment, idx
             LIMIT {rows: UInt32} ${SETTINGS}, max_block_size = ${BLOCK_ROWS}`,
    {
      ...params,
      links,
      ids: links.map((link) => encodeId("link", link)),
      from: clampInstant(from),
      to: clampInstant(to),
      rows: limit,
      ...(after === undefined ? {} : toParams(after)),
    },
  );
  const chunks: Uint8Array[] = [];
  let lines = 0;
  for await (const chunk of read) {
    chunks.push(chunk);
    lines += countLines(chunk);
  }
  return { chunks, lines };
}

/**
 * The index is used for the first two lines only; without the second, all of a link's clicks would
 * be read again.
 */
const AFTER = `
  AND clicks.link_id >= {after_link: UUID}
  AND (clicks.link_id > {after_link: UUID} OR ts >= fromUnixTimestamp64Milli({after_ms: Int64}))
  AND (clicks.link_id, ts, journal_id, segment, idx)
    > ({after_link: UUID}, fromUnixTimestamp64Milli({after_ms: Int64}), {after_journal: UUID}, {after_segment: UInt32}, {after_idx: UInt16})`;

function toParams({ link_id, ms, id }: ExportPosition) {
  const [journal = "", segment = "0", idx = "0"] = id.split(".");
  return {
    after_link: link_id,
    after_ms: ms,
    after_journal: journal,
    after_segment: Number(segment),
    after_idx: Number(idx),
  };
}
