/**
 * Follows the links feed and writes it to the store of the host: each transaction has the changes and the position in
 * the feed behind them, so that a start goes on exactly where the last process ended. A stream that was rolled back or
 * recreated is read again from its beginning, while the store goes on answering.
 */
import {
  AckPolicy,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamManager,
  type NatsConnection,
} from "nats";

import { decodeHeartbeat, isNotice, TAKEDOWNS_ALIAS } from "../../shared/contracts/feed-notices.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  LINKS_STREAM,
  readHeartbeat,
  shortLinkOfSubject,
} from "../../shared/contracts/streams.ts";
import {
  type Change,
  type FeedState,
  toChange,
  toMalformed,
} from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { createCountCheck } from "./count-check.ts";
import { type FeedMessage, readNextMessage } from "./feed-message.ts";
import {
  continues,
  isOutdated,
  isReplicated,
  NUMBERING_DIFFERENCE_MAX,
  resume,
  toNanos,
} from "./feed-position.ts";
import type { FeedRecords } from "./feed-records.ts";
import type { StoreWriter } from "./store.ts";

/**
 * How long one pull waits for changes, and so how often the position is compared with the stream. The client allows no
 * less.
 */
const PULL_EXPIRES_MS = 1_000;
const PULL_BATCH = 5_000;

/** How much longer a pull may take than it should; then its consumer is gone, with its server. */
const PULL_GRACE_MS = 300;

/** Changes of a transaction: one takes a tenth of a second, in which readers wait for nothing. */
const TRANSACTION_CHANGES_MAX = 5_000;

/** Rows that one transaction looks at for links that the feed does not have any more. */
const SWEPT_ROWS = 5_000;

/** How long they are looked for before the next pull. */
const SWEEP_MS = 200;

/**
 * During an election JetStream does not respond, and a request may have gone to a server that is no more: a short
 * timeout finds the new leader soon.
 */
const REQUEST_TIMEOUT_MS = 500;
const RETRY_MS = 100;

/** The server deletes a consumer that has not pulled for this long; a new one resumes from the position. */
const CONSUMER_INACTIVE_NS = 30_000_000_000;

/** How long changes are read without a consumer before one is asked for again. */
const WITHOUT_CONSUMER_MS = 1_000;

type FollowerDeps = {
  nats: Pick<Nats, "connection" | "connected">;
  /** Copies of the stream, if this process creates it. */
  streamReplicas: number;
  store: Pick<StoreWriter, "feed" | "write" | "sweep" | "links">;
  records: Pick<FeedRecords, "read">;
  /** Throws when the store must not be written any more; asked at least once a second. */
  checkStore?: () => void;
  log: Log;
  /**
   * {@link PULL_BATCH}, and how many messages before the position a new consumer begins, as its server may number them
   * differently; unless a test varies them. Writing a change again does nothing.
   */
  pullBatch?: number;
  overlapMessages?: number;
};

export type Follower = {
  /** Ends the loop, after the transaction that is being written. */
  stop(): Promise<void>;
  /** Settles when the loop ends; rejects when the store failed in a way that no retry mends. */
  ended: Promise<void>;
};

/** A failure of the store, not of NATS. */
export class StoreError extends Error {
  override name = "StoreError";
}

