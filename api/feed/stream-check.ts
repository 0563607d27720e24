/** Checks a stream of the links feed against PostgreSQL, and says what its next heartbeat is. */
import type { JetStreamClient, JetStreamManager } from "nats";

import type { Heartbeat } from "../../shared/contracts/feed-notices.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  jetStreamErrorCode,
  readHeartbeat,
  STREAM_NOT_FOUND,
} from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import { isDiskFull, type Sql } from "../postgres.ts";
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
 * Consecutive checks that must show a loss, if a newly elected leader may report it briefly: four
 * seconds.
 */
const CONFIRMATIONS = 3;

type StreamCheckDeps = {
  sql: Sql;
  /** Replicas of the stream, if this process creates it. */
  streamReplicas: number;
  /**
   * The highest sequence number that the stream acknowledged to this process since the last call; 0
   * for none.
   */
  takeAcknowledged: (stream: LinksStream) => number;
  stream: LinksStream;
  /** The streams of all feeds that this process publishes to. */
  streams: readonly LinksStream[];
  /** Called with the number of links that a fill has published. */
  onFilled: (links: number) => void;
  log: Log;
  countIntervalMs: number;
};

/** The result of the last check for which PostgreSQL was available. */
type Checked = { heartbeat: Heartbeat; position: StreamPosition };

/** Checks the stream: against PostgreSQL or, while that fails, by itself. */
export function createStreamCheck(deps: StreamCheckDeps) {
  const { check, checkAlone, ...comparison } = createComparison(deps);
  let isDatabaseFull = false;
  return {
    ...comparison,
    /** Returns the next heartbeat; undefined before the first check against PostgreSQL. */
    async check(
      manager: JetStreamManager,
      client: JetStreamClient,
    ): Promise<Heartbeat | undefined> {
      try {
        const heartbeat = await check(manager, client);
        isDatabaseFull = false;
        return heartbeat;
      } catch (error) {
        isDatabaseFull = isDiskFull(error);
        return await checkAlone(manager);
      }
    },
    /** Whether the last check could not write to PostgreSQL, whose disk is full. */
    isDatabaseFull: () => isDatabaseFull,
  };
}

function createComparison(deps: StreamCheckDeps) {
  const { sql, streamReplicas, stream, streams, onFilled } = deps;
  const { name } = stream;
  const losses = createLossCounter(deps);
  const count = createLinkCount(deps);
  let last: Checked | undefined;
  /** Whether the last check found that the stream lacks links. */
  let needsFilling = false;
  /**
   * The highest sequence number acknowledged to this process that may not be recorded in PostgreSQL
   * yet.
   */
  let acknowledged = 0;
  const onAcknowledged = (sequence: number): void =>
    void (acknowledged = Math.max(acknowledged, sequence));

  /** Compares the stream with PostgreSQL and returns the next heartbeat. */
  async function check(manager: JetStreamManager, client: JetStreamClient): Promise<Heartbeat> {
    needsFilling = false;
    onAcknowledged(deps.takeAcknowledged(stream));
    await keepStreams(sql, client, streams);
    const before = await selectFeed(sql, name);
    const position = await readPosition(manager, streamReplicas, stream);
    // A different stream counts from one again.
    if (last !== undefined && position.created !== last.position.created) acknowledged = 0;
    const heartbeat = await readHeartbeat(manager, stream);
    const after = await selectFeed(sql, name);
    const loss = findLoss({ before, stream: position, acknowledged, heartbeat, after });
    onFilled(after.filled_links);
    if (loss === undefined) {
      losses.reset();
      await recordPosition(sql, position, after.version, name);
      acknowledged = 0;
    } else if (await losses.isCertain(loss, heartbeat, after.epoch)) {
      acknowledged = 0;
      needsFilling = true;
    }
    const now = await selectFeed(sql, name);
    // If the database has just been restored, the heartbeat keeps the version by which the next
    // check detects that.
    const { epoch, version, incomplete_since } = now.version < after.version ? after : now;
    const complete = loss === undefined && incomplete_since === null;
    last = { heartbeat: { complete, epoch: epoch ?? 0, version }, position };
    return { ...last.heartbeat, ...(await count()) };
  }

  return {
    check,
    /** Checks without PostgreSQL; undefined before the first check with it. */
    async checkAlone(manager: JetStreamManager): Promise<Heartbeat | undefined> {
      if (last === undefined) return undefined;
      const position = await readPosition(manager, streamReplicas, stream);
      const complete = hasLostNothing(last.position, position) && last.heartbeat.complete;
      return { ...last.heartbeat, complete };
    },
    onAcknowledged,
    needsFilling: () => needsFilling,
    /** Whether the stream had every link at the last check; undefined before. */
    complete: () => last?.heartbeat.complete,
  };
}

/** Records that a stream of an epoch lost messages, once that is certain. */
function createLossCounter({ sql, stream: { name }, log }: StreamCheckDeps) {
  let losses = 0;
  return {
    reset: () => void (losses = 0),
    /** Whether the stream must be filled. */
    async isCertain(
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
    },
  };
}

/** Periodically counts the links of all streams, for the heartbeat of the first stream. */
function createLinkCount({ sql, stream: { index }, countIntervalMs }: StreamCheckDeps) {
  let countedAt = -Infinity;
  return async (): Promise<Pick<Heartbeat, "links">> => {
    const now = performance.now();
    if (index > 0 || now - countedAt < countIntervalMs) return {};
    countedAt = now;
    return { links: await countPublished(sql) };
  };
}

/** The stream is complete if it was before and has lost nothing since. */
const hasLostNothing = (before: StreamPosition, now: StreamPosition): boolean =>
  now.created === before.created &&
  now.last_sequence >= before.last_sequence &&
  now.messages >= before.messages;

/** Reads the stream's position; creates the stream when it does not exist. */
export async function readPosition(
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
