/**
 * Consumes segments from JetStream: stores them in batches and acknowledges them, or dead-letters them with the reason.
 * A segment is acknowledged only after its rows are in ClickHouse; until then JetStream redelivers it. Of all workers
 * one at a time does so, the owner (docs/batches.md); the others stand by.
 */
import type { NatsConnection } from "nats";

import { isLost, type OwnerDeps } from "./batches/deps.ts";
import { waitUntilQuiet } from "./batches/election.ts";
import { type Owner, takeOver } from "./batches/owner.ts";
import { prepareWanted } from "./batches/prepare.ts";
import { readConsumer, readSequences } from "./batches/stream.ts";
import {
  type ConsumerDeps,
  type Consuming,
  createConsuming,
  RESTART_DELAY_MS,
} from "./consuming.ts";
import { ensureStreams, ownClicks } from "./owning.ts";

export type Consumer = {
  /** `ok` while segments are being fetched, here or by the owner, else the reason why not. */
  state(): string;
  /** Segments waiting in JetStream, as far as known. */
  pending(): number;
  /** The owner's epoch and sizes; undefined while this worker is not the owner. */
  owner(): ({ epoch: number } & ReturnType<Owner<unknown>["size"]>) | undefined;
  /** Batches of other owners that this worker settled. */
  settled(): number;
  /** Seconds since the first click that this worker holds, 0 if none; undefined while it is not the owner. */
  lagSeconds(): number | undefined;
  /** Fetches no more segments, and resolves when those in flight are stored or returned to JetStream. */
  stop(): Promise<void>;
};

export function startConsumer<Rows>(deps: ConsumerDeps<Rows>): Consumer {
  const consuming = createConsuming(deps);
  const { status } = consuming;
  const running = run(consuming);
  return {
    state: () => status.state,
    pending: () => status.pending,
    owner() {
      const owner = status.current?.owner;
      return owner === undefined ? undefined : { epoch: owner.epoch, ...owner.size() };
    },
    settled: () => status.settled,
    lagSeconds() {
      if (status.current === undefined) return undefined;
      const first = status.current.collector.firstClick();
      return first === undefined ? 0 : Math.max(0, (Date.now() - first) / 1_000);
    },
    async stop() {
      consuming.stop();
      await running;
    },
  };
}

/** Stands by until nobody stores clicks, takes over, and begins anew when another worker has taken over. */
async function run<Rows>(consuming: Consuming<Rows>): Promise<void> {
  const connection = await consuming.connection();
  /** How often in a row this worker lost the log. */
  let lost = 0;
  while (connection !== undefined && !consuming.isStopped()) {
    try {
      await ensureStreams(consuming, connection);
      await standBy(consuming, connection, lost);
      if (consuming.isStopped()) return;
      const owner = await takeOver(ownerDeps(consuming, connection));
      lost = 0;
      await ownClicks(consuming, connection, owner);
    } catch (error) {
      if (isLost(error)) lost++;
      consuming.interrupt(error);
      await consuming.sleep(RESTART_DELAY_MS);
    }
  }
}

const standBy = <Rows>(
  { status, batches, sleep, isStopped, log }: Consuming<Rows>,
  connection: NatsConnection,
  lost: number,
): Promise<void> =>
  waitUntilQuiet({
    async readConsumer() {
      const info = await readConsumer(connection);
      [status.state, status.pending] = ["ok", info.num_pending];
      return info;
    },
    readClaim: () => batches.log.readClaimSight(),
    sleep,
    isStopped,
    lost,
    log,
  });

const ownerDeps = <Rows>(
  { batches, rowsOf, retry, status }: Consuming<Rows>,
  connection: NatsConnection,
): OwnerDeps<Rows> => ({
  ...batches,
  retry,
  findInStream: (segments, sequences) =>
    prepareWanted(readSequences(connection, sequences), segments, rowsOf),
  onSettled() {
    status.settled++;
    batches.onSettled();
  },
});
