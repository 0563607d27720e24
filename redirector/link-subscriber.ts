/**
 * Subscribes to the links feed: applies every change to the cache, from a cursor of its own, and fetches links that
 * are not cached. The cache keeps answering while the feed is away, and while its links are read again because the
 * stream was rolled back, recreated or filled again.
 */
import {
  AckPolicy,
  type ConsumerInfo,
  DeliverPolicy,
  Events,
  type JetStreamManager,
  type NatsConnection,
} from "nats";

import {
  decodeHeartbeat,
  DOMAIN_ALIAS,
  isNotice,
  TAKEDOWNS_ALIAS,
} from "../shared/contracts/feed-notices.ts";
import { DEFAULT_DOMAIN, type LinkRecord } from "../shared/contracts/link-record.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  LINKS_STREAM,
  linkSubject,
} from "../shared/contracts/streams.ts";
import type { Log } from "../shared/log.ts";
import type { Nats } from "../shared/nats.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import type { DomainAnswersCache } from "./domain-settings.ts";
import { continues, type Cursor, resume } from "./feed-position.ts";
import { createFeedRecords, type SkipReason } from "./feed-records.ts";
import {
  createLinkFetch,
  createSubjectReader,
  type FeedMessage,
  type FetchLink,
  MalformedRecordError,
  readNextMessage,
} from "./link-fetch.ts";
import { createRevalidation } from "./revalidation.ts";
import type { Takedowns } from "./takedowns.ts";

/**
 * How long one pull waits for changes, and so how often the cursor is compared with the stream. The client allows no
 * less.
 */
const PULL_EXPIRES_MS = 1_000;
const PULL_BATCH = 500;

/** How much longer a pull may take than it should; then its consumer is gone, with its server. */
const PULL_GRACE_MS = 300;

/**
 * During an election JetStream does not respond, and a request may have gone to a server that is no more: a short
 * timeout finds the new leader soon.
 */
const REQUEST_TIMEOUT_MS = 500;
const RETRY_MS = 100;
const POLL_MS = 10;

/** The server deletes a consumer that has not pulled for this long; a new one resumes from the cursor. */
const CONSUMER_INACTIVE_NS = 30_000_000_000;

/** How long a redirector that has a snapshot waits for the feed before it counts as ready without it. */
const START_GRACE_MS = 10_000;

/**
 * A new consumer begins so many messages before the cursor, as its server may number them differently (decision 17).
 * Applying a change again does nothing.
 */
const OVERLAP_MESSAGES = 1_000;

export type LinkSubscriber = {
  /**
   * Fetches a short link into the cache; concurrent requests for a link are coalesced. Returns its record; undefined when
   * the link does not exist. Throws when NATS does not respond in time, or does not have the link and may have lost it.
   */
  fetch(domain: string, alias: string): Promise<LinkRecord | undefined>;
  /** Reads the settings of a custom domain; false when it has none. Throws as `fetch` does. */
  fetchDomain(domain: string): Promise<boolean>;
  /**
   * `ok` once the cache was up to date with the feed, or when there is a snapshot and no feed; else the reason why
   * not. An outage of NATS later on is none: the cache can still answer.
   */
  readiness(): string;
  /** Resolves when the cache was up to date with the feed, or after `withinMs`. */
  waitUntilCurrent(withinMs: number): Promise<void>;
  /** `ok` when the cache is up to date with the feed, else the reason why not. */
  state(): string;
  /** Seconds since the last heartbeat of the feed was applied; since the start when there was none. */
  ageSeconds(): number;
  /** The cache's position in the feed; undefined before the first connection. */
  cursor(): Cursor | undefined;
  /** The epoch of the feed since which the cache is valid; undefined while cached links have to be read again. */
  epoch(): number | undefined;
  /** False when the feed has said that it lacks links. */
  complete(): boolean;
  /** Changes of links that the feed has delivered since the start. */
  changes(): number;
  /** Records of links that were skipped since the start, by reason. */
  skipped(): Readonly<Record<SkipReason, number>>;
  /** Messages of the stream that the cache has not applied; undefined while that is unknown. */
  lag(): number | undefined;
  stop(): void;
};

type LinkSubscriberDeps = {
  nats: Pick<Nats, "connection" | "connected">;
  /** Copies of the stream, if this process creates it. */
  streamReplicas: number;
  cache: LinkCache;
  takedowns: Takedowns;
  domains: DomainAnswersCache;
  /** The position of the records that are in the cache already. */
  initialCursor: Cursor | undefined;
  /** The epoch since which those records are valid. */
  initialEpoch?: number | undefined;
  log: Log;
  /** {@link OVERLAP_MESSAGES} and {@link PULL_BATCH}, unless a test varies them. */
  overlapMessages?: number;
  pullBatch?: number;
};

