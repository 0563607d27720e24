/**
 * Decides when a worker may try to take over: when no worker fetches segments or renews a claim.
 * The state of the durable consumer and the claim are only hints. A wrong hint does no harm: the
 * log of batches decides who the owner is.
 */
import type { ConsumerInfo } from "nats";

import type { Log } from "../../shared/log.ts";
import { type ClaimSight, RENEWED_MS } from "./batch-log.ts";

/** Time between two looks of a worker that stands by. */
export const STAND_BY_MS = 500;

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

/** The claims of others, as a worker that stands by has seen them. */
export class Election {
  readonly #log: Log;
  readonly #now: () => number;
  #lastDelivered: number | undefined;
  #quietMs: number;
  #quietSince: number;
  #claim: { key: string; since: number } | undefined;
  #isReported = false;

  /**
   * `lost` is how often in a row this worker lost the log to another one before it became the
   * owner; `now` returns milliseconds of a monotonic clock.
   */
  constructor(lost: number, log: Log, now = () => performance.now()) {
    this.#log = log;
    this.#now = now;
    this.#quietMs = lost === 0 ? FIRST_QUIET_MS : Math.min(QUIET_MS * 2 ** lost, QUIET_MAX_MS);
    this.#quietSince = now();
  }

  /** Notes the state of the durable consumer; returns whether nobody has fetched for a while. */
  isQuiet({ num_waiting, delivered }: ConsumerInfo): boolean {
    const isActive =
      num_waiting > 0 ||
      (this.#lastDelivered !== undefined && delivered.consumer_seq > this.#lastDelivered);
    this.#lastDelivered = delivered.consumer_seq;
    if (isActive) [this.#quietSince, this.#quietMs] = [this.#now(), QUIET_MS];
    return !isActive && this.#now() - this.#quietSince >= this.#quietMs;
  }

  /**
   * Notes a sight of the claim; returns whether its owner has been quiet for {@link RENEWED_MS}.
   * This worker's own clock measures that, from the last change it saw: ClickHouse's clock may have
   * been ahead when the claim was written, or may have been turned back since. ClickHouse's clock
   * counts only when the claim is old by it; then a worker that has just started need not wait.
   */
  isAbandoned(sight: ClaimSight | undefined): boolean {
    if (sight === undefined) return true;
    const { key, ageMs, aheadMs } = sight;
    if (this.#claim?.key !== key) this.#claim = { key, since: this.#now() };
    if (aheadMs > 0 && !this.#isReported) {
      this.#isReported = true;
      this.#log.warn({ ahead_seconds: Math.ceil(aheadMs / 1_000) }, "claim_from_the_future");
    }
    // All entries are in the future: no owner has renewed the claim by the current clock.
    if (ageMs === undefined) return true;
    return ageMs > RENEWED_MS || this.#now() - this.#claim.since > RENEWED_MS;
  }
}
