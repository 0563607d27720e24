/** Bounds how many jobs of one kind run concurrently, how many wait, and for how long. */

export type ConcurrencyBounds = {
  /** Maximum jobs that run concurrently. */
  running: number;
  /** Maximum jobs that wait for a slot; beyond that, a job is rejected at once. */
  waiting: number;
  /** Maximum wait for a slot, in milliseconds. */
  waitMs: number;
};

type Waiter = { start: () => void; expiry: NodeJS.Timeout };

/**
 * Returns a function that runs jobs within `bounds`, in the order of arrival. It rejects with the
 * error of `busy` when too many jobs wait, or when no slot became free in time. A rejected job was
 * never started.
 */
export function createConcurrencyLimit(bounds: ConcurrencyBounds, busy: () => Error) {
  // In the order of arrival.
  const waiters = new Set<Waiter>();
  let running = 0;

  function acquire(): Promise<void> {
    if (running < bounds.running) {
      running++;
      return Promise.resolve();
    }
    if (waiters.size >= bounds.waiting) return Promise.reject(busy());
    return new Promise((start, reject) => {
      const waiter: Waiter = {
        start,
        expiry: setTimeout(() => {
          waiters.delete(waiter);
          reject(busy());
        }, bounds.waitMs),
      };
      waiters.add(waiter);
    });
  }

  /** Passes the slot on to the first waiter. */
  function release(): void {
    const [next] = waiters;
    if (next === undefined) {
      running--;
      return;
    }
    waiters.delete(next);
    clearTimeout(next.expiry);
    next.start();
  }

  return async <T>(work: () => Promise<T>): Promise<T> => {
    await acquire();
    try {
      return await work();
    } finally {
      release();
    }
  };
}
