/** Whether a webhook fails or is slow. Times are those of `performance.now()`. */
import { FAILING_SECONDS, type LeasedWebhook } from "./leases.ts";

/** A webhook is slow while its attempts take longer on average, of which the last count most. */
const SLOW_MS = 2_000;
const LAST_ATTEMPT_WEIGHT = 0.3;

/** How an attempt ended. */
export type AttemptEnd = { delivered: boolean; latencyMs: number };

/**
 * What an attempt changes: whether every attempt fails now, and whether the webhook is slow, each
 * undefined if it stays; `recovered` when it had failed for long.
 */
export type HealthChange = {
  failing: boolean | undefined;
  slow: boolean | undefined;
  recovered: boolean;
};

export type Health = {
  isFailing(now: number): boolean;
  /** Whether its attempts are held apart from those of others. */
  isThrottled(now: number): boolean;
  /** Whether an attempt was successful since the webhook was leased. */
  hasSucceeded(): boolean;
  failingSince(): number | undefined;
  /** Notes an attempt. */
  note(end: AttemptEnd, now: number): HealthChange;
};

/** The health of a webhook as the last worker left it. */
export function createHealth({ failing_seconds, is_slow }: LeasedWebhook): Health {
  let failingSince =
    failing_seconds === null ? undefined : performance.now() - failing_seconds * 1_000;
  /** Undefined before the first attempt. A slow one has to be quick several times. */
  let meanMs = is_slow ? 2 * SLOW_MS : undefined;
  let hasSucceeded = false;

  const isFailing = (now: number): boolean =>
    failingSince !== undefined && now - failingSince > FAILING_SECONDS * 1_000;

  const isSlow = (): boolean => (meanMs ?? 0) > SLOW_MS;

  return {
    isFailing,
    isThrottled: (now) => isFailing(now) || isSlow(),
    hasSucceeded: () => hasSucceeded,
    failingSince: () => failingSince,

    note({ delivered, latencyMs }, now) {
      const [wasFailing, wasSlow] = [failingSince !== undefined, isSlow()];
      const recovered = delivered && isFailing(now);
      hasSucceeded ||= delivered;
      failingSince = delivered ? undefined : (failingSince ?? now);
      meanMs =
        meanMs === undefined ? latencyMs : meanMs + LAST_ATTEMPT_WEIGHT * (latencyMs - meanMs);
      return {
        failing: delivered === wasFailing ? !delivered : undefined,
        slow: isSlow() === wasSlow ? undefined : isSlow(),
        recovered,
      };
    },
  };
}
