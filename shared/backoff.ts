/** Exponential backoff: delays between retries that double up to a bound. */

/** The delays of one task, so that the failures of one do not delay another. */
export class Backoff {
  readonly #maxMs: number;
  #nextMs: number;

  constructor(firstMs: number, maxMs: number) {
    this.#nextMs = firstMs;
    this.#maxMs = maxMs;
  }

  /** The milliseconds to wait before the next retry; the delay after it is twice as long. */
  next(): number {
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(delayMs * 2, this.#maxMs);
    return delayMs;
  }
}
