/** Waits for a condition; no test sleeps for a fixed time. */

const POLL_MS = { first: 20, max: 500 };

/** Retries `check` until it does not throw, and returns its result; throws its last error after `withinMs`. */
export async function eventually<T>(check: () => Promise<T>, withinMs: number): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (let wait = POLL_MS.first; ; wait = Math.min(wait * 1.5, POLL_MS.max)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await Bun.sleep(wait);
  }
}
