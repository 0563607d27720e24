/**
 * Reads of links that may wait for the disk, in a separate thread. They delay neither other
 * requests nor the thread that writes the store, and that thread's transactions of a tenth of a
 * second do not delay them.
 */
import { readFileSync } from "node:fs";

import { withTimeout } from "../../shared/timeout.ts";
import { Thread } from "../../shared/worker-thread.ts";
import type { SlowRead } from "./slow-reads.worker.ts";

/** Maximum reads that wait for the thread; further requests get 503. */
const READS_MAX = 512;

/** Maximum time of a read: a disk that does not respond gets the visitor a 503, too. */
const READ_MS_MAX = 10_000;

export class SlowReads {
  readonly #dir: string;
  /** What the thread reads, in that order. */
  readonly #reads = new Set<() => void>();
  #thread: Thread<SlowRead, undefined> | undefined;

  /** `dir` is the folder of the store. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Starts the thread, unless it runs. On a machine that is busy that takes a second: the first
   * read should not wait for it.
   */
  start(): Thread<SlowRead, undefined> {
    return (this.#thread ??= new Thread("redirector/links/slow-reads.worker.ts", () => {
      const [resolve] = this.#reads;
      if (resolve === undefined) return;
      this.#reads.delete(resolve);
      resolve();
    }));
  }

  /**
   * Makes the thread read the pages of a link into memory; throws when too many reads wait, and
   * when this one takes too long.
   */
  async prefetch(domain: string, alias: string): Promise<void> {
    if (this.#reads.size >= READS_MAX) throw new Error("Too many links are being read.");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#reads.add(resolve);
    this.start().send({ dir: this.#dir, domain, alias });
    await withTimeout(promise, READ_MS_MAX);
  }

  stop(): void {
    this.#thread?.terminate();
  }
}

/** A longer read has waited, for the disk or for a processor. */
const SLOW_READ_MS = 2;

/** How long a thread does the reads after one that waited for the disk. */
const SLOW_READS_MS = 500;

/**
 * Returns how much this thread has read from disks (proc_pid_io(5)), as the thread that writes the
 * store reads from it all the time; of the process where no file says that. Takes some 20 µs.
 */
function countRead(): number {
  try {
    const [, bytes] = /^read_bytes: (\d+)$/m.exec(readFileSync(IO_PATH, "latin1")) ?? [];
    return Number(bytes);
  } catch {
    return process.resourceUsage().fsRead;
  }
}

const IO_PATH = "/proc/thread-self/io";

/**
 * Detects whether reads of the links store wait for the disk. If so, a thread does them for a
 * while. A slow read without any disk read has waited for a processor. A thread would wait for one
 * too, and cost more.
 */
export class DiskSpeed {
  readonly #countRead: () => number;
  #read: number;
  #slowUntil = 0;

  constructor(count = countRead) {
    this.#countRead = count;
    this.#read = count();
  }

  /** Whether a thread does the reads, at a time of `performance.now()`. */
  isSlow(now: number): boolean {
    return now < this.#slowUntil;
  }

  /** Records the start and end of a read, in the same time. */
  note(startedAt: number, endedAt: number): void {
    if (endedAt - startedAt <= SLOW_READ_MS) return;
    const before = this.#read;
    this.#read = this.#countRead();
    if (this.#read > before) this.#slowUntil = endedAt + SLOW_READS_MS;
  }
}
