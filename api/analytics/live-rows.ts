/** Reads single clicks of a link for live streams. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import { COLUMN_FILTERS, type ColumnFilter } from "./filter-names.ts";

/** Maximum clicks that one query returns. */
export const ROWS_MAX = 1_000;

export type LiveRow = {
  /** Unix milliseconds. */
  ms: string;
  /** Journal, segment and index of the click, which identify it. */
  position: string;
  class: string;
  country: string;
  region: string;
  city: string;
  browser: string;
  os: string;
  device: string;
  referrer: string;
  // Columns that only filters read are not part of an event.
} & Partial<Record<ColumnFilter, string>>;

/** Reads the oldest (`ASC`) or latest (`DESC`) clicks of a link since an instant, in that order. */
export type ReadLiveRows = (
  linkId: Uuid,
  since: number,
  order: "ASC" | "DESC",
) => Promise<LiveRow[]>;

export const createLiveRowReader =
  (clickhouse: ClickHouse): ReadLiveRows =>
  (linkId, since, order) =>
    queryRows<LiveRow>(
      clickhouse,
      `SELECT toString(toUnixTimestamp64Milli(ts)) AS ms,
              concat(toString(journal_id), '.', toString(segment), '.', toString(idx)) AS position,
              class, ${COLUMN_FILTERS.join(", ")}
         FROM clicks
        WHERE link_id = {link_id: UUID} AND ts >= fromUnixTimestamp64Milli({since: Int64})
        ORDER BY ts ${order}, position ${order}
        LIMIT {limit: UInt32}`,
      { link_id: linkId, since, limit: ROWS_MAX },
    );
