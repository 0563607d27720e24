/**
 * Watches a stream of the links feed and publishes in its heartbeat whether it has every link.
 * Refills a stream that lost messages, was lost as a whole, or is newer than a restored PostgreSQL.
 */
import type { JetStreamClient, JetStreamManager, NatsConnection } from "nats";

import { encodeHeartbeat, type Heartbeat } from "../../shared/contracts/feed-notices.ts";
import { type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  heartbeatSubject,
  jetStreamErrorCode,
  readHeartbeat,
  STREAM_NOT_FOUND,
} from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import { DATABASE_FULL } from "../full-disk.ts";
import { isDiskFull, type Sql } from "../postgres.ts";
import { fillOnce, type FillStream } from "./filling.ts";
import { describeIncompleteness, describeOtherDatabase } from "./incompleteness.ts";
import { keepStreams } from "./other-feeds.ts";
import {
  countPublished,
  recordLoss,
  recordPosition,
  selectFeed,
  type StreamPosition,
} from "./sql.ts";
import { findLoss, PASSING, type StreamLoss } from "./stream-loss.ts";

/**
 * Interval at which each API process checks the stream and publishes a heartbeat; the stream keeps
 * only the last one.
 */
const INTERVAL_MS = 2_000;

/**
 * Interval at which links are counted for the heartbeat, so that hosts can compare their counts.
 */
const COUNT_INTERVAL_MS = 30_000;

/**
 * Consecutive checks that must show a loss, if a newly elected leader may report it briefly: four
 * seconds.
 */
const CONFIRMATIONS = 3;

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
  stream?: LinksStream;
  /** The streams of all feeds that this process publishes to. */
  streams?: readonly LinksStream[];
  log: Log;
  intervalMs?: number;
  countIntervalMs?: number;
};

