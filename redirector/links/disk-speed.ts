/**
 * Whether reads of the links store wait for the disk. Then a thread does them for a while, so that other requests do not
 * wait as well.
 */

/** A read that takes longer waited, for the disk or for a processor. */
const SLOW_READ_MS = 2;

/** How long reads are left to the thread after one that waited for the disk. */
const SLOW_READS_MS = 500;

/** Blocks that this process has read from disks (getrusage(2), `ru_inblock`); 2 µs a call. */
const countBlocksRead = (): number => process.resourceUsage().fsRead;

export type DiskSpeed = {
  /** Whether reads are left to the thread, at a time of `performance.now()`. */
  isSlow(now: number): boolean;
  /** Notes how long a read took, in such times. */
  note(startedAt: number, endedAt: number): void;
};

/**
 * A read that took long while nothing was read from a disk waited for a processor: a thread would wait for one too, and
 * cost more.
 */
export function createDiskSpeed(countBlocks = countBlocksRead): DiskSpeed {
  let blocks = countBlocks();
  let slowUntil = 0;
  return {
    isSlow: (now) => now < slowUntil,
    note(startedAt, endedAt) {
      if (endedAt - startedAt <= SLOW_READ_MS) return;
      const before = blocks;
      blocks = countBlocks();
      if (blocks > before) slowUntil = endedAt + SLOW_READS_MS;
    },
  };
}
