/**
 * Subscribes to the links feed: applies every change to the cache, from a cursor of its own, and fetches links that
 * are not cached. If the stream was rolled back or recreated, the cache is cleared.
 */
import { AckPolicy, DeliverPolicy, Events, type NatsConnection, type StreamInfo } from "nats";

import { decodeLinkRecord, type LinkRecord } from "../shared/contracts/link-record.ts";
import { ensureLinksStream, LINKS_STREAM, linkSubject } from "../shared/contracts/streams.ts";
import type { Log } from "../shared/log.ts";
import { withTimeout } from "../shared/timeout.ts";
import type { LinkCache } from "./cache/link-cache.ts";

/** How long one pull waits for changes, and so how often the cursor is compared with the stream. */
const PULL_EXPIRES_MS = 2_000;
const PULL_BATCH = 500;

const RETRY_MS = 250;

/** The server deletes a consumer that has not pulled for this long; a new one resumes from the cursor. */
const CONSUMER_INACTIVE_NS = 30_000_000_000;

const NOT_FOUND = 404;
const FETCH_RETRY_MS = 50;

/** A fetch that takes longer fails; the response is then 503. */
const FETCH_TIMEOUT_MS = 2_000;

export type LinkSubscriber = {
  /**
   * Fetches a short link into the cache; concurrent requests for a link are coalesced. Returns false when the link
   * does not exist. Throws when NATS does not respond in time.
   */
  fetch(domain: string, alias: string): Promise<boolean>;
  /** `ok` when the cache is up to date with the feed, else the reason why not. */
  state(): string;
  /** The cache's position in the feed; undefined before the first connection. */
  cursor(): Cursor | undefined;
  /** Messages of the stream that the cache has not applied; undefined while that is unknown. */
  lag(): number | undefined;
  stop(): void;
};

/** A position in the feed: the stream, identified by its creation time, and the last change applied. */
export type Cursor = { stream: string; sequence: number };

type LinkSubscriberDeps = {
  nats: Promise<NatsConnection>;
  /** Copies of the stream, if this process creates it. */
  streamReplicas: number;
  cache: LinkCache;
  /** The position of the records that are in the cache already. */
  initialCursor: Cursor | undefined;
  log: Log;
};

/** Subscribes to the feed, and resubscribes when NATS was unavailable. */
export function startLinkSubscriber({
  nats,
  streamReplicas,
  cache,
  initialCursor,
  log,
}: LinkSubscriberDeps): LinkSubscriber {
  const fetching = new Map<string, Promise<boolean>>();
  let cursor = initialCursor;
  let state = "not connected yet";
  let lag: number | undefined;
  let stopped = false;

  /** Stores a change of a link that is being fetched in any case: the fetch may return the version before it. */
  function apply(record: LinkRecord): void {
    if (fetching.has(linkSubject(record.domain, record.alias))) cache.put(record);
    else cache.update(record);
  }

  async function consume(connection: NatsConnection): Promise<void> {
    const manager = await connection.jetstreamManager();
    await ensureLinksStream(manager, streamReplicas);
    const info = await manager.streams.info(LINKS_STREAM);
    cursor = resume(cursor, info, () => {
      log.warn("feed_position_lost");
      cache.clear();
    });
    lag = info.state.last_seq - cursor.sequence;
    if (lag === 0) state = "ok";
    const { name } = await manager.consumers.add(LINKS_STREAM, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: cursor.sequence + 1,
      inactive_threshold: CONSUMER_INACTIVE_NS,
      mem_storage: true,
      num_replicas: 1,
    });
    const consumer = await connection.jetstream().consumers.get(LINKS_STREAM, name);
    while (!stopped) {
      const messages = await consumer.fetch({ max_messages: PULL_BATCH, expires: PULL_EXPIRES_MS });
      for await (const message of messages) {
        const record = decodeLinkRecord(message.data);
        if (record !== undefined) apply(record);
        cursor.sequence = message.seq;
        lag = message.info.pending;
        if (lag === 0) state = "ok";
      }
      // No message does not mean no change: only the stream's own state shows whether the cursor is at its end.
      const { state: stream, created } = await manager.streams.info(LINKS_STREAM);
      lag = Math.max(0, stream.last_seq - cursor.sequence);
      if (created !== cursor.stream || stream.last_seq < cursor.sequence) return;
      if (lag === 0) state = "ok";
    }
  }

  async function run(): Promise<void> {
    const connection = await nats;
    watchConnection(connection).catch((error: unknown) =>
      log.warn({ error }, "nats_status_not_followed"),
    );
    while (!stopped) {
      try {
        await consume(connection);
      } catch (error) {
        if (stopped) return;
        state = "feed interrupted";
        lag = undefined;
        log.warn({ error }, "feed_interrupted");
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  async function fetchLink(domain: string, alias: string): Promise<boolean> {
    const deadline = Date.now() + FETCH_TIMEOUT_MS;
    for (;;) {
      const remainingMs = deadline - Date.now();
      try {
        const record = await readLink(
          await withTimeout(nats, remainingMs),
          linkSubject(domain, alias),
          remainingMs,
        );
        if (record === undefined) return false;
        cache.put(record);
        return true;
      } catch (error) {
        // A server that has just restarted accepts requests before its streams do.
        if (Date.now() + FETCH_RETRY_MS >= deadline) throw error;
        await Bun.sleep(FETCH_RETRY_MS);
      }
    }
  }

  async function watchConnection(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      // `consume` sets `ok` again once the stream's state shows that no change is missing.
      if (type !== Events.Disconnect) continue;
      state = "disconnected";
      lag = undefined;
    }
  }

  void run();
  return {
    fetch(domain, alias) {
      const subject = linkSubject(domain, alias);
      const inFlight = fetching.get(subject);
      if (inFlight !== undefined) return inFlight;
      const fetched = fetchLink(domain, alias).finally(() => fetching.delete(subject));
      fetching.set(subject, fetched);
      return fetched;
    },
    state: () => state,
    cursor: () => (cursor === undefined ? undefined : { ...cursor }),
    lag: () => lag,
    stop: () => void (stopped = true),
  };
}

/**
 * Returns the cursor to read from. A cursor stays valid in the stream that it was created for, unless that stream
 * was rolled back; otherwise calls `onLost` and returns the end of the stream, as links that are requested then are
 * fetched. Gaps in the sequence are no loss: they are versions that later ones replaced.
 */
export function resume(
  cursor: Cursor | undefined,
  info: Pick<StreamInfo, "created"> & { state: { last_seq: number } },
  onLost: () => void,
): Cursor {
  const { last_seq } = info.state;
  if (cursor !== undefined) {
    if (cursor.stream === info.created && last_seq >= cursor.sequence) return cursor;
    onLost();
  }
  return { stream: info.created, sequence: last_seq };
}

/** Reads the last record of a short link by a direct get; undefined when there is none. */
async function readLink(
  connection: NatsConnection,
  subject: string,
  timeout: number,
): Promise<LinkRecord | undefined> {
  const response = await connection.request(
    `$JS.API.DIRECT.GET.${LINKS_STREAM}.${subject}`,
    undefined,
    { timeout: Math.max(1, timeout) },
  );
  // JetStream responds with a status and no data when it has no message; 404 means that there is no such link.
  const status = response.data.length === 0 ? response.headers?.code : undefined;
  if (status === NOT_FOUND) return undefined;
  if (status !== undefined) throw new Error(`JetStream responded with status ${status}.`);
  return decodeLinkRecord(response.data);
}
