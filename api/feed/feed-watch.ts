/**
 * Watches a stream of the links feed and publishes in its heartbeat whether it has every link.
 * Refills a stream that lost messages, was lost as a whole, or is newer than a restored PostgreSQL.
 */
import type { JetStreamManager, NatsConnection } from "nats";

import { encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { heartbeatSubject } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import { DATABASE_FULL } from "../full-disk.ts";
import { createPause } from "../pause.ts";
import type { Sql } from "../postgres.ts";
import { fillOnce, type FillStream } from "./filling.ts";
import { describeIncompleteness, describeOtherDatabase } from "./incompleteness.ts";
import { createStreamCheck, readPosition } from "./stream-check.ts";

/**
 * Interval at which each API process checks the stream and publishes a heartbeat; the stream keeps
 * only the last one.
 */
const INTERVAL_MS = 2_000;

/**
 * Interval at which links are counted for the heartbeat, so that hosts can compare their counts.
 */
const COUNT_INTERVAL_MS = 30_000;

export type FeedWatch = {
  /** Whether the first heartbeat has been published. */
  started(): boolean;
  /** Whether the stream has every link; undefined while that is unknown. */
  complete(): boolean | undefined;
  /** Links published by the current or the last fill. */
  filledLinks(): number;
  /** The stream's problem and its remedy; undefined when there is none. */
  problem(): string | undefined;
  /**
   * Why the last check could not write to PostgreSQL; undefined when it could, or when PostgreSQL
   * is unreachable.
   */
  databaseProblem(): string | undefined;
  stop(): Promise<void>;
};

export type FeedWatchDeps = {
  sql: Sql;
  nats: Promise<NatsConnection>;
  /** Replicas of the stream, if this process creates it. */
  streamReplicas: number;
  fill: FillStream;
  /**
   * The highest sequence number that the stream acknowledged to this process since the last call; 0
   * for none.
   */
  takeAcknowledged: (stream: LinksStream) => number;
  stream: LinksStream;
  /** The streams of all feeds that this process publishes to. */
  streams: readonly LinksStream[];
  log: Log;
  intervalMs?: number;
  countIntervalMs?: number;
};

/** Starts watching. Any number of processes may watch; one of them fills the stream. */
export function startFeedWatch({
  nats,
  stream,
  streams,
  countIntervalMs = COUNT_INTERVAL_MS,
  intervalMs = INTERVAL_MS,
  ...deps
}: FeedWatchDeps): FeedWatch {
  const { log } = deps;
  let isStarted = false;
  let stopped = false;
  let filled = 0;
  const pause = createPause(intervalMs);
  const onFilled = (links: number): void => void (filled = links);
  const checks = createStreamCheck({ ...deps, stream, streams, countIntervalMs, onFilled });
  const filling = createFilling({ ...deps, stream, onFilled, isStopped: () => stopped });

  async function run(): Promise<void> {
    const connection = await nats;
    const manager = await connection.jetstreamManager({ timeout: INTERVAL_MS, checkAPI: false });
    const client = connection.jetstream({ timeout: INTERVAL_MS });
    while (!stopped) {
      const next = pause.start();
      // A failed heartbeat is not repeated: the next one has the same content, and link changes
      // have the outbox.
      try {
        const heartbeat = await checks.check(manager, client);
        if (heartbeat !== undefined) {
          const { seq } = await client.publish(
            heartbeatSubject(stream),
            encodeHeartbeat(heartbeat),
          );
          checks.onAcknowledged(seq);
          isStarted = true;
          // Starts only after redirectors know that the stream is incomplete: once links are
          // published, their current position would no longer show it.
          if (checks.needsFilling() && !heartbeat.complete)
            filling.start(connection, manager, pause.end);
        }
      } catch (error) {
        log.debug({ error }, "heartbeat_failed");
      }
      await next;
    }
  }

  const running = run();
  running.catch((error: unknown) => log.error({ error }, "feed_watch_failed"));
  return {
    started: () => isStarted,
    complete: checks.complete,
    filledLinks: () => filled,
    problem() {
      if (checks.complete() !== false) return undefined;
      return filling.isOtherDatabase()
        ? describeOtherDatabase(stream.name)
        : describeIncompleteness(stream.name, filled);
    },
    databaseProblem: () => (checks.isDatabaseFull() ? DATABASE_FULL : undefined),
    async stop() {
      stopped = true;
      pause.end();
      // Before the connection is open, there is nothing to finish.
      if (!isStarted) return;
      // A fill may wait longer for NATS, and can be left at any time.
      await Promise.all([running, Promise.race([filling.running(), Bun.sleep(INTERVAL_MS)])]);
    },
  };
}

type FillingDeps = Pick<FeedWatchDeps, "sql" | "streamReplicas" | "fill" | "log"> & {
  stream: LinksStream;
  onFilled: (links: number) => void;
  isStopped: () => boolean;
};

/** Fills the stream, one fill at a time. */
function createFilling({
  sql,
  streamReplicas,
  fill,
  log,
  stream,
  onFilled,
  isStopped,
}: FillingDeps) {
  let filling: Promise<void> | undefined;
  let isOtherDatabase = false;
  return {
    /** Starts a fill unless one is running; calls `onEnd` when it has ended. */
    start(connection: NatsConnection, manager: JetStreamManager, onEnd: () => void): void {
      filling ??= fillOnce({
        sql,
        stream,
        connection,
        manager,
        readPosition: () => readPosition(manager, streamReplicas, stream),
        fill,
        onProgress: onFilled,
        onOtherDatabase(isOther) {
          if (isOther && !isOtherDatabase)
            log.error({ stream: stream.name }, "links_feed_other_database");
          isOtherDatabase = isOther;
        },
        isStopped,
        log,
      })
        .catch((error: unknown) =>
          log.warn({ stream: stream.name, error }, "links_feed_filling_failed"),
        )
        .finally(() => {
          filling = undefined;
          onEnd();
        });
    },
    running: () => filling,
    /** Whether the last fill found that the stream belongs to another database. */
    isOtherDatabase: () => isOtherDatabase,
  };
}
