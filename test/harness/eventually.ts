/** Waits for a condition; no test sleeps for a fixed time. */

const POLL_MS = { first: 20, max: 500 };

/**
 * How many times longer than on a quiet machine anything may take in a test: shared runners stall
 * for seconds. A limit on time ends a test that hangs; it never measures.
 */
export const SLOWDOWN_MAX = 6;

/** Most time of a test, which may start several stacks on such a machine. */
export const TEST_TIMEOUT_MS = 900_000;

/** Longer than most things take that a test waits for. */
const WITHIN_MS = 10_000;

/**
 * Retries `check` until it does not throw, and returns its result; throws its last error after
 * {@link SLOWDOWN_MAX} times `withinMs`, the time it takes at most on a quiet machine.
 */
export async function eventually<T>(check: () => Promise<T>, withinMs = WITHIN_MS): Promise<T> {
  const deadline = Date.now() + withinMs * SLOWDOWN_MAX;
  for (let wait = POLL_MS.first; ; wait = Math.min(wait * 1.5, POLL_MS.max)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await Bun.sleep(wait);
  }
}

/** How often a delay is measured: a defect delays each time, a stall of the machine does not. */
const MEASUREMENTS_MAX = 4;

/** Measures until a value is less than `limit`, four times at most; returns the smallest. */
export async function smallest(measure: () => Promise<number>, limit: number): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < MEASUREMENTS_MAX && least >= limit; i++) {
    least = Math.min(least, await measure());
  }
  return least;
}
