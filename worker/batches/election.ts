/**
 * When a worker may try to take over: while nobody fetches segments or renews a claim. It is only a hint, from the state
 * of the durable consumer and the claim, and a wrong one does no harm: the log of batches decides who the owner is.
 */
import type { ConsumerInfo } from "nats";

import type { Log } from "../../shared/log.ts";
import type { ClaimSight } from "./entries.ts";
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
  /** Reads what the log says about the claim that wins; undefined if there is none. */
  readClaim: () => Promise<ClaimSight | undefined>;
  /** Waits; resolves early when the worker stops. */
  sleep: (ms: number) => Promise<void>;
  isStopped: () => boolean;
  /** How often in a row this worker lost the log to another one before it was the owner. */
  lost: number;
  log: Pick<Log, "warn">;
  /** Milliseconds on a clock that is never set. */
  now?: () => number;
};

/** Resolves when no worker has fetched segments for a while, or when this one stops. */
export async function waitUntilQuiet(deps: ElectionDeps): Promise<void> {
  const { readConsumer, readClaim, sleep, isStopped, lost, now = () => performance.now() } = deps;
  const isQuiet = createClaimWatch(deps.log, now);
  let lastDelivered: number | undefined;
  let quietMs = lost === 0 ? FIRST_QUIET_MS : Math.min(QUIET_MS * 2 ** lost, QUIET_MAX_MS);
  let quietSince = now();
  while (!isStopped()) {
    const { num_waiting, delivered } = await readConsumer();
    const isActive =
      num_waiting > 0 || (lastDelivered !== undefined && delivered.consumer_seq > lastDelivered);
    lastDelivered = delivered.consumer_seq;
    if (isActive) [quietSince, quietMs] = [now(), QUIET_MS];
    else if (now() - quietSince >= quietMs && isQuiet(await readClaim())) return;
    await sleep(POLL_MS);
  }
}

/**
 * Creates the function that says of each sight of the claim whether its owner has been quiet for {@link RENEWED_MS}. That
 * counts on this worker's own clock, from the last change it saw: ClickHouse's clock may have been ahead when the
 * claim was written, or be set back since. That clock is believed only when it says that the claim is old, which
 * spares a worker that has just started the wait.
 */
function createClaimWatch(
  log: Pick<Log, "warn">,
  now: () => number,
): (sight: ClaimSight | undefined) => boolean {
  let seen: { key: string; since: number } | undefined;
  let isReported = false;
  return (sight) => {
    if (sight === undefined) return true;
    const { key, ageMs, aheadMs } = sight;
    if (seen?.key !== key) seen = { key, since: now() };
    if (aheadMs > 0 && !isReported) {
      isReported = true;
      log.warn({ ahead_seconds: Math.ceil(aheadMs / 1_000) }, "claim_from_the_future");
    }
    // Only entries from the future: nobody renews the claim by the clock as it is now.
    if (ageMs === undefined) return true;
    return ageMs > RENEWED_MS || now() - seen.since > RENEWED_MS;
  };
}
