/**
 * Live clicks of links: a stream of server-sent events for each client, as many as an account and a
 * process may have, fed by the polls that all clients of a link share.
 */
import { HOUR_MS } from "../../shared/durations.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import { ApiError } from "../http/errors.ts";
import type { AccountScope, Confirm } from "../http/principal.ts";
import { type Claim, requireClaimed } from "../limits/quotas.ts";
import type { Sql } from "../postgres.ts";
import { type LiveRow, POLL_MS } from "./click-poller.ts";

/** Maximum streams per process; their buffers take at most 75 MiB. */
const STREAMS_MAX = 300;

/** Where streams get clicks. */
export interface ClickFeed {
  /** Calls `subscriber` once with each new click, until the returned function is called. */
  subscribe(linkId: Uuid, subscriber: (rows: readonly LiveRow[]) => void): () => void;
  /** Reads the latest clicks of a link since an instant (Unix milliseconds), oldest first. */
  readSince(linkId: Uuid, since: number): Promise<LiveRow[]>;
}

export type LiveReader = {
  owner: AccountScope;
  linkId: Uuid;
  /** The `Last-Event-ID` header of the client. */
  lastEventId: string | null;
  /** Whether a click passes the reader's filters. */
  matches: (row: LiveRow) => boolean;
  /** Called every second: the stream ends when it throws. */
  confirm: Confirm;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
};

/** The streams of a process. */
export class LiveClicks {
  readonly #feed: ClickFeed;
  readonly #leases: StreamLeases;
  readonly #open = new Set<LiveStream>();
  #opening = 0;
  #stopped = false;

  constructor(feed: ClickFeed, leases: StreamLeases) {
    this.#feed = feed;
    this.#leases = leases;
  }

  /**
   * Opens a stream; throws `quota_exceeded` beyond the account's maximum of open streams, and
   * `unavailable` beyond the process's.
   */
  async open(reader: LiveReader): Promise<ReadableStream<Uint8Array>> {
    if (this.#stopped || this.#open.size + this.#opening >= STREAMS_MAX) {
      throw new ApiError("unavailable", "Too many live streams are open. Try again shortly.", {
        retryAfterSeconds: 5,
      });
    }
    this.#opening++;
    try {
      let stream: LiveStream | undefined;
      let isLost = false;
      const releaseLease = await this.#leases.acquire(reader.owner, () => {
        isLost = true;
        stream?.end();
      });
      stream = new LiveStream(this.#feed, reader, (ended) => {
        this.#open.delete(ended);
        // A lease that cannot be released expires by itself.
        releaseLease().catch(() => undefined);
      });
      this.#open.add(stream);
      const events = stream.start();
      if (isLost || reader.signal.aborted) stream.end();
      return events;
    } finally {
      this.#opening--;
    }
  }

  count(): number {
    return this.#open.size;
  }

  /** Ends all streams and rejects new ones. */
  stop(): void {
    this.#stopped = true;
    for (const stream of this.#open) stream.end();
  }
}

/**
 * Buffer of a slow client, beyond which its stream ends: about a thousand events, as many as one
 * poll returns.
 */
const BUFFER_BYTES = 256 * 1024;

/** Maximum new clicks that are held back while a resuming client's missed clicks are read. */
const PENDING_CLICKS_MAX = 5_000;

/** A client that was disconnected for longer starts from now. */
const RESUME_MS = HOUR_MS;

/** Lifetime of a stream; the client then reconnects. */
const DURATION_MS = 600_000;

/** Interval of comments that keep proxies from closing an idle connection. */
const KEEP_ALIVE_MS = 15_000;

/** The last click that a client received: its time (Unix milliseconds) and position. */
type ResumePoint = { ms: number; position: string };

const encoder = new TextEncoder();

/**
 * A stream of events for one client. It ends when the client disconnects, falls behind or loses its
 * authorisation, or when its lifetime is over.
 */
class LiveStream {
  readonly #feed: ClickFeed;
  readonly #reader: LiveReader;
  readonly #onEnd: (stream: LiveStream) => void;
  readonly #startedAt = Date.now();
  readonly #resumeFrom: ResumePoint | undefined;
  /** Positions of the missed clicks that have been sent. */
  readonly #replayed = new Set<string>();
  /** New clicks that wait until the missed ones have been sent. */
  #pending: LiveRow[] | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #unsubscribe = (): void => undefined;
  #lastWriteAt = this.#startedAt;
  #ended = false;

