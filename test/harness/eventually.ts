/** Waits for what becomes true by itself; no test sleeps for a fixed time. */

const POLL_MS = 25;

/** Calls `check` until it throws no more, and gives its result; the last error when time is up. */
export async function eventually<T>(check: () => Promise<T>, withinMs: number): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await Bun.sleep(POLL_MS);
  }
}
