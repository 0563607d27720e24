/** Lists and exports single clicks, for clients with their own data warehouse. */
import type * as z from "zod";

import { ofEachUtm, type UtmName } from "../../shared/contracts/analytics.ts";
import { component } from "../../shared/contracts/components.ts";
import { LINK_ID } from "../../shared/contracts/examples.ts";
import { UTM_EXAMPLES } from "../../shared/contracts/link-fields.ts";
import type { Uuid } from "../../shared/ids.ts";
import { analyticsQuery } from "../analytics/model.ts";
import {
  city,
  clickFields,
  completeFrom,
  completeFromField,
  country,
  linkId,
  region,
  regionName,
} from "../analytics/responses.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import type { ClicksReader } from "../clickhouse.ts";
import { type LedgerWriter, toJson } from "../events/record.ts";
import { idParameter, text, wholeNumber } from "../http/common-schemas.ts";
import { ApiError } from "../http/errors.ts";
import {
  cursorParameter,
  cutPart,
  entriesOf,
  nextCursor,
  readCursor,
  writeNext,
} from "../http/pagination.ts";
import type { Confirm, Writer } from "../http/principal.ts";
import { exportClicks } from "./export.ts";
import {
  type CLICK_FIELDS,
  type ClickCursor,
  clickCursor,
  readNewestClicks,
} from "./single-clicks.ts";

/** Maximum clicks of one page. */
export const CLICKS_PAGE_MAX = 1_000;

export const exportQuery = analyticsQuery.extend({
  link_id: idParameter("link", "Only clicks of this link.", LINK_ID).optional(),
});

type ExportQuery = z.output<typeof exportQuery>;

export const clicksQuery = exportQuery.extend({
  limit: wholeNumber(1, CLICKS_PAGE_MAX)
    .default(100)
    .meta({ description: "The maximum number of entries to return.", examples: [20] }),
  starting_after: cursorParameter(),
});

type ClicksQuery = z.output<typeof clicksQuery>;

const utm = (name: UtmName) =>
  text(`\`${name}\` of the click; empty for none.`, UTM_EXAMPLES[name]);

/** In the order of {@link CLICK_FIELDS}. */
const fields = {
  id: text(
    "The click's position in a redirector's journal, which identifies it.",
    "0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3",
  ),
  time: clickFields.time,
  link_id: linkId,
  class: clickFields.class,
  class_reason: text(
    "Why the click is classified as a bot or prefetch; empty for people.",
    "googlebot",
  ),
  country,
  region,
  city,
  continent: text("The continent's code; empty when it is unknown.", "EU"),
  device: clickFields.device,
  browser: clickFields.browser,
  os: clickFields.os,
  referrer: clickFields.referrer,
  referrer_path: text("The path of the page that linked here.", "/news"),
  language: text("The preferred language of the browser.", "de"),
  host: text("The short domain that was visited.", "short.example.com"),
  trigger: text("`qr` for a scan of the link's QR code, else `link`.", "link"),
  imported: text("`yes` for a visit of another product, which was imported, else `no`.", "no"),
  ...ofEachUtm(utm),
  region_name: regionName,
} satisfies Record<(typeof CLICK_FIELDS)[number], z.ZodString>;

const listedClick = component(
  "ListedClick",
  "A click. It has neither an address nor a user agent.",
  fields,
);

export const clicksResponse = component("ListedClicks", "A page of single clicks.", {
  data: entriesOf(listedClick),
  next_cursor: nextCursor,
  complete_from: completeFromField.complete_from.meta({
    description: "Present when clicks of the period have been deleted: earlier clicks are missing.",
  }),
});

type ClicksResponse = z.output<typeof clicksResponse>;

/** How fast a client must take its export to keep it while other accounts wait for one. */
export const PACE = {
  bytesPerSecond: 1_000_000,
  /** Milliseconds by which it may be late: a connection may pause. */
  lateMs: 10_000,
};

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
    const { rows: data, next } = cutPart(rows, query.limit, ({ time, id }): ClickCursor => ({
      ms: Date.parse(time),
      id,
    }));
    return { data, next_cursor: writeNext(next), ...completeFrom(range) };
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

/** Exports that run in a process: few, because each holds two parts in memory. */
const EXPORTS_MAX = 3;

/** Seconds after which a client may request an export again. */
const RETRY_SECONDS = 5;

type Running = {
  /** Breaks the export's connection. */
  end: () => void;
  /** Milliseconds by which the client may be late with what it takes next. */
  spareMs: number;
  /** Since when it has had a chunk to take; undefined while the export reads the next one. */
  waitingSince: number | undefined;
};

/**
 * The exports that run in a process. Each is of another account, and a client that takes its export
 * slowly keeps it only until another account wants one.
 */
export class RunningExports {
  readonly #pace: typeof PACE;
  readonly #now: () => number;
  readonly #running = new Map<Uuid, Running>();

  constructor(pace = PACE, now: () => number = () => performance.now()) {
    this.#pace = pace;
    this.#now = now;
  }

  /**
   * Runs an export. Throws `rate_limited` for a second one of an account, and `unavailable` beyond
   * {@link EXPORTS_MAX} while no client of another is late. `end` is called to break the connection
   * of this one when its own client is.
   */
  async *run(
    accountId: Uuid,
    start: () => AsyncGenerator<Uint8Array, undefined>,
    end: () => void,
  ): AsyncGenerator<Uint8Array, undefined> {
    const retry = { retryAfterSeconds: RETRY_SECONDS };
    if (this.#running.has(accountId))
      throw new ApiError("rate_limited", "An export of this account is running.", retry);
    if (this.#running.size >= EXPORTS_MAX && !this.#endLatest())
      throw new ApiError("unavailable", "Too many exports are running. Try again shortly.", retry);
    const own: Running = { end, spareMs: this.#pace.lateMs, waitingSince: undefined };
    this.#running.set(accountId, own);
    try {
      return yield* this.#follow(start(), own);
    } finally {
      // The account may have another one since this one was ended.
      if (this.#running.get(accountId) === own) this.#running.delete(accountId);
    }
  }

  /** Ends the export whose client is latest; returns false if none is late. */
  #endLatest(): boolean {
    const [latest] = [...this.#running].toSorted(
      ([, a], [, b]) => this.#latenessOf(b) - this.#latenessOf(a),
    );
    if (latest === undefined || this.#latenessOf(latest[1]) <= 0) return false;
    const [accountId, { end }] = latest;
    this.#running.delete(accountId);
    end();
    return true;
  }

  /** Yields the chunks, and measures how long the client takes for each. */
  async *#follow(
    chunks: AsyncGenerator<Uint8Array, undefined>,
    own: Running,
  ): AsyncGenerator<Uint8Array, undefined> {
    const { bytesPerSecond, lateMs } = this.#pace;
    for await (const chunk of chunks) {
      own.waitingSince = this.#now();
      yield chunk;
      const earnedMs = (1_000 * chunk.length) / bytesPerSecond;
      own.spareMs = Math.min(lateMs, Math.max(0, -this.#latenessOf(own)) + earnedMs);
      own.waitingSince = undefined;
    }
    return undefined;
  }

  /** Milliseconds by which a client is later than it may be; negative for one that is not. */
  #latenessOf({ spareMs, waitingSince }: Running): number {
    return (waitingSince === undefined ? 0 : this.#now() - waitingSince) - spareMs;
  }
}
