/**
 * Watches the stream `LINKS` and says in its heartbeat whether it has every link. A stream that was lost, in part or as a
 * whole, or that is later than a restored PostgreSQL, is filled again by itself.
 */
import type { JetStreamManager, NatsConnection } from "nats";

import { encodeHeartbeat, type Heartbeat } from "../../shared/contracts/feed-notices.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  jetStreamErrorCode,
  LINKS_STREAM,
  readHeartbeat,
  STREAM_NOT_FOUND,
} from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import { DATABASE_FULL } from "../full-disk.ts";
import { isDiskFull, type Sql, type Transaction } from "../postgres.ts";
import { describeIncompleteness, OTHER_DATABASE } from "./incompleteness.ts";
import {
  countPublished,
  drawEpoch,
  findRunning,
  findWriters,
  finishFilling,
  isNew,
  lacksAccounts,
  lockFilling,
  recordFilled,
  recordLoss,
  recordPosition,
  selectFeed,
  type StreamPosition,
} from "./sql.ts";
import { findLoss, PASSING, type StreamLoss } from "./stream-loss.ts";

/** Each API process checks and publishes a heartbeat this often; the stream keeps only the last. */
const INTERVAL_MS = 2_000;

/** How often links are counted for the heartbeat, so that hosts can compare. */
const COUNT_INTERVAL_MS = 30_000;

/** Checks in a row that must show a loss which a new leader may show for a moment: four seconds. */
const CONFIRMATIONS = 3;

/** How often, and how long, a filling looks whether the changes before it have ended, each of which takes milliseconds. */
const WRITERS_POLL_MS = 20;
const WRITERS_MS_MAX = 30_000;

/** Messages of a stream that has nothing but its heartbeat. */
const HEARTBEATS = 1;

/** What a filling has to know. */
export type Filling = {
  connection: NatsConnection;
  /** The version under which all is published. Every change with a lower one has been committed. */
  epoch: number;
  /** Messages of the stream before the epoch, and the last one. */
  messages: number;
  end: number;
  /** To be called with the number of links so far. */
  onProgress: (links: number) => Promise<void>;
  isStopped: () => boolean;
};

/**
 * Publishes every link again, and withdraws what the stream has beyond them; returns false when that was interrupted.
 */
export type FillStream = (filling: Filling) => Promise<boolean>;

/** The stream has messages that were replaced: it cannot be filled, and must be made again. */
export class DamagedStreamError extends Error {
  override name = "DamagedStreamError";
  constructor(readonly messages: number) {
    super(`The stream ${LINKS_STREAM} has ${messages} messages that were replaced.`);
  }
}

export type FeedWatch = {
  /** Whether the first heartbeat has been published. */
  started(): boolean;
  /** Whether the stream has every link; undefined while that is unknown. */
  complete(): boolean | undefined;
  /** Links of the running or of the last filling. */
  filledLinks(): number;
  /** What is wrong with the stream and what is done about it; undefined when nothing is. */
  problem(): string | undefined;
  /** Why PostgreSQL cannot be written to, which every check does; undefined when it can, or is away. */
  databaseProblem(): string | undefined;
  stop(): Promise<void>;
};

type FeedWatchDeps = {
  sql: Sql;
  nats: Promise<NatsConnection>;
  /** Copies of the stream, if this process creates it. */
  streamReplicas: number;
  fill: FillStream;
  /** The highest sequence number that the stream has given this process since the last call; 0 when there was none. */
  takeAcknowledged: () => number;
  log: Log;
  intervalMs?: number;
  countIntervalMs?: number;
};

