/** Waits for what becomes true by itself; no test sleeps for a fixed time. */

const POLL_MS = { first: 20, max: 500 };

/** Calls `check` until it throws no more, and gives its result; the last error when time is up. */
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