  /** `onEnd` is called once, when the stream ends. */
  constructor(feed: ClickFeed, reader: LiveReader, onEnd: (stream: LiveStream) => void) {
    this.#feed = feed;
    this.#reader = reader;
    this.#onEnd = onEnd;
    this.#resumeFrom = parseLastEventId(reader.lastEventId, this.#startedAt);
    if (this.#resumeFrom !== undefined) this.#pending = [];
  }

  start(): ReadableStream<Uint8Array> {
    const events = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        cancel: () => this.end(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
    );
    const { linkId, signal } = this.#reader;
    this.#unsubscribe = this.#feed.subscribe(linkId, (rows) => this.#receive(rows));
    signal.addEventListener("abort", this.end);
    this.#write(`retry: ${POLL_MS}\n\n`);
    // If ClickHouse fails, the stream ends and the client reconnects.
    if (this.#resumeFrom !== undefined) this.#replayMissed(this.#resumeFrom).catch(this.end);
    this.#supervise().then(this.end, this.end);
    return events;
  }

  readonly end = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    this.#reader.signal.removeEventListener("abort", this.end);
    this.#onEnd(this);
    try {
      this.#controller?.close();
    } catch {
      // The client has disconnected, so the stream is closed already.
    }
  };

  #receive(rows: readonly LiveRow[]): void {
    if (this.#pending === undefined) this.#writeRows(rows);
    else if (this.#pending.length + rows.length > PENDING_CLICKS_MAX) this.end();
    else this.#pending.push(...rows);
  }

  async #replayMissed({ ms }: ResumePoint): Promise<void> {
    const missed = await this.#feed.readSince(this.#reader.linkId, ms);
    this.#writeRows(missed);
    for (const { position } of missed) this.#replayed.add(position);
    const arrived = this.#pending ?? [];
    this.#pending = undefined;
    this.#writeRows(arrived);
  }

  /** Asks each second whether the client may still have the clicks. */
  async #supervise(): Promise<void> {
    while (!this.#ended && Date.now() - this.#startedAt < DURATION_MS) {
      await this.#reader.confirm();
      if (Date.now() - this.#lastWriteAt >= KEEP_ALIVE_MS) this.#write(": still here\n\n");
      await Bun.sleep(POLL_MS);
    }
  }

  #writeRows(rows: readonly LiveRow[]): void {
    for (const row of rows) {
      if (this.#replayed.has(row.position) || !this.#isNew(row)) continue;
      if (this.#reader.matches(row)) this.#write(toEvent(row));
    }
  }

  /** Whether a click is after the resume point or, without one, after the start of the stream. */
  #isNew(row: LiveRow): boolean {
    const ms = Number(row.ms);
    const from = this.#resumeFrom;
    if (from === undefined) return ms >= this.#startedAt;
    return ms > from.ms || (ms === from.ms && row.position > from.position);
  }

  #write(text: string): void {
    if (this.#ended || this.#controller === undefined) return;
    if ((this.#controller.desiredSize ?? 0) <= 0) {
      this.end();
      return;
    }
    this.#lastWriteAt = Date.now();
    this.#controller.enqueue(encoder.encode(text));
  }
}

/**
 * The point to resume from; undefined when the id is absent, malformed, too old or in the future.
 */
function parseLastEventId(lastEventId: string | null, now: number): ResumePoint | undefined {
  const [, digits, position] =
    /^(\d{13})\.([0-9a-f-]{36}\.\d{1,10}\.\d{1,5})$/.exec(lastEventId ?? "") ?? [];
  if (digits === undefined || position === undefined) return undefined;
  const ms = Number(digits);
  return ms > now || now - ms > RESUME_MS ? undefined : { ms, position };
}

function toEvent({ ms, position, ...row }: LiveRow): string {
  const { class: kind, country, region, city, browser, os, device, referrer } = row;
  const data = JSON.stringify({
    time: new Date(Number(ms)).toISOString(),
    class: kind,
    country,
    region,
    city,
    browser,
    os,
    device,
    referrer,
  });
  return `id: ${ms}.${position}\nevent: click\ndata: ${data}\n\n`;
}

// The quota of concurrent live streams, exact across processes. Each open stream holds a lease in
// PostgreSQL, which its process renews; the leases of a killed process expire.

/** A lease's length: how long the streams of a killed process count against the quota. */
const LEASE_SECONDS = 15;

/** A third of a lease, so that streams survive one failed renewal. */
const RENEW_MS = (LEASE_SECONDS * 1_000) / 3;

/** A held lease; `until` (`performance.now()`) is when it is certainly still valid. */
type HeldLease = { onLost: () => void; until: number };

/** Leases of an account's live streams. */
interface StreamLeases {
  /**
   * Acquires a lease for a stream and returns a function that releases it. Throws `quota_exceeded`
   * when the account's quota of streams is exhausted. Calls `onLost` when the lease is lost before
   * it is released.
   */
  acquire(scope: AccountScope, onLost: () => void): Promise<() => Promise<void>>;
  stop(): void;
}

/** Leases in PostgreSQL, which all processes see. */
export class PostgresStreamLeases implements StreamLeases {
  readonly #sql: Sql;
  readonly #log: Log;
  readonly #held = new Map<Uuid, HeldLease>();
  readonly #renewals: Repetition;

  constructor(sql: Sql, log: Log) {
    this.#sql = sql;
    this.#log = log;
    this.#renewals = repeat(() => this.#beginRenewal(), RENEW_MS);
  }

  async acquire(scope: AccountScope, onLost: () => void): Promise<() => Promise<void>> {
    const id = newUuid();
    const until = endOfLease();
    requireClaimed("live_streams", await insertLease(this.#sql, id, scope));
    this.#held.set(id, { onLost, until });
    return async () => {
      this.#held.delete(id);
      await this.#sql`delete from stream_leases where id = ${id}`;
    };
  }

  stop(): void {
    void this.#renewals.stop();
  }

  /** Does not wait for PostgreSQL: leases end in time also while it does not respond. */
  #beginRenewal(): number {
    this.#loseUnrenewed();
    this.#renew().catch((error: unknown) => this.#log.warn({ error }, "stream_leases_not_renewed"));
    return RENEW_MS;
  }

  /**
   * Ends the streams whose leases may expire before the next renewal, because another stream could
   * replace them.
   */
  #loseUnrenewed(): void {
    const next = performance.now() + RENEW_MS;
    for (const [id, { until }] of this.#held) if (until <= next) this.#lose(id);
  }

  async #renew(): Promise<void> {
    const ids = [...this.#held.keys()];
    if (ids.length === 0) return;
    const until = endOfLease();
    const rows = await this.#sql<{ id: Uuid }[]>`
      update stream_leases set expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
       where id = any (${ids}::uuid[]) and expires_at > clock_timestamp()
      returning id`;
    const renewed = new Set(rows.map(({ id }) => id));
    for (const id of ids) {
      const lease = this.#held.get(id);
      if (lease !== undefined && renewed.has(id)) lease.until = until;
      else this.#lose(id);
    }
  }

  #lose(id: Uuid): void {
    const lease = this.#held.get(id);
    this.#held.delete(id);
    lease?.onLost();
  }
}

/**
 * The end of a lease that is written after this call (`performance.now()`): never later than
 * PostgreSQL's.
 */
const endOfLease = (): number => performance.now() + LEASE_SECONDS * 1_000;

/** Inserts a lease on a live stream, unless the account's quota of streams is exhausted. */
export async function insertLease(
  sql: Sql,
  id: Uuid,
  { accountId, mode }: AccountScope,
  seconds = LEASE_SECONDS,
): Promise<Claim> {
  const [claim] = await sql<[Claim]>`
    with quota as materialized (
      select granted, allowed from claim_quota(${accountId}, ${mode}, 'live_streams')
    ), inserted as (
      insert into stream_leases (id, account_id, mode, expires_at)
      select ${id}, ${accountId}, ${mode}, clock_timestamp() + make_interval(secs => ${seconds})
        from quota where granted
    )
    select * from quota`;
  return claim;
}
