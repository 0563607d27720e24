/**
 * Keeps the cache true to the links feed: follows every change by a cursor of its own, and fetches
 * what is not in memory. When it cannot tell what it has missed, it empties the cache rather than guess.
 */
import { AckPolicy, DeliverPolicy, Events, type NatsConnection, type StreamInfo } from "nats";

import { decodeLinkRecord, type LinkRecord } from "../shared/contracts/link-record.ts";
import { ensureLinksStream, LINKS_STREAM, linkSubject } from "../shared/contracts/streams.ts";
import type { Log } from "../shared/log.ts";
import type { LinkCache } from "./cache/link-cache.ts";

/** How long one pull waits for changes, and how often the cursor is compared with the stream. */
const PULL_EXPIRES_MS = 2_000;
const PULL_BATCH = 500;

const RETRY_MS = 250;

/** The server forgets a reader that has not pulled for this long; then a new one follows on. */
const READER_INACTIVE_NS = 30_000_000_000;

const NOT_FOUND = 404;
const FETCH_RETRY_MS = 50;

/** A fetch that takes longer fails; the request is then answered 503. */
const FETCH_TIMEOUT_MS = 2_000;

export type LinkFeed = {
  /** Brings a short link into the cache; many requests for one share a fetch. False when it does not exist. */
  fetch(domain: string, alias: string): Promise<boolean>;
  /** `ok` while the cache follows the feed, else why not. */
  state(): string;
  /** Where the cache stands; undefined before the first contact. */
  cursor(): Cursor | undefined;
  /** Sequence numbers the cache is behind the stream, as last seen. */
  lag(): number;
  stop(): void;
};

/** Where the cache stands: which stream, by its creation time, and the last change taken in. */
export type Cursor = { stream: string; sequence: number };

type LinkFeedDeps = {
  nats: Promise<NatsConnection>;
  cache: LinkCache;
  /** Where what is in the cache already was taken. */
  from: Cursor | undefined;
  log: Log;
};

/** Starts following the feed; NATS may come and go. */
export function startLinkFeed({ nats, cache, from, log }: LinkFeedDeps): LinkFeed {
  const fetching = new Map<string, Promise<boolean>>();
  let cursor = from;
  let state = "not connected yet";
  let lag = 0;
  let stopped = false;

  /** A change of a link that is being fetched must be kept: the fetch may bring the state before it. */
  function take(record: LinkRecord): void {
    if (fetching.has(linkSubject(record.domain, record.alias))) cache.put(record);
    else cache.update(record);
  }

  async function follow(connection: NatsConnection): Promise<void> {
    const manager = await connection.jetstreamManager();
    await ensureLinksStream(manager);
    const info = await manager.streams.info(LINKS_STREAM);
    cursor = resume(cursor, info, () => {
      log.warn("feed_position_lost");
      cache.clear();
    });
    lag = info.state.last_seq - cursor.sequence;
    if (lag === 0) state = "ok";
    const reader = await manager.consumers.add(LINKS_STREAM, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: cursor.sequence + 1,
      inactive_threshold: READER_INACTIVE_NS,
      mem_storage: true,
      num_replicas: 1,
    });
    const consumer = await connection.jetstream().consumers.get(LINKS_STREAM, reader.name);
    while (!stopped) {
      const messages = await consumer.fetch({ max_messages: PULL_BATCH, expires: PULL_EXPIRES_MS });
      for await (const message of messages) {
        const record = decodeLinkRecord(message.data);
        if (record !== undefined) take(record);
        cursor.sequence = message.seq;
        lag = message.info.pending;
        if (lag === 0) state = "ok";
      }
      // A silent feed proves nothing: only the stream itself knows whether a change is missing.
      const { state: stream, created } = await manager.streams.info(LINKS_STREAM);
      lag = Math.max(0, stream.last_seq - cursor.sequence);
      if (created !== cursor.stream || stream.last_seq < cursor.sequence) return;
      if (lag === 0) state = "ok";
    }
  }

  async function run(): Promise<void> {
    const connection = await nats;
    void watchConnection(connection);
    while (!stopped) {
      try {
        await follow(connection);
      } catch (error) {
        if (stopped) return;
        state = "feed interrupted";
        log.warn({ error }, "feed_interrupted");
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  async function fetchLink(domain: string, alias: string): Promise<boolean> {
    const deadline = Date.now() + FETCH_TIMEOUT_MS;
    for (;;) {
      const left = deadline - Date.now();
      try {
        const record = await readLink(await within(left, nats), linkSubject(domain, alias), left);
        if (record === undefined) return false;
        cache.put(record);
        return true;
      } catch (error) {
        // A server that has just come back answers before its streams do.
        if (Date.now() + FETCH_RETRY_MS >= deadline) throw error;
        await Bun.sleep(FETCH_RETRY_MS);
      }
    }
  }

  async function watchConnection(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      // Ready again only after the stream itself has said that nothing is missing.
      if (type === Events.Disconnect) state = "disconnected";
    }
  }

  void run();
  return {
    fetch(domain, alias) {
      const subject = linkSubject(domain, alias);
      const running = fetching.get(subject);
      if (running !== undefined) return running;
      const started = fetchLink(domain, alias).finally(() => fetching.delete(subject));
      fetching.set(subject, started);
      return started;
    },
    state: () => state,
    cursor: () => (cursor === undefined ? undefined : { ...cursor }),
    lag: () => lag,
    stop: () => void (stopped = true),
  };
}

/**
 * Where to go on reading. A cursor goes on in the very stream it was made for, and only if that
 * stream has not been set back; else the cache is `lost`, and reading starts at the end: what is asked
 * for then is fetched. Sequences missing in between are states that later ones replaced.
 */
export function resume(
  cursor: Cursor | undefined,
  info: Pick<StreamInfo, "created"> & { state: { last_seq: number } },
  lost: () => void,
): Cursor {
  const { last_seq } = info.state;
  if (cursor !== undefined) {
    if (cursor.stream === info.created && last_seq >= cursor.sequence) return cursor;
    lost();
  }
  return { stream: info.created, sequence: last_seq };
}

/** One direct get: the last state of a short link, or undefined when there is none. */
async function readLink(
  connection: NatsConnection,
  subject: string,
  timeout: number,
): Promise<LinkRecord | undefined> {
  const answer = await connection.request(
    `$JS.API.DIRECT.GET.${LINKS_STREAM}.${subject}`,
    undefined,
    {
      timeout: Math.max(1, timeout),
    },
  );
  // JetStream answers without data when it has no message: 404 is the answer "no such link".
  const status = answer.data.length === 0 ? answer.headers?.code : undefined;
  if (status === NOT_FOUND) return undefined;
  if (status !== undefined) throw new Error(`JetStream answered ${status}.`);
  return decodeLinkRecord(answer.data);
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`NATS did not answer within ${ms} ms.`)),
    ms,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    // Left running, one of each miss would be in memory for as long.
    clearTimeout(timer);
  }
}
