/**
 * Follows a stream of the links feed and writes it to the store of the host. A stream that was
 * rolled back or recreated is read again from its start, while the store continues to serve
 * requests.
 */
import type { NatsConnection } from "nats";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { heartbeatSubject } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { consume, type ConsumeOptions } from "./feed-consumer.ts";
import { createFeedEpoch } from "./feed-epoch.ts";
import type { FeedGroup } from "./feed-group.ts";
import { readNextMessage } from "./feed-message.ts";
import type { FeedPull } from "./feed-pull.ts";
import type { FeedRecords } from "./feed-records.ts";
import { createFeedWriter, type FeedWriter, StoreError } from "./feed-writer.ts";
import type { StoreWriter } from "./store-writer.ts";

/**
 * During an election JetStream does not respond, and a request may have gone to a dead server: a
 * short timeout finds the new leader soon.
 */
const REQUEST_TIMEOUT_MS = 500;
const RETRY_MS = 100;

/** How long changes are read without a consumer before another one is requested. */
const WITHOUT_CONSUMER_MS = 1_000;

type FollowerDeps = Omit<ConsumeOptions, "requestTimeoutMs"> & {
  nats: Nats;
  stream: LinksStream;
  /** The group of all followers of the host. */
  group: FeedGroup;
  store: Pick<StoreWriter, "feed" | "write" | "sweep">;
  records: Pick<FeedRecords, "read">;
  /** Throws when the store must not be written any more; called at least once a second. */
  checkStore?: () => void;
  log: Log;
};

export type Follower = {
  /** Ends the loop, after the transaction that is being written. */
  stop(): Promise<void>;
  /** Settles when the loop ends; rejects when the store failed in a way that no retry can fix. */
  ended: Promise<void>;
};

export function startFollower(deps: FollowerDeps): Follower {
  const { nats, stream, log, checkStore = () => undefined } = deps;
  const writer = createFeedWriter(deps);
  const epoch = createFeedEpoch({ ...deps, writer });
  const readAlone = createReadAlone(stream, writer, () => stopped);
  let interrupted = false;
  let stopped = false;
  let pull: FeedPull | undefined;

  const follow = (connection: NatsConnection): Promise<void> =>
    consume(connection, {
      ...deps,
      inboxPrefix: nats.inboxPrefix,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      writer,
      epoch,
      shouldContinue() {
        if (stopped || !nats.connected()) return false;
        checkStore();
        return true;
      },
      onLost() {
        log.warn({ stream: stream.name }, "feed_position_lost");
        epoch.forget();
      },
      onConsumer: readAlone.reset,
      onPull: (started) => (pull = started),
      onCurrent: () => (interrupted = false),
    });

  async function run(): Promise<void> {
    const connection = await nats.connection;
    while (!stopped) {
      checkStore();
      if (!nats.connected()) {
        await Bun.sleep(RETRY_MS);
        continue;
      }
      try {
        await follow(connection);
      } catch (error) {
        if (stopped) return;
        if (error instanceof StoreError) throw error;
        // Logged once for each interruption, not for each attempt.
        if (!interrupted) log.warn({ stream: stream.name, error }, "feed_interrupted");
        interrupted = true;
        // Messages that also fail here are read later by a consumer.
        await readAlone.read(connection).catch((failure: unknown) => {
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

/** Creates a reader for the time in which no consumer is available: elections take seconds. */
function createReadAlone(stream: LinksStream, writer: FeedWriter, isStopped: () => boolean) {
  /** The last message that was read since the consumer was lost. */
  let sequence = 0;
  return {
    /**
     * Writes the replicas' messages one by one. Any replica may respond, and they may number
     * messages differently, so some may be missed. Therefore the position does not move, and the
     * next consumer reads all of them again.
     */
    async read(connection: NatsConnection): Promise<void> {
      if (writer.feed().stream === null) return;
      const deadline = performance.now() + WITHOUT_CONSUMER_MS;
      while (!isStopped() && performance.now() < deadline) {
        sequence = Math.max(sequence, writer.feed().sequence);
        const message = await readNextMessage(connection, stream, sequence, REQUEST_TIMEOUT_MS);
        if (message === undefined) return;
        ({ sequence } = message);
        writer.add(message);
        // A heartbeat counts only when all messages before it are in the store.
        const isHeartbeat = message.subject === heartbeatSubject(stream);
        const feed = writer.feed();
        writer.save(isHeartbeat ? { ...feed, confirmed_at: Date.now() } : feed);
      }
    },
    /** Resets the reader when a consumer is available again. */
    reset: (): void => void (sequence = 0),
  };
}