/** Starts watching. Any number of processes may watch; one of them fills the stream. */
export function startFeedWatch({
  sql,
  nats,
  streamReplicas,
  fill,
  takeAcknowledged,
  stream: watched = UNDIVIDED,
  streams = [watched],
  log,
  intervalMs = INTERVAL_MS,
  countIntervalMs = COUNT_INTERVAL_MS,
}: FeedWatchDeps): FeedWatch {
  const { name } = watched;
  /** The result of the last check for which PostgreSQL was available. */
  let last: { heartbeat: Heartbeat; stream: StreamPosition } | undefined;
  let isStarted = false;
  let stopped = false;
  let filled = 0;
  let filling: Promise<void> | undefined;
  /** Whether the last check found that the stream lacks links. */
  let needsFilling = false;
  let losses = 0;
  /**
   * The highest sequence number acknowledged to this process that may not be recorded in PostgreSQL
   * yet.
   */
  let acknowledged = 0;
  let wake: (() => void) | undefined;
  let isDatabaseFull = false;
  let isOtherDatabase = false;
  let countedAt = -Infinity;

  /**
   * Records that a stream of an epoch lost messages, once that is certain; returns whether the
   * stream must be filled.
   */
  async function onLoss(
    loss: StreamLoss,
    heartbeat: Heartbeat | undefined,
    epoch: number | null,
  ): Promise<boolean> {
    if (loss === "incomplete") return true;
    losses++;
    if (PASSING.has(loss) && losses < CONFIRMATIONS) return false;
    await recordLoss(sql, heartbeat?.version ?? 0, epoch, name);
    if (loss !== "never_filled") log.error({ stream: name, loss }, "links_feed_incomplete");
    return true;
  }

  /** Compares the stream with PostgreSQL and returns the next heartbeat. */
  async function check(manager: JetStreamManager, client: JetStreamClient): Promise<Heartbeat> {
    acknowledged = Math.max(acknowledged, takeAcknowledged(watched));
    await keepStreams(sql, client, streams);
    const before = await selectFeed(sql, name);
    const stream = await readPosition(manager, streamReplicas, watched);
    // A different stream counts from one again.
    if (last !== undefined && stream.created !== last.stream.created) acknowledged = 0;
    const heartbeat = await readHeartbeat(manager, watched);
    const after = await selectFeed(sql, name);
    const loss = findLoss({ before, stream, acknowledged, heartbeat, after });
    filled = after.filled_links;
    if (loss === undefined) {
      losses = 0;
      await recordPosition(sql, stream, after.version, name);
      acknowledged = 0;
    } else if (await onLoss(loss, heartbeat, after.epoch)) {
      acknowledged = 0;
      needsFilling = true;
    }
    const now = await selectFeed(sql, name);
    // If the database has just been restored, the heartbeat keeps the version by which the next
    // check detects that.
    const { epoch, version, incomplete_since } = now.version < after.version ? after : now;
    const complete = loss === undefined && incomplete_since === null;
    last = { heartbeat: { complete, epoch: epoch ?? 0, version }, stream };
    return { ...last.heartbeat, ...(await count()) };
  }

  /** Periodically counts the links of all streams, for the heartbeat of the first stream. */
  async function count(): Promise<Pick<Heartbeat, "links">> {
    const now = performance.now();
    if (watched.index > 0 || now - countedAt < countIntervalMs) return {};
    countedAt = now;
    return { links: await countPublished(sql) };
  }

  /**
   * Checks without PostgreSQL: the stream is complete if it was before and has lost nothing since.
   */
  async function checkAlone(manager: JetStreamManager): Promise<Heartbeat | undefined> {
    if (last === undefined) return undefined;
    const stream = await readPosition(manager, streamReplicas, watched);
    const isSame =
      stream.created === last.stream.created &&
      stream.last_sequence >= last.stream.last_sequence &&
      stream.messages >= last.stream.messages;
    return { ...last.heartbeat, complete: isSame && last.heartbeat.complete };
  }

  function startFilling(connection: NatsConnection, manager: JetStreamManager): void {
    filling ??= fillOnce({
      sql,
      stream: watched,
      connection,
      manager,
      readPosition: () => readPosition(manager, streamReplicas, watched),
      fill,
      onProgress: (links) => void (filled = links),
      onOtherDatabase(isOther) {
        if (isOther && !isOtherDatabase) log.error({ stream: name }, "links_feed_other_database");
        isOtherDatabase = isOther;
      },
      isStopped: () => stopped,
      log,
    })
      .catch((error: unknown) => log.warn({ stream: name, error }, "links_feed_filling_failed"))
      .finally(() => {
        filling = undefined;
        wake?.();
      });
  }

  async function run(): Promise<void> {
    const connection = await nats;
    const manager = await connection.jetstreamManager({ timeout: INTERVAL_MS, checkAPI: false });
    const client = connection.jetstream({ timeout: INTERVAL_MS });
    while (!stopped) {
      const next = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, intervalMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      // A failed heartbeat is not repeated: the next one has the same content, and link changes
      // have the outbox.
      needsFilling = false;
      try {
        const heartbeat = await check(manager, client).then(
          (checked) => {
            isDatabaseFull = false;
            return checked;
          },
          (error: unknown) => {
            isDatabaseFull = isDiskFull(error);
            return checkAlone(manager);
          },
        );
        if (heartbeat !== undefined) {
          const { seq } = await client.publish(
            heartbeatSubject(watched),
            encodeHeartbeat(heartbeat),
          );
          acknowledged = Math.max(acknowledged, seq);
          isStarted = true;
          // Starts only after redirectors know that the stream is incomplete: once links are
          // published, their current position would no longer show it.
          if (needsFilling && !heartbeat.complete) startFilling(connection, manager);
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
    complete: () => last?.heartbeat.complete,
    filledLinks: () => filled,
    problem() {
      if (last === undefined || last.heartbeat.complete) return undefined;
      return isOtherDatabase ? describeOtherDatabase(name) : describeIncompleteness(name, filled);
    },
    databaseProblem: () => (isDatabaseFull ? DATABASE_FULL : undefined),
    async stop() {
      stopped = true;
      wake?.();
      // Before the connection is open, there is nothing to finish.
      if (isStarted) await Promise.all([running, filling]);
    },
  };
}

/** Reads the stream's position; creates the stream when it does not exist. */
async function readPosition(
  manager: JetStreamManager,
  replicas: number,
  stream: LinksStream,
): Promise<StreamPosition> {
  try {
    const { created, state } = await manager.streams.info(stream.name);
    return { created, last_sequence: state.last_seq, messages: state.messages };
  } catch (error) {
    if (jetStreamErrorCode(error) !== STREAM_NOT_FOUND) throw error;
    await ensureLinksStream(manager, replicas, stream);
    return await readPosition(manager, replicas, stream);
  }
}
