/** The main thread's side of the links thread. */
import type { LinksCommand, LinksEvent, LinksOptions } from "./links.worker.ts";

export type LinksThread = {
  /** Has the pages of a link read into memory; throws when too many wait for that. */
  prefetch(domain: string, alias: string): Promise<void>;
  /** Records of the feed that were skipped because they are malformed, since the start. */
  skipped(): number;
  stop(): Promise<void>;
};

type LinksThreadDeps = LinksOptions & {
  /** The worker thread's module. The main module names it, as an executable resolves it only from there. */
  workerUrl: URL;
  /** Called when the thread has written changes to the store, so that this process need not look for them. */
  onChanged: () => void;
  /** Called when the thread fails; the process must not continue without it. */
  onError: (error: unknown) => void;
};

/** How long a stop waits for the transaction that is being written. */
const STOP_MS = 2_000;

/** Reads that wait for the thread; requests beyond them are answered 503. */
const READS_MAX = 512;

export function startLinksThread({
  workerUrl,
  onChanged,
  onError,
  ...options
}: LinksThreadDeps): LinksThread {
  const worker = new Worker(workerUrl);
  const stopped = Promise.withResolvers<void>();
  const reads = new Map<number, () => void>();
  let lastRead = 0;
  let skipped = 0;

  const send = (command: LinksCommand): void => worker.postMessage(command);
  worker.addEventListener("message", ({ data }: MessageEvent<LinksEvent>) => {
    if (data.kind === "stopped") stopped.resolve();
    else if (data.kind === "changed") onChanged();
    else if (data.kind === "skipped") skipped++;
    else {
      reads.get(data.id)?.();
      reads.delete(data.id);
    }
  });
  worker.addEventListener("error", (event) => onError(event.error ?? event.message));
  send({ kind: "start", options });

  return {
    async prefetch(domain, alias) {
      if (reads.size >= READS_MAX) throw new Error("Too many links are being read.");
      const id = ++lastRead;
      await new Promise<void>((resolve) => {
        reads.set(id, resolve);
        send({ kind: "prefetch", id, domain, alias });
      });
    },
    skipped: () => skipped,
    async stop() {
      send({ kind: "stop" });
      await Promise.race([stopped.promise, Bun.sleep(STOP_MS)]);
      worker.terminate();
    },
  };
}
