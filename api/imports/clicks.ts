/**
 * Visits as clicks: encoded into segments of a journal of the import's own, and published to the
 * stream of all clicks. So workers store each once, however often it is published, in the batches
 * of live clicks, and derive from it what they derive from those.
 */
import { type ConsumerInfo, type JetStreamManager, type NatsConnection, NatsError } from "nats";

import {
  type Click,
  encodeClick,
  RECORD_BYTES_MAX,
  toRequestClick,
} from "../../shared/contracts/click-record.ts";
import {
  encodeSegmentHeader,
  formatSegmentId,
  SEGMENT_BYTES_MAX,
  SEGMENT_CLICKS_MAX,
  SEGMENT_HEADER_BYTES,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import { formatImportedVisit } from "../../shared/contracts/imported-visit.ts";
import { CLICKS_STREAM, CLICKS_SUBJECT, CLICKS_WORKER } from "../../shared/contracts/streams.ts";
import { pause } from "../../shared/timeout.ts";
import type { SourceVisits } from "./source.ts";
import type { ImportLink, ImportRow } from "./sql.ts";

/**
 * Segments that wait for workers, those of redirectors included, while an import publishes: those
 * of two batches, so that one is collected while the other is inserted. With more, live clicks
 * would wait for more of them.
 */
const WAITING_MAX = 48;

/** How often it is looked whether workers have stored some. */
const POLL_MS = 50;

/** Time of an attempt to publish, and pause before the next while NATS is away. */
const PUBLISH_MS = 5_000;
const RETRY_MS = 1_000;

/** The first time of a visit, as ClickHouse has none before 1970, and how late the last may be. */
const EARLIEST = 0;
const AHEAD_MAX_MS = 86_400_000;

/** Whether clicks can have this time. */
export const isTime = (at: Date, now = Date.now()): boolean =>
  at.getTime() >= EARLIEST && at.getTime() <= now + AHEAD_MAX_MS;

/** The clicks of some visits of a link: as many as it counts. */
export function* toClicks(
  { number, account_id, mode }: ImportRow,
  { link_id, host }: ImportLink,
  visits: SourceVisits,
): Generator<Click> {
  const { country = "", region = "", city = "", device = "", browser = "", os = "" } = visits;
  const known = { country, region, city, device, browser, os };
  const click: Click = {
    time: visits.at.getTime(),
    linkId: link_id,
    accountId: account_id,
    mode,
    prefetch: false,
    embedded: false,
    scanned: false,
    privacy: false,
    address: visits.address ?? "",
    host,
    userAgent: visits.userAgent ?? "",
    referrer: visits.referrer ?? "",
    language: "",
    query: formatImportedVisit({ import: number, isVisit: !visits.daily, ...known }),
    imported: true,
  };
  for (let i = 0; i < visits.count; i++) yield click;
}

/** A segment that is to be published. */
export type ImportSegment = { clicks: number; records: Buffer };

/**
 * Divides clicks into segments: each has clicks of one month, as ClickHouse has a part for each,
 * and no more than a redirector's. The first ones have as many clicks as `planned` says: a run
 * that was killed may have published them.
 */
export function* toSegments(
  clicks: Iterable<Click>,
  planned: readonly number[],
): Generator<ImportSegment> {
  const writer = new RecordWriter();
  let month = "";
  let made = 0;
  for (const click of clicks) {
    const own = new Date(click.time).toISOString().slice(0, "YYYY-MM".length);
    const plan = planned[made];
    const isOver = plan === undefined ? own !== month : writer.clicks >= plan;
    if (writer.clicks > 0 && (isOver || writer.isFull)) {
      yield writer.take();
      made++;
    }
    month = own;
    writer.add(click);
  }
  if (writer.clicks > 0) yield writer.take();
}

class RecordWriter {
  readonly #buffer = Buffer.alloc(SEGMENT_BYTES_MAX);
  #end = 0;
  #clicks = 0;

  get clicks(): number {
    return this.#clicks;
  }

  get isFull(): boolean {
    const left = SEGMENT_BYTES_MAX - SEGMENT_HEADER_BYTES - this.#end;
    return this.#clicks >= SEGMENT_CLICKS_MAX || left < RECORD_BYTES_MAX;
  }

  add(click: Click): void {
    this.#end = encodeClick(this.#buffer, this.#end, toRequestClick(click));
    this.#clicks++;
  }

  take(): ImportSegment {
    const segment = {
      clicks: this.#clicks,
      records: Buffer.from(this.#buffer.subarray(0, this.#end)),
    };
    [this.#end, this.#clicks] = [0, 0];
    return segment;
  }
}

/** Publishes segments no faster than workers store them. */
export class SegmentPublisher {
  readonly #nats: NatsConnection;
  readonly #signal: AbortSignal;
  #manager: JetStreamManager | undefined;
  /** Segments that may be published before it is looked again, and that look. */
  #room = 0;
  #looking: Promise<void> | undefined;

  constructor(nats: NatsConnection, signal: AbortSignal) {
    this.#nats = nats;
    this.#signal = signal;
  }

  /** Publishes a segment, as often as needed; the stream has it then. */
  async publish(id: SegmentId, { records }: ImportSegment): Promise<void> {
    const data = Buffer.concat([encodeSegmentHeader(id), records]);
    while (this.#room <= 0) await (this.#looking ??= this.#look());
    this.#room--;
    const options = { msgID: formatSegmentId(id), timeout: PUBLISH_MS };
    await this.#retry(() => this.#nats.jetstream().publish(CLICKS_SUBJECT, data, options));
  }

  /** Looks how many segments may follow, and waits if none may. */
  async #look(): Promise<void> {
    try {
      const { num_pending, num_ack_pending } = await this.#readConsumer();
      this.#room = WAITING_MAX - num_pending - num_ack_pending;
      if (this.#room <= 0) await this.#pause(POLL_MS);
    } finally {
      this.#looking = undefined;
    }
  }

  /** Resolves when workers have stored all that is in the stream. */
  async drain(): Promise<void> {
    const { state } = await this.#retry(async () => {
      const manager = await this.#nats.jetstreamManager({ checkAPI: false });
      return await manager.streams.info(CLICKS_STREAM);
    });
    while ((await this.#readConsumer()).ack_floor.stream_seq < state.last_seq)
      await this.#pause(POLL_MS);
  }

  /** The consumer says how far workers have stored the stream. */
  #readConsumer(): Promise<ConsumerInfo> {
    return this.#retry(async () => {
      this.#manager ??= await this.#nats.jetstreamManager({ checkAPI: false });
      return await this.#manager.consumers.info(CLICKS_STREAM, CLICKS_WORKER);
    });
  }

  /** Repeats what failed because NATS is away, or its stream is full, until the run ends. */
  async #retry<T>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof NatsError) || error.isPermissionError()) throw error;
        await this.#pause(RETRY_MS);
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, this.#signal);
    this.#signal.throwIfAborted();
  }
}
