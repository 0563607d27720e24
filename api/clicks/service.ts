/** Lists and exports single clicks, for clients with their own data warehouse. */
import { completeFrom } from "../analytics/responses.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import type { ClicksReader } from "../clickhouse.ts";
import { type LedgerWriter, toJson } from "../events/record.ts";
import { readCursor, writeCursor } from "../http/pagination.ts";
import type { Confirm, Writer } from "../http/principal.ts";
import { exportClicks } from "./export.ts";
import type { ClicksQuery, ClicksResponse, ExportQuery } from "./model.ts";
import { PACE, RunningExports } from "./running-exports.ts";
import { clickCursor, readNewestClicks } from "./single-clicks.ts";

/**
 * How long an export goes on without its client: `stalledMs` while the client reads less than a
 * chunk, `confirmedMs` without asking whether it may still have it; and at which pace it must be
 * taken while others wait.
 */
const BOUNDS = { stalledMs: 30_000, pace: PACE, confirmedMs: 1_000 };

export class ClicksService {
  readonly #analytics: AnalyticsService;
  readonly #ledger: LedgerWriter;
  readonly #bounds: typeof BOUNDS;
  readonly #running: RunningExports;

  /** Tests have other bounds. */
  constructor(
    analytics: AnalyticsService,
    ledger: LedgerWriter,
    bounds: Partial<typeof BOUNDS> = {},
  ) {
    this.#analytics = analytics;
    this.#ledger = ledger;
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#running = new RunningExports(this.#bounds.pace);
  }

  /**
   * Returns a page of clicks, newest first; throws `not_found`, `invalid_request` and
   * `rate_limited`.
   */
  async list(owner: ClicksReader, query: ClicksQuery): Promise<ClicksResponse> {
    const { clickhouse, range, ...selection } = await this.#analytics.selectClicks(
      owner,
      query.link_id,
      query,
    );
    const cursor = readCursor(clickCursor, query.starting_after);
    const rows = await readNewestClicks(clickhouse, selection, range, query.limit + 1, cursor);
    const data = rows.slice(0, query.limit);
    const last = data.at(-1);
    const next_cursor =
      rows.length > query.limit && last !== undefined
        ? writeCursor({ ms: Date.parse(last.time), id: last.id })
        : null;
    return { data, next_cursor, ...completeFrom(range) };
  }

  /**
   * Returns all clicks of a range as lines of JSON, until the client disconnects or stops reading,
   * or reads slowly while others wait, or may no longer have them. The ledger has who exported
   * what. Throws as `list`, and `unavailable`.
   */
  async exportAll(
    owner: Writer,
    query: ExportQuery,
    confirm: Confirm,
  ): Promise<ReadableStream<Uint8Array>> {
    const { clickhouse, range, ...selection } = await this.#analytics.selectClicks(
      owner,
      query.link_id,
      query,
    );
    const { from, to } = range;
    const data = toJson({
      export: { link_id: query.link_id, from: new Date(from), to: new Date(to) },
    });
    await this.#ledger.record(owner, { type: "clicks.exported", objectId: null, data });
    const { stalledMs, confirmedMs } = this.#bounds;
    const ending = new AbortController();
    const start = () =>
      whileConfirmed(exportClicks(clickhouse, selection, range), confirm, confirmedMs);
    const chunks = this.#running.run(owner.accountId, start, () => ending.abort());
    return await streamChunks(chunks, stalledMs, ending.signal);
  }
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

/**
 * Returns a response body of chunks. Reads the first chunk before it returns, so that an error can
 * still change the status. Then reads chunks as the client consumes them. `chunks` ends when the
 * client disconnects. If the client reads nothing for `stalledMs`, it also ends, and the connection
 * breaks, as it does when `signal` is aborted.
 */
async function streamChunks(
  chunks: AsyncGenerator<Uint8Array, undefined>,
  stalledMs: number,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  let first: IteratorResult<Uint8Array, undefined> | undefined = await chunks.next();
  let timer: Timer | undefined;

  function expectProgress(controller: ReadableStreamDefaultController<Uint8Array>): void {
    timer = setTimeout(() => breakOff(controller, "The client has stopped reading."), stalledMs);
  }

  function breakOff(controller: ReadableStreamDefaultController<Uint8Array>, reason: string): void {
    end();
    controller.error(new Error(reason));
  }

  function end(): void {
    clearTimeout(timer);
    chunks.return(undefined).catch(() => undefined);
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        expectProgress(controller);
        const abort = (): void => breakOff(controller, "The response has been ended.");
        signal.addEventListener("abort", abort, { once: true });
      },
      async pull(controller) {
        clearTimeout(timer);
        const { value, done } = first ?? (await chunks.next());
        first = undefined;
        if (done === true) {
          controller.close();
          return;
        }
        controller.enqueue(value);
        expectProgress(controller);
      },
      cancel: end,
    },
    // Requests a chunk after the previous one has been sent.
    { highWaterMark: 0 },
  );
}
