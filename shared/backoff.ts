/** Exponential backoff: delays between retries that double up to a bound. */

export type BackoffOptions = {
  /** The first delay, in milliseconds. */
  firstMs: number;
  /** The longest delay, in milliseconds. */
  maxMs: number;
};

/** Delays the next retry, and doubles the delay after it. */
export type Backoff = { wait(): Promise<void> };

/** Starts at `firstMs`. Create one per task, so that the failures of one do not delay another. */
export function createBackoff(
  { firstMs, maxMs }: BackoffOptions,
  sleep: (ms: number) => Promise<void> = Bun.sleep,
): Backoff {
  let delayMs = firstMs;
  return {
    async wait() {
      const currentMs = delayMs;
      delayMs = Math.min(delayMs * 2, maxMs);
      await sleep(currentMs);
    },
  };
}