export function startFollower({
  nats,
  streamReplicas,
  store,
  records,
  checkStore = () => undefined,
  log,
  pullBatch = PULL_BATCH,
  overlapMessages = NUMBERING_DIFFERENCE_MAX,
}: FollowerDeps): Follower {
  let feed = store.feed();
  /** The epoch that the last heartbeat named, if it also said that the stream has every link. */
  let epoch: number | undefined;
  /** The key behind which links older than `epoch` are looked for; undefined when none are. */
  let sweptTo: string | undefined;
  let interrupted = false;
  let stopped = false;
  let pull: ConsumerMessages | undefined;
  const unwritten: Change[] = [];
  /** The position behind what is unwritten, and what heartbeats said. */
  let next: FeedState = feed;
  /** The last message that was read without a consumer, since there was none. */
  let readAlone = 0;
  /** How many links there are by the last heartbeat that says so, until the store is compared with it. */
  let counted: number | undefined;
  const checkCount = createCountCheck();
  /** The epoch of which the stream was read again for links that the store lacked. */
  let readAgain: number | undefined;

  function save(state: FeedState): void {
    try {
      store.write(unwritten, state);
    } catch (error) {
      throw new StoreError("The links store was not written.", { cause: error });
    } finally {
      unwritten.length = 0;
      next = feed;
    }
    feed = state;
    next = state;
  }

  /** Writes what was delivered; `pending` more messages are in the stream. */
  function flush(pending: number): void {
    // Links that were published while older ones were read are at the end of the stream.
    const complete = epoch === undefined ? next.complete : next.complete || pending === 0;
    const isSame = unwritten.length === 0 && next === feed && pending === feed.pending;
    if (complete && !feed.complete) log.info("links_store_complete");
    if (!isSame || complete !== feed.complete) save({ ...next, complete, pending });
    if (pending === 0 && epoch !== undefined && epoch > feed.epoch) sweptTo ??= "";
  }

  function collect(message: FeedMessage): void {
    const { subject, sequence, data } = message;
    const change = toChangeOf(message);
    if (change !== undefined) unwritten.push(change);
    next = { ...next, sequence: Math.max(next.sequence, sequence) };
    if (subject !== HEARTBEAT_SUBJECT) return;
    const heartbeat = decodeHeartbeat(data);
    next = { ...next, confirmed_at: Date.now() };
    // An API of an earlier version does not say whether the stream has every link.
    if (heartbeat?.complete === false) {
      epoch = undefined;
      sweptTo = undefined;
      next = { ...next, complete: false };
    } else {
      if (heartbeat !== undefined && heartbeat.epoch !== epoch) sweptTo = undefined;
      epoch = heartbeat?.epoch ?? 0;
      counted = heartbeat?.links ?? counted;
    }
  }

  /**
   * Compares the number of links with PostgreSQL's, once the store is at the end of the stream and has swept; returns whether
   * the stream is to be read again, as links are missing.
   */
  function compareCounts(): boolean {
    if (counted === undefined || epoch === undefined || feed.epoch !== epoch) return false;
    const lacks = checkCount(counted, store.links());
    counted = undefined;
    if (lacks === undefined || (lacks === 0 && feed.lacks === 0)) return false;
    if (lacks > 0) log.error({ links: store.links(), lacks }, "links_store_lacks_links");
    const isFirst = lacks > 0 && readAgain !== epoch;
    if (isFirst) readAgain = epoch;
    // What the stream does not have either, reading it once more does not bring.
    save(isFirst ? { ...feed, lacks, sequence: 0, complete: false } : { ...feed, lacks });
    return isFirst;
  }

  /** What a message changes; nothing if it is about no link, or is a malformed notice. */
  function toChangeOf(message: FeedMessage): Change | undefined {
    const record = records.read(message);
    if (record !== undefined) return toChange(record, message.data);
    const link = shortLinkOfSubject(message.subject);
    return link === undefined || isNotice(link) ? undefined : toMalformed(link);
  }

  /** Removes links that the feed does not have any more, or some of them. */
  function sweep(): void {
    const deadline = performance.now() + SWEEP_MS;
    while (sweptTo !== undefined && epoch !== undefined && performance.now() < deadline) {
      const { next: key } = store.sweep(epoch, sweptTo, SWEPT_ROWS, isKept);
      sweptTo = key;
      if (key === undefined) save({ ...feed, epoch });
    }
  }

  function onLost(): void {
    log.warn("feed_position_lost");
    epoch = undefined;
    sweptTo = undefined;
  }

  /** Follows the feed with one consumer, until the consumer or the position in the stream is lost. */
  async function consume(connection: NatsConnection): Promise<void> {
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await connection.jetstreamManager(options);
    const readInfo = () => manager.streams.info(LINKS_STREAM);
    await ensureLinksStream(manager, streamReplicas);
    const resumed = await resume(feed, readInfo, onLost);
    if (resumed !== feed)
      save({ ...feed, ...resumed, complete: feed.complete && resumed.sequence > 0 });
    // Also for a filling that was read in part: nobody knows what the stream was like while there was no consumer.
    if (feed.sequence > 0 && isOutdated(feed, await readHeartbeat(manager))) {
      onLost();
      save({ ...feed, sequence: 0, complete: false });
    }
    const added = await addConsumer(manager, Math.max(1, feed.sequence + 1 - overlapMessages));
    readAlone = 0;
    const stream = await connection.jetstream(options).streams.get(LINKS_STREAM);
    const consumer = stream.getConsumerFromInfo(added);
    let delivered = 0;
    let last = { sequence: 0, at: 0 };
    /** What the leader adds to the numbers of the consumer's server. */
    let offset = 0;
    while (!stopped && nats.connected()) {
      checkStore();
      const before = delivered;
      const messages = await consumer.fetch({
        max_messages: pullBatch,
        expires: PULL_EXPIRES_MS,
        bind: true,
      });
      pull = messages;
      const overdue = setTimeout(() => messages.stop(), PULL_EXPIRES_MS + PULL_GRACE_MS);
      let pending = feed.pending;
      try {
        for await (const { subject, seq: sequence, data, info } of messages) {
          // Messages were lost with a connection or a pull: another consumer begins behind the last one written.
          if (info.deliverySequence !== ++delivered) return;
          collect({ subject, sequence: sequence + offset, data });
          last = { sequence, at: info.timestampNanos };
          pending = info.pending;
          if (pending === 0 || unwritten.length >= TRANSACTION_CHANGES_MAX) flush(pending);
        }
      } finally {
        clearTimeout(overdue);
        flush(pending);
      }
      sweep();
      // No message does not mean no change: only the stream's own state shows whether the position is at its end.
      const info = await readInfo();
      if (!continues(feed, info)) return;
      if (isReplicated(info) && last.at === toNanos(info.state.last_ts)) {
        offset = info.state.last_seq - last.sequence;
        if (feed.sequence !== info.state.last_seq) save({ ...feed, sequence: info.state.last_seq });
      }
      const left = Math.max(0, info.state.last_seq - feed.sequence);
      interrupted = false;
      flush(left);
      if (left === 0 && compareCounts()) return;
      // The stream has more, and the consumer delivered nothing: it is gone. What it delivered says so, and not the
      // position, which does not move while it delivers the overlap.
      if (left !== 0 && delivered === before) return;
    }
  }

  /**
   * Writes what the replicas have, message by message, while no consumer can be had: elections take seconds. As any of
   * them answers, and they may number messages differently, some may be missed: the position stays where it is, and the
   * next consumer reads all of them again.
   */
  async function applyWithoutConsumer(connection: NatsConnection): Promise<void> {
    if (feed.stream === null) return;
    const deadline = performance.now() + WITHOUT_CONSUMER_MS;
    while (!stopped && performance.now() < deadline) {
      readAlone = Math.max(readAlone, feed.sequence);
      const message = await readNextMessage(connection, readAlone, REQUEST_TIMEOUT_MS);
      if (message === undefined) return;
      readAlone = message.sequence;
      const change = toChangeOf(message);
      if (change !== undefined) unwritten.push(change);
      // What it says of the stream counts only when all before it is in the store.
      const isHeartbeat = message.subject === HEARTBEAT_SUBJECT;
      save(isHeartbeat ? { ...feed, confirmed_at: Date.now() } : feed);
    }
  }

  async function run(): Promise<void> {
    const connection = await nats.connection;
    while (!stopped) {
      checkStore();
      if (!nats.connected()) {
        await Bun.sleep(RETRY_MS);
        continue;
      }
      try {
        await consume(connection);
      } catch (error) {
        if (stopped) return;
        if (error instanceof StoreError) throw error;
        // Logged once for each interruption, not for each attempt.
        if (!interrupted) log.warn({ error }, "feed_interrupted");
        interrupted = true;
        // What fails here as well is read later by a consumer.
        await applyWithoutConsumer(connection).catch((failure: unknown) => {
          if (failure instanceof StoreError) throw failure;
        });
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  const ended = run();
  return {
    ended,
    async stop() {
      stopped = true;
      pull?.stop();
      await ended.catch(() => undefined);
    },
  };
}

/** A feed that has no list of takedowns any more does not lift them: it was lost. */
const isKept = (key: string): boolean => key === `/${TAKEDOWNS_ALIAS}`;

/** Adds a consumer for this process alone, in memory: when its server dies, another one resumes from the position. */
const addConsumer = (manager: JetStreamManager, start: number): Promise<ConsumerInfo> =>
  manager.consumers.add(LINKS_STREAM, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: start,
    inactive_threshold: CONSUMER_INACTIVE_NS,
    mem_storage: true,
    num_replicas: 1,
  });
