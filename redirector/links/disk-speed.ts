/**
 * Detects whether reads of the links store wait for the disk. If so, a thread does them for a
 * while, so that other requests do not wait too.
 */

/** A longer read has waited, for the disk or for a processor. */
const SLOW_READ_MS = 2;

/** How long a thread does the reads after one that waited for the disk. */
const SLOW_READS_MS = 500;

/** Blocks that this process has read from disks (getrusage(2), `ru_inblock`); a call takes 2 µs. */
const countBlocksRead = (): number => process.resourceUsage().fsRead;

/**
 * A slow read without any disk read has waited for a processor. A thread would wait for one too,
 * and cost more.
 */
export class DiskSpeed {
  readonly #countBlocks: () => number;
  #blocks: number;
  #slowUntil = 0;

  constructor(countBlocks = countBlocksRead) {
    this.#countBlocks = countBlocks;
    this.#blocks = countBlocks();
  }

  /** Whether a thread does the reads, at a time of `performance.now()`. */
  isSlow(now: number): boolean {
    return now < this.#slowUntil;
  }

  /** Records the start and end of a read, in the same time. */
  note(startedAt: number, endedAt: number): void {
    if (endedAt - startedAt <= SLOW_READ_MS) return;
    const before = this.#blocks;
    this.#blocks = this.#countBlocks();
    if (this.#blocks > before) this.#slowUntil = endedAt + SLOW_READS_MS;
  }
}
