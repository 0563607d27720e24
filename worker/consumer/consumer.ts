/**
 * Consumes segments from JetStream: stores them in batches and acknowledges them, or dead-letters
 * them with the reason. A segment is acknowledged only after its rows are in ClickHouse; until then
 * JetStream redelivers it. Only one worker at a time consumes, the owner (docs/batches.md); the
 * others stand by.
 */
import type { NatsConnection } from "nats";

import { isLost, type OwnerDeps } from "../batches/deps.ts";
import { waitUntilQuiet } from "../batches/election.ts";
import { type Owner, takeOver } from "../batches/owner.ts";
import { findInStream } from "../batches/stream-lookup.ts";
import { readConsumer } from "../batches/stream.ts";
import {
  type ConsumerContext,
  type ConsumerDeps,
  createContext,
  RESTART_DELAY_MS,
} from "./context.ts";
import { ensureStreams, runOwner } from "./owner-loop.ts";

export type Consumer = {
  /** `ok` while segments are being fetched, here or by the owner, else the reason why not. */
  state(): string;
  /** What keeps ClickHouse from storing clicks; undefined when nothing does. */
  warning(): string | undefined;
  /** Segments waiting in JetStream, as far as known. */
  pending(): number;
  /** The owner's epoch and sizes; undefined while this worker is not the owner. */
  owner(): ({ epoch: number } & ReturnType<Owner["size"]>) | undefined;
  /** Batches of other owners that this worker settled. */
  settled(): number;
  /**
   * Age in seconds of the first click that this worker holds, 0 if none; undefined while it is not
   * the owner.
   */
  lagSeconds(): number | undefined;
  /**
   * Fetches no more segments, and resolves when those in flight are stored or returned to
   * JetStream.
   */
  stop(): Promise<void>;
};

export function startConsumer(deps: ConsumerDeps): Consumer {
  const context = createContext(deps);
  const { status } = context;
  const running = run(context);
  return {
    state: () => status.state,
    warning: () => status.storageProblem,
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
      context.stop();
      await running;
    },
  };
}

/**
 * Stands by until no worker stores clicks, takes over, and stands by again when another worker has
 * taken over.
 */
async function run(context: ConsumerContext): Promise<void> {
  const connection = await context.connection();
  /** How often in a row this worker lost the log. */
  let lost = 0;
  while (connection !== undefined && !context.isStopped()) {
    try {
      await ensureStreams(context, connection);
      await standBy(context, connection, lost);
      if (context.isStopped()) return;
      const owner = await takeOver(ownerDeps(context, connection));
      lost = 0;
      context.onTakenOver({ epoch: owner.epoch, batch: owner.batch() });
      await runOwner(context, connection, owner);
    } catch (error) {
      if (isLost(error)) lost++;
      context.interrupt(error);
      await context.sleep(RESTART_DELAY_MS);
    }
  }
}

const standBy = (
  { status, batches, sleep, isStopped, log }: ConsumerContext,
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

const ownerDeps = (
  { batches, enrich, retry, status }: ConsumerContext,
  connection: NatsConnection,
): OwnerDeps => ({
  ...batches,
  retry,
  findInStream: (segments, sequences) => findInStream(connection, enrich, segments, sequences),
  onSettled() {
    status.settled++;
    batches.onSettled();
  },
});
