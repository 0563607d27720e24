/**
 * A bounded queue of work that shares a scarce resource: keys, such as accounts, take turns, so
 * that one with much work delays another by at most what is running. Urgent work has priority, and
 * slots of its own.
 */
import { KeyCounts } from "./local-limits.ts";

export type FairQueueBounds = {
  /** Maximum work that runs at once: of all keys and the urgent, and of one key. */
  running: number;
  runningEach: number;
  /** Slots that only urgent work may use; none of the rest if there would be none left. */
  reserved?: number;
  /** Maximum work that waits: of all keys together, of one key, and urgent. */
  waiting: number;
  waitingEach: number;
  urgentWaiting?: number;
  /** The longest wait for a turn, in milliseconds; none if left out. */
  waitMs?: number;
};

/** The queue is full for all, or for one key; or no turn came in time. */
export class QueueFull extends Error {
  override name = "QueueFull";

  constructor(
    readonly queue: string,
    readonly of: "all" | "key",
  ) {
    super(
      of === "all"
        ? `Too much work waits for ${queue}.`
        : `Too much work of one account waits for ${queue}.`,
    );
  }
}

type Waiter = { start: () => void; expiry: NodeJS.Timeout | undefined };

export class FairQueue {
  readonly #name: string;
  readonly #bounds: FairQueueBounds;
  /** Waiting work by key, in the order of the keys' turns; keys without any are removed. */
  readonly #waiting = new Map<string, Waiter[]>();
  readonly #urgent: Waiter[] = [];
  /** Work of keys, and urgent work. */
  readonly #running = new KeyCounts();
  #urgentRunning = 0;
  #waitingCount = 0;

  /** `name` completes "… waits for …". */
  constructor(name: string, bounds: FairQueueBounds) {
    this.#name = name;
    this.#bounds = bounds;
  }

  get waiting(): number {
    return this.#waitingCount + this.#urgent.length;
  }

  /** Runs work of a key in its turn; throws {@link QueueFull}, and then it was never started. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { waiting, waitingEach } = this.#bounds;
    const own = this.#waiting.get(key) ?? [];
    if (!this.#mayStart(key) || own.length > 0) {
      if (own.length >= waitingEach) throw new QueueFull(this.#name, "key");
      if (this.#waitingCount >= waiting) throw new QueueFull(this.#name, "all");
      this.#waitingCount++;
      this.#waiting.set(key, own);
      await this.#wait(own, () => {
        this.#waitingCount--;
        if (own.length === 0) this.#waiting.delete(key);
      });
    } else this.#running.add(key, 1);
    try {
      return await work();
    } finally {
      this.#running.add(key, -1);
      this.#startNext();
    }
  }

  /** Runs urgent work before that of any key; throws {@link QueueFull}. */
  async runUrgent<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running.total + this.#urgentRunning >= this.#bounds.running) {
      if (this.#urgent.length >= (this.#bounds.urgentWaiting ?? 0))
        throw new QueueFull(this.#name, "all");
      await this.#wait(this.#urgent, () => undefined);
    } else this.#urgentRunning++;
    try {
      return await work();
    } finally {
      this.#urgentRunning--;
      this.#startNext();
    }
  }

  /** Waits in a line until it is this one's turn; `left` is called when it is in line no more. */
  #wait(line: Waiter[], left: () => void): Promise<void> {
    const { waitMs } = this.#bounds;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        start: () => {
          clearTimeout(waiter.expiry);
          left();
          resolve();
        },
        expiry: undefined,
      };
      line.push(waiter);
      if (waitMs === undefined) return;
      waiter.expiry = setTimeout(() => {
        line.splice(line.indexOf(waiter), 1);
        left();
        reject(new QueueFull(this.#name, "all"));
      }, waitMs);
    });
  }

  #mayStart(key: string): boolean {
    return !this.#isFull() && this.#running.of(key) < this.#bounds.runningEach;
  }

  /** Whether no work of any key may start. */
  #isFull(): boolean {
    const { running, reserved = 0 } = this.#bounds;
    return (
      this.#running.total + this.#urgentRunning >= running ||
      this.#running.total >= Math.max(1, running - reserved)
    );
  }

  /** Starts what may run: urgent work first, then one of each key in turn. */
  #startNext(): void {
    while (this.#running.total + this.#urgentRunning < this.#bounds.running) {
      const urgent = this.#urgent.shift();
      if (urgent === undefined) break;
      this.#urgentRunning++;
      urgent.start();
    }
    for (const [key, own] of this.#waiting) {
      if (this.#isFull()) return;
      if (!this.#mayStart(key)) continue;
      const next = own.shift();
      // The key moves to the end, or is removed when the last of its work has started.
      this.#waiting.delete(key);
      if (own.length > 0) this.#waiting.set(key, own);
      this.#running.add(key, 1);
      next?.start();
    }
  }
}