/** Starts watching; any number of processes may. One of them fills the stream. */
export function startFeedWatch({
  sql,
  nats,
  streamReplicas,
  fill,
  takeAcknowledged,
  log,
  intervalMs = INTERVAL_MS,
  countIntervalMs = COUNT_INTERVAL_MS,
}: FeedWatchDeps): FeedWatch {
  /** What the last check found in which PostgreSQL took part. */
  let last: { heartbeat: Heartbeat; stream: StreamPosition } | undefined;
  let isStarted = false;
  let stopped = false;
  let filled = 0;
  let filling: Promise<void> | undefined;
  /** Whether the last check found that the stream lacks links. */
  let isToBeFilled = false;
  let losses = 0;
  /** The highest sequence number given to this process, while PostgreSQL may not know of it. */
  let acknowledged = 0;
  let wake: (() => void) | undefined;
  let isDatabaseFull = false;
  let isOtherDatabase = false;
  let countedAt = -Infinity;

  /** Records a loss of a stream of an epoch once it is certain; returns whether the stream is to be filled. */
  async function onLoss(
    loss: StreamLoss,
    heartbeat: Heartbeat | undefined,
    epoch: number | null,
  ): Promise<boolean> {
    if (loss === "incomplete") return true;
    losses++;
    if (PASSING.has(loss) && losses < CONFIRMATIONS) return false;
    await recordLoss(sql, heartbeat?.version ?? 0, epoch);
    if (loss !== "never_filled") log.error({ loss }, "links_feed_incomplete");
    return true;
  }

  /** Compares the stream with PostgreSQL, and returns what the next heartbeat says. */
  async function check(manager: JetStreamManager): Promise<Heartbeat> {
    acknowledged = Math.max(acknowledged, takeAcknowledged());
    const before = await selectFeed(sql);
    const stream = await readPosition(manager, streamReplicas);
    // Another stream counts from one again.
    if (last !== undefined && stream.created !== last.stream.created) acknowledged = 0;
    const heartbeat = await readHeartbeat(manager);
    const after = await selectFeed(sql);
    const loss = findLoss({ before, stream, acknowledged, heartbeat, after });
    filled = after.filled_links;
    if (loss === undefined) {
      losses = 0;
      await recordPosition(sql, stream, after.version);
      acknowledged = 0;
    } else if (await onLoss(loss, heartbeat, after.epoch)) {
      acknowledged = 0;
      isToBeFilled = true;
    }
    const now = await selectFeed(sql);
    // When the database was restored just now, the heartbeat keeps the version by which the next check notices.
    const { epoch, version, incomplete_since } = now.version < after.version ? after : now;
    const complete = loss === undefined && incomplete_since === null;
    last = { heartbeat: { complete, epoch: epoch ?? 0, version }, stream };
    return { ...last.heartbeat, ...(await count()) };
  }

  /** Counts the links for a heartbeat, now and then. */
  async function count(): Promise<Pick<Heartbeat, "links">> {
    const now = performance.now();
    if (now - countedAt < countIntervalMs) return {};
    countedAt = now;
    return { links: await countPublished(sql) };
  }

  /** What can be said without PostgreSQL: the stream is complete if it was, and has lost nothing since. */
  async function checkAlone(manager: JetStreamManager): Promise<Heartbeat | undefined> {
    if (last === undefined) return undefined;
    const stream = await readPosition(manager, streamReplicas);
    const isSame =
      stream.created === last.stream.created &&
      stream.last_sequence >= last.stream.last_sequence &&
      stream.messages >= last.stream.messages;
    return { ...last.heartbeat, complete: isSame && last.heartbeat.complete };
  }

  function startFilling(connection: NatsConnection, manager: JetStreamManager): void {
    filling ??= fillOnce(connection, manager)
      .catch((error: unknown) => log.warn({ error }, "links_feed_filling_failed"))
      .finally(() => {
        filling = undefined;
        wake?.();
      });
  }

  /** Fills the stream, unless another process does. */
  async function fillOnce(connection: NatsConnection, manager: JetStreamManager): Promise<void> {
    await sql.begin(async (lock) => {
      if (!(await lockFilling(lock))) return;
      // A filling may have ended since the check that found links missing.
      if ((await selectFeed(lock)).incomplete_since === null) return;
      const { created, messages, last_sequence } = await readPosition(manager, streamReplicas);
      const wasOtherDatabase = isOtherDatabase;
      isOtherDatabase = messages > HEARTBEATS && (await lacksAccounts(lock));
      if (isOtherDatabase) {
        if (!wasOtherDatabase) log.error({ messages }, "links_feed_other_database");
        return;
      }
      log.info("links_feed_filling");
      const epoch = await drawEpoch(lock);
      if (!(await waitForWriters(lock))) return;
      if (messages <= HEARTBEATS && (await isNew(lock))) {
        await finishFilling(sql, epoch, { created, messages, last_sequence });
        return;
      }
      const filling = fill({
        connection,
        epoch,
        messages,
        end: last_sequence,
        isStopped: () => stopped,
        async onProgress(links) {
          filled = links;
          await recordFilled(sql, links);
        },
      });
      const isFilled = await filling.catch(async (error: unknown) => {
        if (!(error instanceof DamagedStreamError)) throw error;
        // Every redirector goes on with what it has, and another filling follows.
        log.error({ error }, "links_feed_damaged");
        await manager.streams.delete(LINKS_STREAM);
        return false;
      });
      const stream = await readPosition(manager, streamReplicas);
      if (!isFilled || stream.created !== created) return;
      if (await finishFilling(sql, epoch, stream)) log.info({ links: filled }, "links_feed_filled");
    });
  }

  /**
   * Waits until every change that may have drawn a lower version than the epoch has ended; false when stopped. Throws when
   * one does not end.
   */
  async function waitForWriters(lock: Transaction): Promise<boolean> {
    const deadline = performance.now() + WRITERS_MS_MAX;
    let writers = await findWriters(lock);
    while (writers.length > 0) {
      if (stopped) return false;
      if (performance.now() > deadline)
        throw new Error(
          `Transactions of PostgreSQL that change links do not end: ${writers.join()}`,
        );
      await Bun.sleep(WRITERS_POLL_MS);
      writers = await findRunning(lock, writers);
    }
    return true;
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
      // One that fails is not repeated: the next one says the same, and link changes have the outbox.
      isToBeFilled = false;
      try {
        const heartbeat = await check(manager).then(
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
          const { seq } = await client.publish(HEARTBEAT_SUBJECT, encodeHeartbeat(heartbeat));
          acknowledged = Math.max(acknowledged, seq);
          isStarted = true;
          // Not before redirectors can know: a position of now may say nothing once links are published.
          if (isToBeFilled && !heartbeat.complete) startFilling(connection, manager);
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
      return isOtherDatabase ? OTHER_DATABASE : describeIncompleteness(filled);
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

/** Reads what the stream has; creates it when it does not exist. */
async function readPosition(manager: JetStreamManager, replicas: number): Promise<StreamPosition> {
  try {
    const { created, state } = await manager.streams.info(LINKS_STREAM);
    return { created, last_sequence: state.last_seq, messages: state.messages };
  } catch (error) {
    if (jetStreamErrorCode(error) !== STREAM_NOT_FOUND) throw error;
    await ensureLinksStream(manager, replicas);
    return await readPosition(manager, replicas);
  }
}
