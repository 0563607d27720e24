/** Fills a stream of the links feed under an epoch: what comes before the links are published, and after it. */
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

/** How often, and how long, a filling looks whether the changes before it have ended, each of which takes milliseconds. */
const WRITERS_POLL_MS = 20;
const WRITERS_MS_MAX = 30_000;

/** Messages of a stream that has nothing but its heartbeat. */
const HEARTBEATS = 1;

/** What a filling has to know. */
export type Filling = {
  stream: LinksStream;
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
  /** Called with the number of links so far. */
  onProgress: (links: number) => void;
  /** Called with whether the database is another one than that of the stream's links, which are then left as they are. */
  onOtherDatabase: (isOther: boolean) => void;
  isStopped: () => boolean;
  log: Log;
};

/** Fills the stream, unless another process fills one, or this one has every link meanwhile. */
export const fillOnce = async (deps: FillingDeps): Promise<void> =>
  await deps.sql.begin(async (lock) => {
    const { sql, stream, manager, readPosition, fill, isStopped, log } = deps;
    const { name } = stream;
    if (!(await lockFilling(lock))) return;
    // A filling may have ended since the check that found links missing.
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
      // Every redirector goes on with what it has, and another filling follows.
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
 * Waits until every change that may have drawn a lower version than the epoch has ended; false when stopped. Throws when
 * one does not end.
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
