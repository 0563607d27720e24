/**
 * Fills a stream of the links feed under an epoch: the steps before and after the links are
 * published.
 */
import type { JetStreamManager, NatsConnection } from "nats";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import type { Log } from "../../shared/log.ts";
import type { Sql, Transaction } from "../postgres.ts";
import {
  drawEpoch,
  findRunning,
  findWriters,
  finishFilling,
  isNew,
  lacksAccounts,
  lockFilling,
  recordFilled,
  selectFeed,
  type StreamPosition,
} from "./sql.ts";

/**
 * Interval and maximum time of the wait for earlier changes to end, each of which takes
 * milliseconds.
 */
const WRITERS_POLL_MS = 20;
const WRITERS_MS_MAX = 30_000;

/** Messages of a stream that contains only its heartbeat. */
const HEARTBEATS = 1;

/** The inputs of a fill. */
export type FillInput = {
  stream: LinksStream;
  connection: NatsConnection;
  /**
   * The version under which all links are published. Every change with a lower version has been
   * committed.
   */
  epoch: number;
  /** The number of messages in the stream before the epoch, and the sequence of the last one. */
  messages: number;
  end: number;
  /** Called with the number of links published so far. */
  onProgress: (links: number) => Promise<void>;
  isStopped: () => boolean;
};

/**
 * Publishes every link again, and withdraws the stream's other links. Returns false when it was
 * interrupted.
 */
export type FillStream = (filling: FillInput) => Promise<boolean>;

/**
 * The stream still counts messages that were replaced. It cannot be filled and must be recreated.
 */
export class DamagedStreamError extends Error {
  override name = "DamagedStreamError";
  constructor(stream: string, messages: number) {
    super(`The stream ${stream} has ${messages} messages that were replaced.`);
  }
}

type FillingDeps = {
  sql: Sql;
  stream: LinksStream;
  connection: NatsConnection;
  manager: JetStreamManager;
  readPosition: () => Promise<StreamPosition>;
  fill: FillStream;
  /** Called with the number of links published so far. */
  onProgress: (links: number) => void;
  /**
   * Called with whether the stream's links come from a different database; they are then left
   * unchanged.
   */
  onOtherDatabase: (isOther: boolean) => void;
  isStopped: () => boolean;
  log: Log;
};

/** Fills the stream, unless another process is filling it or it has become complete meanwhile. */
export const fillOnce = async (deps: FillingDeps): Promise<void> =>
  await deps.sql.begin(async (lock) => {
    const { sql, stream, manager, readPosition, fill, isStopped, log } = deps;
    const { name } = stream;
    if (!(await lockFilling(lock))) return;
    // Another fill may have ended since the check that found missing links.
    if ((await selectFeed(lock, name)).incomplete_since === null) return;
    const before = await readPosition();
    const isOtherDatabase = before.messages > HEARTBEATS && (await lacksAccounts(lock));
    deps.onOtherDatabase(isOtherDatabase);
    if (isOtherDatabase) return;
    log.info({ stream: name }, "links_feed_filling");
    const epoch = await drawEpoch(lock);
    if (!(await waitForWriters(lock, isStopped))) return;
    if (before.messages <= HEARTBEATS && (await isNew(lock, name))) {
      await finishFilling(sql, epoch, before, name);
      return;
    }
    let filled = 0;
    const filling = fill({
      stream,
      connection: deps.connection,
      epoch,
      messages: before.messages,
      end: before.last_sequence,
      isStopped,
      async onProgress(links) {
        filled = links;
        deps.onProgress(links);
        await recordFilled(sql, links, name);
      },
    });
    const isFilled = await filling.catch(async (error: unknown) => {
      if (!(error instanceof DamagedStreamError)) throw error;
      // Every redirector continues with the links it has, and another fill follows.
      log.error({ error }, "links_feed_damaged");
      await manager.streams.delete(name);
      return false;
    });
    const after = await readPosition();
    if (!isFilled || after.created !== before.created) return;
    if (await finishFilling(sql, epoch, after, name))
      log.info({ stream: name, links: filled }, "links_feed_filled");
  });

/**
 * Waits until every change that may have drawn a version below the epoch has ended. Returns false
 * when stopped. Throws when a change does not end.
 */
async function waitForWriters(lock: Transaction, isStopped: () => boolean): Promise<boolean> {
  const deadline = performance.now() + WRITERS_MS_MAX;
  let writers = await findWriters(lock);
  while (writers.length > 0) {
    if (isStopped()) return false;
    if (performance.now() > deadline)
      throw new Error(`Transactions of PostgreSQL that change links do not end: ${writers.join()}`);
    await Bun.sleep(WRITERS_POLL_MS);
    writers = await findRunning(lock, writers);
  }
  return true;
}
