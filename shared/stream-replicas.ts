/**
 * Compares the replicas of existing streams with `NATS_REPLICAS`. When a server becomes part of a
 * cluster, its streams keep one replica until an operator changes that. The process is ready
 * nevertheless, but the failure of one server then stops the stream.
 */
import type { NatsConnection } from "nats";

import type { Log } from "./log.ts";
import { repeat } from "./repeat.ts";

/** Time between two comparisons. */
const INTERVAL_MS = 60_000;

/** The same after a failed attempt, or before the streams exist. */
const RETRY_MS = 5_000;

const REQUEST_TIMEOUT_MS = 2_000;

export type ReplicaWatch = {
  /**
   * A warning to the operator; undefined when each stream has enough replicas, or when that is
   * unknown.
   */
  warning(): string | undefined;
  stop(): void;
};

/** Watches `streams`; logs once for each that has fewer than `expected` replicas. */
export function watchReplicas({
  nats,
  streams,
  expected,
  log,
}: {
  nats: Promise<NatsConnection>;
  streams: readonly string[];
  expected: number;
  log: Log;
}): ReplicaWatch {
  const found = new Map<string, number>();

  const tooFew = () => [...found].filter(([, replicas]) => replicas < expected);

  async function compare(): Promise<void> {
    const connection = await nats;
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const { streams: manager } = await connection.jetstreamManager(options);
    for (const stream of streams) {
      const replicas = (await manager.info(stream)).config.num_replicas;
      if (replicas < expected && found.get(stream) !== replicas)
        log.warn({ stream, replicas, expected }, "stream_has_too_few_replicas");
      found.set(stream, replicas);
    }
  }

  // A single server needs no comparison. A stream that does not exist yet is created with
  // `expected` replicas.
  const comparisons =
    expected > 1
      ? repeat(() =>
          compare().then(
            () => INTERVAL_MS,
            () => RETRY_MS,
          ),
        )
      : undefined;
  return {
    warning() {
      const named = tooFew().map(
        ([stream, replicas]) => `${stream} has ${replicas} of ${expected}`,
      );
      return named.length === 0 ? undefined : named.join(", ");
    },
    stop: () => void comparisons?.stop(),
  };
}
