/**
 * The exports that run in a process: few, because each holds two parts in memory. Each is of
 * another account, and a client that takes its export slowly keeps it only until another account
 * wants one.
 */
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";

const EXPORTS_MAX = 3;

/** Seconds after which a client may request an export again. */
const RETRY_SECONDS = 5;

/** How fast a client must take its export to keep it while other accounts wait for one. */
export const PACE = {
  bytesPerSecond: 1_000_000,
  /** Milliseconds by which it may be late: a connection may pause. */
  lateMs: 10_000,
};

type Running = {
  /** Breaks the export's connection. */
  end: () => void;
  /** Milliseconds by which the client may be late with what it takes next. */
  spareMs: number;
  /** Since when it has had a chunk to take; undefined while the export reads the next one. */
  waitingSince: number | undefined;
};

export class RunningExports {
  readonly #pace: typeof PACE;
  readonly #now: () => number;
  readonly #running = new Map<Uuid, Running>();

  constructor(pace = PACE, now: () => number = () => performance.now()) {
    this.#pace = pace;
    this.#now = now;
  }

  /**
   * Runs an export. Throws `rate_limited` for a second one of an account, and `unavailable` beyond
   * {@link EXPORTS_MAX} while no client of another is late. `end` is called to break the connection
   * of this one when its own client is.
   */
  async *run(
    accountId: Uuid,
    start: () => AsyncGenerator<Uint8Array, undefined>,
    end: () => void,
  ): AsyncGenerator<Uint8Array, undefined> {
    const retry = { retryAfterSeconds: RETRY_SECONDS };
    if (this.#running.has(accountId))
      throw new ApiError("rate_limited", "An export of this account is running.", retry);
    if (this.#running.size >= EXPORTS_MAX && !this.#endLatest())
      throw new ApiError("unavailable", "Too many exports are running. Try again shortly.", retry);
    const own: Running = { end, spareMs: this.#pace.lateMs, waitingSince: undefined };
    this.#running.set(accountId, own);
    try {
      return yield* this.#follow(start(), own);
    } finally {
      // The account may have another one since this one was ended.
      if (this.#running.get(accountId) === own) this.#running.delete(accountId);
    }
  }

  /** Ends the export whose client is latest; returns false if none is late. */
  #endLatest(): boolean {
    const [latest] = [...this.#running].toSorted(
      ([, a], [, b]) => this.#latenessOf(b) - this.#latenessOf(a),
    );
    if (latest === undefined || this.#latenessOf(latest[1]) <= 0) return false;
    const [accountId, { end }] = latest;
    this.#running.delete(accountId);
    end();
    return true;
  }

  /** Yields the chunks, and measures how long the client takes for each. */
  async *#follow(
    chunks: AsyncGenerator<Uint8Array, undefined>,
    own: Running,
  ): AsyncGenerator<Uint8Array, undefined> {
    const { bytesPerSecond, lateMs } = this.#pace;
    for await (const chunk of chunks) {
      own.waitingSince = this.#now();
      yield chunk;
      const earnedMs = (1_000 * chunk.length) / bytesPerSecond;
      own.spareMs = Math.min(lateMs, Math.max(0, -this.#latenessOf(own)) + earnedMs);
      own.waitingSince = undefined;
    }
    return undefined;
  }

  /** Milliseconds by which a client is later than it may be; negative for one that is not. */
  #latenessOf({ spareMs, waitingSince }: Running): number {
    return (waitingSince === undefined ? 0 : this.#now() - waitingSince) - spareMs;
  }
}
