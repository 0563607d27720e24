/**
 * Follows a stream of the links feed and writes it to the store of the host: each transaction has the changes and the position in
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

import { decodeHeartbeat, isNotice } from "../../shared/contracts/feed-notices.ts";
import { type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  heartbeatSubject,
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
import { createFeedGroup, type FeedGroup } from "./feed-group.ts";
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
import { createSweep } from "./feed-sweep.ts";
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
  stream?: LinksStream;
  /** That of all followers of the host. */
  group?: FeedGroup;
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
  stream: followed = UNDIVIDED,
  streamReplicas,
  store,
  records,
  checkStore = () => undefined,
  log,
  group = createFeedGroup({ store, streams: [followed], log }),
  pullBatch = PULL_BATCH,
  overlapMessages = NUMBERING_DIFFERENCE_MAX,
}: FollowerDeps): Follower {
  const { name } = followed;
  let feed = store.feed(name);
  /** The epoch that the last heartbeat named, if it also said that the stream has every link. */
  let epoch: number | undefined;
  const sweep = createSweep(store, followed);
  let interrupted = false;
  let stopped = false;
  let pull: ConsumerMessages | undefined;
  const unwritten: Change[] = [];
  /** The position behind what is unwritten, and what heartbeats said. */
  let next: FeedState = feed;
  /** The last message that was read without a consumer, since there was none. */
  let readAlone = 0;
  /** How often all streams were to be read again when this one was. */
  let round = group.rounds();

  function save(state: FeedState): void {
    try {
      store.write(unwritten, state, name);
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
    if (complete && !feed.complete) log.info({ stream: name }, "links_store_complete");
    if (!isSame || complete !== feed.complete) save({ ...next, complete, pending });
    if (pending === 0 && epoch !== undefined && epoch > feed.epoch) sweep.begin();
  }

  function collect(message: FeedMessage): void {
    const { subject, sequence, data } = message;
    const change = toChangeOf(message);
    if (change !== undefined) unwritten.push(change);
    next = { ...next, sequence: Math.max(next.sequence, sequence) };
    if (subject !== heartbeatSubject(followed)) return;
    const heartbeat = decodeHeartbeat(data);
    next = { ...next, confirmed_at: Date.now() };
    // An API of an earlier version does not say whether the stream has every link.
    if (heartbeat?.complete === false) {
      epoch = undefined;
      sweep.cancel();
      next = { ...next, complete: false };
    } else {
      if (heartbeat !== undefined && heartbeat.epoch !== epoch) sweep.cancel();
      epoch = heartbeat?.epoch ?? 0;
      if (heartbeat?.links !== undefined) group.onCounted(heartbeat.links);
    }
  }

  /** Compares the number of links with PostgreSQL's, once the store is at the end of the stream and has swept. */
  function compareCounts(): void {
    if (epoch === undefined || feed.epoch !== epoch) return;
    const lacks = group.compare();
    if (lacks !== undefined && lacks !== feed.lacks) save({ ...feed, lacks });
  }

  /** Begins again at the start of the stream if all streams are to be read again; returns whether it does. */
  function beginAgain(): boolean {
    if (round === group.rounds()) return false;
    round = group.rounds();
    save({ ...feed, sequence: 0, complete: false });
    return true;
  }

  /** What a message changes; nothing if it is about no link, or is a malformed notice. */
  function toChangeOf(message: FeedMessage): Change | undefined {
    const record = records.read(message);
    if (record !== undefined) return toChange(record, message.data);
    const link = shortLinkOfSubject(message.subject);
    return link === undefined || isNotice(link) ? undefined : toMalformed(link);
  }

  function onLost(): void {
    log.warn({ stream: name }, "feed_position_lost");
    epoch = undefined;
    sweep.cancel();
  }

  /** Follows the feed with one consumer, until the consumer or the position in the stream is lost. */
  async function consume(connection: NatsConnection): Promise<void> {
    beginAgain();
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await connection.jetstreamManager(options);
    const readInfo = () => manager.streams.info(name);
    await ensureLinksStream(manager, streamReplicas, followed);
    const resumed = await resume(feed, readInfo, onLost);
    if (resumed !== feed)
      save({ ...feed, ...resumed, complete: feed.complete && resumed.sequence > 0 });
    // Also for a filling that was read in part: nobody knows what the stream was like while there was no consumer.
    if (feed.sequence > 0 && isOutdated(feed, await readHeartbeat(manager, followed))) {
      onLost();
      save({ ...feed, sequence: 0, complete: false });
    }
    const start = Math.max(1, feed.sequence + 1 - overlapMessages);
    const added = await addConsumer(manager, name, start);
    readAlone = 0;
    const stream = await connection.jetstream(options).streams.get(name);
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
      if (epoch !== undefined && sweep.run(epoch)) save({ ...feed, epoch });
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
      if (left === 0) compareCounts();
      if (beginAgain()) return;
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
      const message = await readNextMessage(connection, followed, readAlone, REQUEST_TIMEOUT_MS);
      if (message === undefined) return;
      readAlone = message.sequence;
      const change = toChangeOf(message);
      if (change !== undefined) unwritten.push(change);
      // What it says of the stream counts only when all before it is in the store.
      const isHeartbeat = message.subject === heartbeatSubject(followed);
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
        if (!interrupted) log.warn({ stream: name, error }, "feed_interrupted");
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

/** Adds a consumer for this process alone, in memory: when its server dies, another one resumes from the position. */
const addConsumer = (
  manager: JetStreamManager,
  stream: string,
  start: number,
): Promise<ConsumerInfo> =>
  manager.consumers.add(stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: start,
    inactive_threshold: CONSUMER_INACTIVE_NS,
    mem_storage: true,
    num_replicas: 1,
  });
