/** Work in the background: again and again with a pause between two rounds, until it is stopped. */
import type { Log } from "./log.ts";

/**
 * Begins the first round after `firstMs`. `work` handles its errors, and returns the milliseconds
 * until the next round.
 */
export const repeat = (work: () => number | Promise<number>, firstMs = 0): Repetition =>
  new Repetition(work, firstMs);

/** As {@link repeat}, with the same pause after each round; logs `failure` when one has failed. */
export const repeatEvery = (
  pauseMs: number,
  work: () => Promise<unknown>,
  { log, failure, firstMs }: { log: Log; failure: string; firstMs?: number },
): Repetition =>
  repeat(async () => {
    await work().catch((error: unknown) => log.warn({ error }, failure));
    return pauseMs;
  }, firstMs);

export class Repetition {
  readonly #work: () => number | Promise<number>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isStopped = false;

  constructor(work: () => number | Promise<number>, firstMs: number) {
    this.#work = work;
    if (firstMs === 0) this.#begin();
    else this.#timer = setTimeout(() => this.#begin(), firstMs);
  }

  /** Begins a round now, or at the end of the one that is running. */
  wake(): void {
    this.#isWoken = true;
    if (this.#running !== undefined || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#begin();
  }

  /** Begins no further round. Resolves at the end of the one that is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #begin(): void {
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    let pauseMs: number;
    do {
      this.#isWoken = false;
      pauseMs = await this.#work();
    } while (this.#isWoken && !this.#isStopped);
    this.#running = undefined;
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#begin(), pauseMs);
  }
}

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
