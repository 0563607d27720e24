/**
 * Decides when a worker may try to take over: when no worker fetches segments or renews a claim.
 * The state of the durable consumer and the claim are only hints. A wrong hint does no harm: the
 * log of batches decides who the owner is.
 */
import type { ConsumerInfo } from "nats";

import type { Log } from "../../shared/log.ts";
import type { ClaimSight } from "./entries.ts";
import { RENEWED_MS } from "./renewal.ts";

const POLL_MS = 500;

/**
 * Time without a fetch after which a worker may take over. An owner nearly always has a fetch
 * waiting. It has none while its next batch is full and the insert takes long; then it renews its
 * claim instead.
 */
const QUIET_MS = 3_000;

/**
 * The same for a worker that has seen no fetch since it started: it is probably the only worker.
 */
const FIRST_QUIET_MS = 500;

/**
 * The longest such time. A new owner does not fetch while it settles batches in doubt, which takes
 * longer the more clicks a day has. A worker that takes over meanwhile would start this again, so a
 * worker doubles its wait whenever it loses.
 */
const QUIET_MAX_MS = 60_000;

type ElectionDeps = {
  /** Reads the state of the durable consumer. */
  readConsumer: () => Promise<Pick<ConsumerInfo, "num_waiting" | "delivered">>;
  /** Reads what the log shows of the winning claim; undefined if there is none. */
  readClaim: () => Promise<ClaimSight | undefined>;
  /** Waits; resolves early when the worker stops. */
  sleep: (ms: number) => Promise<void>;
  isStopped: () => boolean;
  /** How often in a row this worker lost the log to another one before it became the owner. */
  lost: number;
  log: Pick<Log, "warn">;
  /** Milliseconds of a monotonic clock. */
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
 * Creates the function that returns for each sight of the claim whether its owner has been quiet
 * for {@link RENEWED_MS}. This worker's own clock measures that, from the last change it saw:
 * ClickHouse's clock may have been ahead when the claim was written, or may have been turned back
 * since. ClickHouse's clock counts only when the claim is old by it; then a worker that has just
 * started need not wait.
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
    // All entries are in the future: no owner has renewed the claim by the current clock.
    if (ageMs === undefined) return true;
    return ageMs > RENEWED_MS || now() - seen.since > RENEWED_MS;
  };
}
