/** Lists and exports single clicks, for clients with their own data warehouse. */
import { completeFrom } from "../analytics/responses.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import type { ClicksReader } from "../clickhouse.ts";
import { streamChunks } from "../http/chunk-stream.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import type { Confirm } from "../http/principal.ts";
import { exportClicks } from "./export.ts";
import type { ClicksQuery, ClicksResponse, ExportQuery } from "./model.ts";
import { createRunningExports, PACE } from "./running-exports.ts";
import { clickCursor, readNewestClicks } from "./single-clicks.ts";

/** Time after which an export asks again whether its client may have it. */
const CONFIRMED_MS = 1_000;

type ClicksServiceDeps = {
  analytics: Pick<AnalyticsService, "selectClicks">;
  /** Ends an export after the client has read nothing for this many milliseconds. */
  stalledMs?: number;
  /** How fast a client must take its export while others wait. */
  pace?: typeof PACE;
  /** How long an export goes on without asking whether its client may still have it. */
  confirmedMs?: number;
};

export type ClicksService = ReturnType<typeof createClicksService>;

export function createClicksService({
  analytics,
  stalledMs,
  pace = PACE,
  confirmedMs = CONFIRMED_MS,
}: ClicksServiceDeps) {
  const runExport = createRunningExports(pace);

  return {
    /**
     * Returns a page of clicks, newest first; throws `not_found`, `invalid_request` and
     * `rate_limited`.
     */
    async list(owner: ClicksReader, query: ClicksQuery): Promise<ClicksResponse> {
      const { clickhouse, range, ...scope } = await analytics.selectClicks(
        owner,
        query.link_id,
        query,
      );
      const cursor = readCursor(clickCursor, query.starting_after);
      const rows = await readNewestClicks(clickhouse, scope, range, query.limit + 1, cursor);
      const data = rows.slice(0, query.limit);
      const last = data.at(-1);
      const next_cursor =
        rows.length > query.limit && last !== undefined
          ? writeCursor({ ms: Date.parse(last.time), id: last.id })
          : null;
      return { data, next_cursor, ...completeFrom(range) };
    },

    /**
     * Returns all clicks of a range as lines of JSON, until the client disconnects or stops
     * reading, or reads slowly while others wait, or may no longer have them. Throws as `list`, and
     * `unavailable`.
     */
    async exportAll(
      owner: ClicksReader,
      query: ExportQuery,
      confirm: Confirm,
    ): Promise<ReadableStream<Uint8Array>> {
      const { clickhouse, range, ...scope } = await analytics.selectClicks(
        owner,
        query.link_id,
        query,
      );
      const ending = new AbortController();
      const start = () =>
        whileConfirmed(exportClicks(clickhouse, scope, range), confirm, confirmedMs);
      const chunks = runExport(owner.accountId, start, () => ending.abort());
      return await streamChunks(chunks, { stalledMs, signal: ending.signal });
    },
  };
}

/** Asks before each chunk whether it is still the client's, though not all the time. */
async function* whileConfirmed(
  chunks: AsyncGenerator<Uint8Array, undefined>,
  confirm: Confirm,
  confirmedMs: number,
): AsyncGenerator<Uint8Array, undefined> {
  let confirmedAt = performance.now();
  for await (const chunk of chunks) {
    if (performance.now() - confirmedAt >= confirmedMs) {
      await confirm();
      confirmedAt = performance.now();
    }
    yield chunk;
  }
  return undefined;
}
