/**
 * The table `clicks` of ClickHouse, as the owner of the clicks uses it: inserts rows of segments,
 * and reads which segments it has.
 */
import { Readable } from "node:stream";

import type { ClickHouseClient } from "@clickhouse/client";

import { clickTime, queryRows, WITHOUT_CONDITION_CACHE } from "../../shared/clicks/query.ts";
import { type BucketRange, requestRepair } from "../../shared/clicks/rollups.ts";
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ROW_COLUMNS } from "../enrich/rows.ts";
import type { Metrics } from "../metrics.ts";
import { SegmentIndex } from "./segment-index.ts";

/** A time span of clicks in Unix milliseconds, inclusive. */
export type ClickSpan = { firstClick: number; lastClick: number };

/** A segment that can be inserted. It has at least one click; the span is that of its clicks. */
export type BatchSegment = SegmentId &
  ClickSpan & {
    rows: Buffer;
    /** Its sequence in the stream, and when JetStream put it there, in Unix nanoseconds. */
    sequence: number;
    publishedAt: number;
  };

/** The span of the clicks of segments, of which there is at least one. */
export const spanOf = (segments: readonly ClickSpan[]): ClickSpan => ({
  firstClick: Math.min(...segments.map(({ firstClick }) => firstClick)),
  lastClick: Math.max(...segments.map(({ lastClick }) => lastClick)),
});

/** Where owners store clicks; a model of it is in `test/harness`. */
export interface ClickStore {
  /**
   * Inserts rows as one block, unless the token was inserted before; may be repeated.
   * `isRejected` knows the errors that mean that these rows will never be accepted.
   */
  insert(token: string, rows: readonly Buffer[]): Promise<void>;
  /** Returns which of these segments have rows. All their clicks must be in the span. */
  findStored(segments: readonly SegmentId[], span: ClickSpan): Promise<SegmentId[]>;
  /**
   * Reads the rows of these segments, at most those of a batch, in the form that `insert` takes;
   * empty if there are none. All their clicks must be in the span.
   */
  readRows(segments: readonly SegmentId[], span: ClickSpan): Promise<Buffer>;
  /** Reads which segments are stored, for an owner that finds no log. */
  readHistory(): Promise<SegmentIndex>;
}

/** Days that an owner without a log reads; older segments are looked up when they come. */
const HISTORY_DAYS = 4;

const UINT32_MAX = 2 ** 32 - 1;

/** Age of clicks whose inserts may be half done; the consistency check covers older ones. */
const HALF_DONE_SECONDS = HOUR_SECONDS;

/** The rows of segments, all of whose clicks are in a time span. */
const OF_SEGMENTS = `
  ts >= fromUnixTimestamp64Milli({from: Int64}) AND ts <= fromUnixTimestamp64Milli({to: Int64})
  AND (journal_id, segment) IN arrayZip({journals: Array(UUID)}, {segments: Array(UInt32)})`;

const segmentParameters = (
  segments: readonly SegmentId[],
  { firstClick, lastClick }: ClickSpan,
): Record<string, unknown> => ({
  from: firstClick,
  to: lastClick,
  journals: segments.map(({ journalId }) => journalId),
  segments: segments.map(({ segment }) => segment),
});

export class ClicksTable implements ClickStore {
  readonly #client: ClickHouseClient;
  readonly #metrics: Metrics;

  constructor(client: ClickHouseClient, metrics: Metrics) {
    this.#client = client;
    this.#metrics = metrics;
  }

  /**
   * Each of the rows is in the format TabSeparated, with {@link ROW_COLUMNS}. They are one block
   * with a deduplication token, so ClickHouse stores them once, in `clicks` and in every rollup.
   * The table `incoming_clicks` itself stores nothing: its views write `clicks` and the rollups.
   */
  async insert(token: string, rows: readonly Buffer[]): Promise<void> {
    await this.#metrics.timeInsert(() =>
      this.#client.insert({
        table: "incoming_clicks",
        columns: [...ROW_COLUMNS],
        values: Readable.from(rows, { objectMode: false }),
        format: "TabSeparated",
        clickhouse_settings: {
          insert_deduplicate: 1,
          insert_deduplication_token: token,
          deduplicate_blocks_in_dependent_materialized_views: 1,
          async_insert: 0,
          // On a cluster: return only after the shards have stored the rows.
          distributed_foreground_insert: 1,
          input_format_parallel_parsing: 0,
          // The views group the rows of an insert themselves.
          optimize_on_insert: 0,
        },
      }),
    );
  }

  async findStored(segments: readonly SegmentId[], span: ClickSpan): Promise<SegmentId[]> {
    const rows = await queryRows<{ journal_id: Uuid; segment: number }>(
      this.#client,
      `SELECT DISTINCT journal_id, segment FROM clicks WHERE ${OF_SEGMENTS}`,
      segmentParameters(segments, span),
    );
    return rows.map(({ journal_id, segment }) => ({ journalId: journal_id, segment }));
  }

  async readRows(segments: readonly SegmentId[], span: ClickSpan): Promise<Buffer> {
    const result = await this.#client.query({
      query: `SELECT ${ROW_COLUMNS.join(", ")} FROM clicks WHERE ${OF_SEGMENTS}`,
      query_params: segmentParameters(segments, span),
      format: "TabSeparated",
      clickhouse_settings: {
        ...WITHOUT_CONDITION_CACHE,
        // An error on the way would otherwise follow rows that were sent, and look like one.
        wait_end_of_query: 1,
      },
    });
    return Buffer.from(await result.text());
  }

  /**
   * Reads the segments of the last {@link HISTORY_DAYS}, one day after the other. If there are any,
   * requests a repair of the rollups of today: no log says which insert may be half done.
   */
  async readHistory(): Promise<SegmentIndex> {
    const index = new SegmentIndex();
    const now = Math.floor(Date.now() / 1_000);
    for (let day = HISTORY_DAYS; day > 0; day--) {
      const rows = await queryRows<{ journal_id: Uuid; first: number; last: number }>(
        this.#client,
        // Segments with consecutive numbers have the same difference of number and rank.
        `SELECT journal_id, min(segment) AS first, max(segment) AS last
           FROM (
             SELECT journal_id, segment,
                    segment - row_number() OVER (PARTITION BY journal_id ORDER BY segment) AS run
               FROM (SELECT DISTINCT journal_id, segment FROM clicks
                      WHERE ts >= ${clickTime("from")} AND ts < ${clickTime("to")})
           )
          GROUP BY journal_id, run`,
        {
          from: now - day * DAY_SECONDS,
          // Clicks of a redirector whose clock is ahead are in the last one.
          to: day === 1 ? UINT32_MAX : now - (day - 1) * DAY_SECONDS,
        },
      );
      for (const { journal_id, first, last } of rows) index.addRange(journal_id, first, last);
    }
    if (index.size > 0) await requestRepair(this.#client, recentDays());
    return index;
  }
}

const startOfDay = (seconds: number): number => Math.floor(seconds / DAY_SECONDS) * DAY_SECONDS;

/** Whole days with half-done inserts: today, and yesterday just after midnight. */
function recentDays(): BucketRange {
  const now = Date.now() / 1_000;
  return { from: startOfDay(now - HALF_DONE_SECONDS), to: startOfDay(now) + DAY_SECONDS };
}
