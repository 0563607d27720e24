/** Bounds how long a caller waits. */
import { setTimeout as sleep } from "node:timers/promises";

/** The work did not finish in time. */
export class TimeoutError extends Error {
  override name = "TimeoutError";
}

/**
 * Settles as `work` does, or rejects after `ms` milliseconds with the error of `createError`, by
 * default a {@link TimeoutError}. The work is not cancelled; a result that comes later is ignored.
 * What is left until a deadline can be negative, which a timer would warn of on stderr.
 */
export function withTimeout<T>(
  work: PromiseLike<T>,
  ms: number,
  createError: () => Error = () => new TimeoutError(`no response within ${ms} ms`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(createError()), Math.max(0, ms));
    // A running timer would keep its memory, and the process, until it fires.
    work.then(resolve, reject).then(() => clearTimeout(timer), reject);
  });
}

/** Waits for `ms` milliseconds, or until the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
