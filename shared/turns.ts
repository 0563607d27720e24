/**
 * Divides long work into turns of the event loop: after some time it goes on in a later one, and
 * requests that arrive are read in between. Work that waits for its next turn gets it in the order
 * in which it waits, one piece of work in each turn of the event loop, so that several requests
 * with much work together take no more of a turn than one.
 */

/** How long work may go on in one turn of the event loop. */
const TURN_MS = 5;

/** Work that waits. The event loop of a process is one, and so is the queue for its turns. */
const waiting: (() => void)[] = [];

/**
 * Begins work that may take long. Between two steps it checks whether its turn is over, and then
 * waits for the next.
 */
export const beginTurn = (turnMs = TURN_MS): Turn => new Turn(turnMs);

export class Turn {
  readonly #turnMs: number;
  #endsAt: number;

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
    this.#endsAt = performance.now() + turnMs;
  }

  /** Whether the work has taken its time in this turn. */
  isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(runNext);
    });
    this.#endsAt = performance.now() + this.#turnMs;
  }
}

function runNext(): void {
  const resolve = waiting.shift();
  if (waiting.length > 0) setImmediate(runNext);
  resolve?.();
}
