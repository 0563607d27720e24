/**
 * When a worker may try to take over: while nobody fetches segments. It is only a hint, from the state of the durable
 * consumer, and a wrong one does no harm: the log of batches decides who the owner is.
 */
import type { ConsumerInfo } from "nats";

import { RENEWED_MS } from "./renewal.ts";

const POLL_MS = 500;

/**
 * How long nobody must have fetched. An owner has a fetch waiting at nearly all times; while its next batch is full and
 * the insert takes long it has none, and renews its claim instead.
 */
const QUIET_MS = 3_000;

/** The same for a worker that has seen nobody since it started: it is probably the only one. */
const FIRST_QUIET_MS = 500;

/**
 * The same at most. A new owner does not fetch while it settles what is in doubt, which takes longer the more clicks a
 * day has. Others that take over meanwhile would begin anew, so a worker waits twice as long whenever it lost.
 */
const QUIET_MAX_MS = 60_000;

type ElectionDeps = {
  /** Reads the state of the durable consumer. */
  readConsumer: () => Promise<Pick<ConsumerInfo, "num_waiting" | "delivered">>;
  /** Milliseconds since the owner claimed the log, or renewed its claim; undefined if there is none. */
  readClaimAge: () => Promise<number | undefined>;
  /** Waits; resolves early when the worker stops. */
  sleep: (ms: number) => Promise<void>;
  isStopped: () => boolean;
  /** How often in a row this worker lost the log to another one before it was the owner. */
  lost: number;
};

/** Resolves when no worker has fetched segments for a while, or when this one stops. */
export async function waitUntilQuiet(deps: ElectionDeps): Promise<void> {
  const { readConsumer, readClaimAge, sleep, isStopped, lost } = deps;
  let lastDelivered: number | undefined;
  let quietMs = lost === 0 ? FIRST_QUIET_MS : Math.min(QUIET_MS * 2 ** lost, QUIET_MAX_MS);
  let quietSince = performance.now();
  while (!isStopped()) {
    const { num_waiting, delivered } = await readConsumer();
    const isActive =
      num_waiting > 0 || (lastDelivered !== undefined && delivered.consumer_seq > lastDelivered);
    lastDelivered = delivered.consumer_seq;
    if (isActive) [quietSince, quietMs] = [performance.now(), QUIET_MS];
    else if (performance.now() - quietSince >= quietMs) {
      const age = await readClaimAge();
      if (age === undefined || age > RENEWED_MS) return;
    }
    await sleep(POLL_MS);
  }
}
