/** Lists and exports single clicks, for clients with their own data warehouse. */
import type { ClickChunks, ClickHouse } from "../../shared/clicks/query.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import { incomplete } from "../analytics/summary.ts";
import { streamChunks } from "../http/chunk-stream.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import type { AccountScope } from "../http/principal.ts";
import { exportClicks } from "./export.ts";
import type { ClicksQuery, ClicksResponse, ExportQuery } from "./model.ts";
import { createRunningExports, PACE } from "./running-exports.ts";
import { clickCursor, readNewestClicks } from "./single-clicks.ts";

type ClicksServiceDeps = {
  clickhouse: Pick<ClickHouse, "query"> & ClickChunks;
  analytics: Pick<AnalyticsService, "selectClicks">;
  /** Ends an export after the client has read nothing for this many milliseconds. */
  stalledMs?: number;
  /** How fast a client must take its export while others wait. */
  pace?: typeof PACE;
};

export type ClicksService = ReturnType<typeof createClicksService>;

export function createClicksService({
  clickhouse,
  analytics,
  stalledMs,
  pace = PACE,
}: ClicksServiceDeps) {
  const runExport = createRunningExports(pace);

  return {
    /** Returns a page of clicks, newest first; throws `not_found` and `invalid_request`. */
    async list(owner: AccountScope, query: ClicksQuery): Promise<ClicksResponse> {
      const { range, ...scope } = await analytics.selectClicks(owner, query.link_id, query);
      const cursor = readCursor(clickCursor, query.starting_after);
      const rows = await readNewestClicks(clickhouse, scope, range, query.limit + 1, cursor);
      const data = rows.slice(0, query.limit);
      const last = data.at(-1);
      const next_cursor =
        rows.length > query.limit && last !== undefined
          ? writeCursor({ ms: Date.parse(last.time), id: last.id })
          : null;
      return { data, next_cursor, ...incomplete(range) };
    },

    /**
     * Returns all clicks of a range as lines of JSON, until the client disconnects or stops
     * reading, or reads slowly while others wait. Throws as `list`, and `rate_limited` and
     * `unavailable`.
     */
    async exportAll(owner: AccountScope, query: ExportQuery): Promise<ReadableStream<Uint8Array>> {
      const { range, ...scope } = await analytics.selectClicks(owner, query.link_id, query);
      const ending = new AbortController();
      const start = () => exportClicks(clickhouse, scope, range);
      const chunks = runExport(owner.accountId, start, () => ending.abort());
      return await streamChunks(chunks, { stalledMs, signal: ending.signal });
    },
  };
}
