/**
 * Reads of links that may wait for the disk, in a separate thread. They delay neither other
 * requests nor the thread that writes the store, and that thread's transactions of a tenth of a
 * second do not delay them. The thread starts with the first read.
 */
import type { SlowRead, SlowReadEnd } from "./slow-reads.worker.ts";

export type SlowReads = {
  /** Makes the thread read the pages of a link into memory; throws when too many reads wait. */
  prefetch(domain: string, alias: string): Promise<void>;
  stop(): void;
};

type SlowReadsDeps = {
  /**
   * The worker thread's module. The main module names it, as an executable resolves it only from
   * there.
   */
  workerUrl: URL;
  /** The folder of the store. */
  dir: string;
  /** Called when the thread fails; the process must not continue without it. */
  onError: (error: unknown) => void;
};

/** Maximum reads that wait for the thread; further requests get 503. */
const READS_MAX = 512;

export function createSlowReads({ workerUrl, dir, onError }: SlowReadsDeps): SlowReads {
  const reads = new Map<number, () => void>();
  let lastRead = 0;
  let worker: Worker | undefined;

  function start(): Worker {
    const started = new Worker(workerUrl);
    started.addEventListener("message", ({ data }: MessageEvent<SlowReadEnd>) => {
      reads.get(data.id)?.();
      reads.delete(data.id);
    });
    started.addEventListener("error", (event) => onError(event.error ?? event.message));
    return started;
  }

  return {
    async prefetch(domain, alias) {
      if (reads.size >= READS_MAX) throw new Error("Too many links are being read.");
      worker ??= start();
      const { promise, resolve } = Promise.withResolvers<void>();
      const read: SlowRead = { id: ++lastRead, dir, domain, alias };
      reads.set(read.id, resolve);
      worker.postMessage(read);
      await promise;
    },
    stop: () => worker?.terminate(),
  };
}
