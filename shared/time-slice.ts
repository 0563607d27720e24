/**
 * Divides long work into turns of the event loop: after some time it goes on in a later one, and
 * requests that arrive are read in between. Work that waits for its next turn gets it in the order
 * in which it waits, one piece of work in each turn of the event loop, so that several requests
 * with much work together take no more of a turn than one.
 */

/** How long work may go on in one turn of the event loop. */
const SLICE_MS = 5;

/** Work that waits. The event loop of a process is one, and so is the queue for its turns. */
const waiting: (() => void)[] = [];

/**
 * The time of work that may take long. Between two steps the work checks whether its time is over,
 * and then waits for the next.
 */
export class TimeSlice {
  readonly #ms: number;
  #endsAt: number;

  constructor(ms = SLICE_MS) {
    this.#ms = ms;
    this.#endsAt = performance.now() + ms;
  }

  isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(runNext);
    });
    this.#endsAt = performance.now() + this.#ms;
  }
}

function runNext(): void {
  const resolve = waiting.shift();
  if (waiting.length > 0) setImmediate(runNext);
  resolve?.();
}
