/** What the consumer's modules share: its dependencies, its status, and how it stops. */
import { Events, type NatsConnection } from "nats";

import { createBackoff } from "../../shared/backoff.ts";
import type { Log } from "../../shared/log.ts";
import type { Collector } from "../batches/collector.ts";
import { isLost, type OwnerDeps } from "../batches/deps.ts";
import type { LogPlace } from "../batches/entries.ts";
import type { Owner } from "../batches/owner.ts";
import type { Repairs } from "../batches/repair.ts";
import { isDiskFull } from "../clickhouse.ts";
import type { EnrichSegment } from "../enrich/rows.ts";
import type { ClickedLink } from "../pending-links.ts";
import type { CountOutcome } from "./acknowledger.ts";

/** Pause after an interruption, such as a deleted stream. */
export const RESTART_DELAY_MS = 500;

/** Most characters of an error in a warning. */
const MESSAGE_LENGTH_MAX = 200;

const BACKOFF = { firstMs: 200, maxMs: 10_000 };

export type ConsumerDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  /** Copies of a stream that this process creates. */
  streamReplicas: number;
  /** Time between two checks of the stream's size. */
  trimIntervalMs?: number;
  log: Log;
  enrich: EnrichSegment;
  /** The log of batches, and their storage. */
  batches: Omit<OwnerDeps, "retry" | "findInStream">;
  /** Repairs rollups for a short time. Nothing may be inserted meanwhile. */
  repair: Repairs["repair"];
  /** Called with the links of stored segments: they have new clicks. */
  onStored: (links: Iterable<ClickedLink>) => void;
  /**
   * Called with the rows of stored segments, and the place in the log up to which all are stored.
   */
  onRows: (rows: readonly Buffer[], place: LogPlace) => void;
  /**
   * Called when this worker has taken over, with its first place in the log: another one may have
   * stored clicks that it did not count.
   */
  onTakenOver: (place: LogPlace) => void;
  /** Called with the age of a batch's first click in seconds, when it is stored. */
  onBatch: (ageSeconds: number) => void;
  count: CountOutcome;
};

export type ConsumerContext = ConsumerDeps & {
  status: {
    /** `ok` while segments are being fetched, here or by the owner, else the reason why not. */
    state: string;
    /** Segments waiting in JetStream, as far as known. */
    pending: number;
    /** Why ClickHouse does not store what is to be stored; undefined when it does. */
    storageProblem: string | undefined;
    /** Batches of other owners that this worker settled. */
    settled: number;
    /** Undefined while this worker is not the owner. */
    current: { owner: Owner; collector: Collector } | undefined;
  };
  /** The connection to NATS; undefined when the worker stops before it is connected. */
  connection(): Promise<NatsConnection | undefined>;
  /**
   * How often the client has reconnected: the server may have forgotten what it had acknowledged.
   */
  reconnects(): number;
  /** Waits; resolves early when the worker stops. */
  sleep(ms: number): Promise<void>;
  /**
   * Repeats an operation until it succeeds. Throws final errors at once, and any error when the
   * worker stops.
   */
  retry: OwnerDeps["retry"];
  /** Records why segments are not being stored. */
  interrupt(error: unknown): void;
  isStopped(): boolean;
  stop(): void;
};

export function createContext(deps: ConsumerDeps): ConsumerContext {
  const { nats, log } = deps;
  const stopping = Promise.withResolvers<undefined>();
  let stopped = false;
  let reconnects = 0;
  const status: ConsumerContext["status"] = {
    state: "not connected yet",
    pending: 0,
    storageProblem: undefined,
    settled: 0,
    current: undefined,
  };
  async function countReconnects(): Promise<void> {
    for await (const { type } of (await nats).status()) if (type === Events.Reconnect) reconnects++;
  }
  void countReconnects().catch((error: unknown) => log.warn({ error }, "connection_not_watched"));
  const sleep = (ms: number): Promise<void> => Promise.race([Bun.sleep(ms), stopping.promise]);
  return {
    ...deps,
    status,
    connection: () => Promise.race([nats, stopping.promise]),
    reconnects: () => reconnects,
    sleep,
    async retry(operation, isFinal = () => false) {
      const backoff = createBackoff(BACKOFF, sleep);
      for (;;) {
        try {
          const result = await operation();
          status.storageProblem = undefined;
          return result;
        } catch (error) {
          if (isFinal(error)) throw error;
          log.warn({ error }, "batch_failed");
          status.storageProblem = describeFailure(error);
          await backoff.wait();
          if (stopped) throw error;
        }
      }
    },
    interrupt(error) {
      if (isLost(error)) return log.info("clicks_taken_over_by_other_worker");
      status.state = `interrupted: ${error instanceof Error ? error.message : "unknown reason"}`;
      if (!stopped) log.warn({ error }, "consumer_interrupted");
    },
    isStopped: () => stopped,
    stop() {
      stopped = true;
      stopping.resolve(undefined);
      status.current?.collector.close();
    },
  };
}

/** What an operator reads; nothing has to be restarted. */
function describeFailure(error: unknown): string {
  if (isDiskFull(error))
    return "the disk of ClickHouse is full: clicks wait in CLICKS, for 72 hours, and are stored when there is room";
  const message = error instanceof Error ? error.message : "unknown reason";
  return `ClickHouse does not store clicks, which wait in CLICKS: ${message.slice(0, MESSAGE_LENGTH_MAX)}`;
}