/** Subscribes to the feed, and resubscribes when NATS was unavailable. */
export function startLinkSubscriber({
  nats,
  streamReplicas,
  cache,
  takedowns,
  domains,
  initialCursor,
  initialEpoch,
  log,
  overlapMessages = OVERLAP_MESSAGES,
  pullBatch = PULL_BATCH,
}: LinkSubscriberDeps): LinkSubscriber {
  const records = createFeedRecords(log);
  const readSubject = createSubjectReader(nats, streamReplicas > 1);
  const fetchLink = createLinkFetch(readSubject, records);
  const fetching = new Map<string, Promise<LinkRecord | undefined>>();
  const startedAt = performance.now();
  let confirmedAt = startedAt;
  let cursor = initialCursor && { ...initialCursor };
  let state = "not connected yet";
  let wasUpToDate = false;
  let changes = 0;
  let lag: number | undefined;
  let stopped = false;
  const revalidation = createRevalidation({
    cache,
    domains,
    fetchLink: fetchExisting,
    fetchDomain,
    isStopped: () => stopped,
    initialEpoch,
    log,
  });

  function setLag(messages: number): void {
    lag = messages;
    if (lag > 0) return;
    state = "ok";
    wasUpToDate = true;
  }

  function setInterrupted(reason: string): void {
    state = reason;
    lag = undefined;
  }

  /** Stores a change of a link that is being fetched in any case: the fetch may return the version before it. */
  function store(record: LinkRecord): void {
    if (fetching.has(linkSubject(record.domain, record.alias))) cache.put(record);
    else cache.update(record);
  }

  function apply(message: FeedMessage, position: Cursor): void {
    const { subject, sequence, data } = message;
    records.apply(message, (record) => {
      if (record.alias === TAKEDOWNS_ALIAS) takedowns.apply(record);
      else if (isNotice(record)) domains.apply(record.domain, record);
      else store(record);
      changes++;
    });
    if (subject === HEARTBEAT_SUBJECT) {
      confirmedAt = performance.now();
      revalidation.onHeartbeat(decodeHeartbeat(data));
    }
    position.sequence = Math.max(position.sequence, sequence);
  }

  function onLost(): void {
    log.warn("feed_position_lost");
    revalidation.onLost();
  }

  /** Throws unless the stream is known to have every link. */
  async function requireComplete(): Promise<void> {
    // A stream that cannot be followed any more may have been rolled back.
    if (wasUpToDate && state !== "ok") throw new Error("The links feed was lost.");
    const heartbeat = await readSubject(HEARTBEAT_SUBJECT);
    // A stream without a heartbeat is new, and has not been filled yet.
    if (heartbeat === undefined || decodeHeartbeat(heartbeat.data)?.complete === false)
      throw new Error("The links feed lacks links.");
  }

  /** As `fetchLink`; throws when the stream does not have the link and may have lost it. */
  async function fetchExisting(domain: string, alias: string): Promise<LinkRecord | undefined> {
    const record = await fetchLink(domain, alias);
    if (record === undefined) await requireComplete();
    return record;
  }

  async function fetchDomain(domain: string): Promise<LinkRecord | undefined> {
    const record = await fetchExisting(domain, DOMAIN_ALIAS);
    domains.apply(domain, record);
    return record;
  }

  /** Follows the feed with one consumer, until the consumer or the position in the stream is lost. */
  async function consume(connection: NatsConnection): Promise<void> {
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await connection.jetstreamManager(options);
    const readInfo = () => manager.streams.info(LINKS_STREAM);
    await ensureLinksStream(manager, streamReplicas);
    const position = await resume(cursor, readInfo, onLost);
    cursor = position;
    // The cursor may lie behind the list, of which only the last version is in the stream. A feed that has no list any
    // more does not lift takedowns: it was lost.
    const list = await readTakedowns(fetchLink);
    if (list !== undefined) takedowns.apply(list);
    const added = await addConsumer(manager, Math.max(1, position.sequence + 1 - overlapMessages));
    const stream = await connection.jetstream(options).streams.get(LINKS_STREAM);
    const consumer = stream.getConsumerFromInfo(added);
    let delivered = 0;
    while (!stopped && nats.connected()) {
      const before = delivered;
      const messages = await consumer.fetch({
        max_messages: pullBatch,
        expires: PULL_EXPIRES_MS,
        bind: true,
      });
      const overdue = setTimeout(() => messages.stop(), PULL_EXPIRES_MS + PULL_GRACE_MS);
      try {
        for await (const { subject, seq: sequence, data, info } of messages) {
          // Messages were lost with a connection or a pull: another consumer begins behind the last one applied.
          if (info.deliverySequence !== ++delivered) return;
          apply({ subject, sequence, data }, position);
          setLag(info.pending);
        }
      } finally {
        clearTimeout(overdue);
      }
      // No message does not mean no change: only the stream's own state shows whether the cursor is at its end.
      const info = await readInfo();
      if (!continues(position, info)) return;
      setLag(info.state.last_seq - position.sequence);
      // The stream has more, and the consumer delivered nothing: it is gone. What it delivered says so, and not the
      // position, which does not move while it delivers the overlap.
      if (lag !== 0 && delivered === before) return;
    }
  }

  /** Applies what the replicas have, message by message, while no consumer can be had: elections take seconds. */
  async function applyWithoutConsumer(connection: NatsConnection): Promise<void> {
    if (cursor === undefined) return;
    for (let i = 0; i < pullBatch; i++) {
      const next = await readNextMessage(connection, cursor.sequence, REQUEST_TIMEOUT_MS);
      if (next === undefined) return;
      apply(next, cursor);
    }
  }

  async function run(): Promise<void> {
    const connection = await nats.connection;
    watchConnection(connection).catch((error: unknown) =>
      log.warn({ error }, "nats_status_not_followed"),
    );
    while (!stopped) {
      if (!nats.connected()) {
        await Bun.sleep(RETRY_MS);
        continue;
      }
      try {
        await consume(connection);
      } catch (error) {
        if (stopped) return;
        // Logged once for each interruption, not for each attempt.
        if (state !== INTERRUPTED) log.warn({ error }, "feed_interrupted");
        setInterrupted(INTERRUPTED);
        // What fails here as well is read later by a consumer.
        await applyWithoutConsumer(connection).catch(() => undefined);
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  async function fetchIntoCache(domain: string, alias: string): Promise<LinkRecord | undefined> {
    // Before the first link, so that none is followed that is taken down.
    if (!takedowns.isKnown()) takedowns.apply(await readTakedowns(fetchExisting));
    const record = await fetchExisting(domain, alias);
    if (record !== undefined) cache.put(record);
    return record;
  }

  async function watchConnection(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      // `consume` sets `ok` again once the stream's state shows that no change is missing.
      if (type === Events.Disconnect) setInterrupted("disconnected");
    }
  }

  /** Calls `read` unless the same is being fetched. */
  function coalesce(
    domain: string,
    alias: string,
    read: () => Promise<LinkRecord | undefined>,
  ): Promise<LinkRecord | undefined> {
    const subject = linkSubject(domain, alias);
    const inFlight = fetching.get(subject);
    if (inFlight !== undefined) return inFlight;
    const fetched = read().finally(() => fetching.delete(subject));
    fetching.set(subject, fetched);
    return fetched;
  }

  void run();
  return {
    fetch: (domain, alias) => coalesce(domain, alias, () => fetchIntoCache(domain, alias)),
    fetchDomain: async (domain) =>
      (await coalesce(domain, DOMAIN_ALIAS, () => fetchDomain(domain))) !== undefined,
    readiness() {
      const waited = performance.now() - startedAt >= START_GRACE_MS;
      return wasUpToDate || (initialCursor !== undefined && waited) ? "ok" : state;
    },
    async waitUntilCurrent(withinMs) {
      const deadline = performance.now() + withinMs;
      while (!wasUpToDate && !stopped && performance.now() < deadline) await Bun.sleep(POLL_MS);
    },
    state: () => state,
    ageSeconds: () => (performance.now() - confirmedAt) / 1_000,
    cursor: () => (cursor === undefined ? undefined : { ...cursor }),
    epoch: revalidation.epoch,
    complete: revalidation.isComplete,
    changes: () => changes,
    skipped: records.skipped,
    lag: () => lag,
    stop: () => void (stopped = true),
  };
}

const INTERRUPTED = "feed interrupted";

/** Reads the list of takedowns; one that is malformed is skipped, or no link could be followed at all. */
const readTakedowns = (fetchLink: FetchLink): Promise<LinkRecord | undefined> =>
  fetchLink(DEFAULT_DOMAIN, TAKEDOWNS_ALIAS).catch((error: unknown) => {
    if (error instanceof MalformedRecordError) return undefined;
    throw error;
  });

/** Adds a consumer for this process alone, in memory: when its server dies, another one resumes from the cursor. */
const addConsumer = (manager: JetStreamManager, start: number): Promise<ConsumerInfo> =>
  manager.consumers.add(LINKS_STREAM, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: start,
    inactive_threshold: CONSUMER_INACTIVE_NS,
    mem_storage: true,
    num_replicas: 1,
  });
