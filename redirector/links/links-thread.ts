/** The main thread's side of the links thread. */
import type { LinksCommand, LinksEvent, LinksOptions } from "./links.worker.ts";

export type LinksThread = {
  /** Malformed states that were skipped since the start. */
  skipped(): number;
  stop(): Promise<void>;
};

type LinksThreadDeps = LinksOptions & {
  /**
   * The worker thread's module. The main module names it, as an executable resolves it only from
   * there.
   */
  workerUrl: URL;
  /**
   * Called when the thread has written changes to the store, so that this process need not poll for
   * them.
   */
  onChanged: () => void;
  /** Called when the thread fails; the process must not continue without it. */
  onError: (error: unknown) => void;
};

/** How long a stop waits for the transaction that is being written. */
const STOP_MS = 2_000;

export function startLinksThread({
  workerUrl,
  onChanged,
  onError,
  ...options
}: LinksThreadDeps): LinksThread {
  const worker = new Worker(workerUrl);
  const stopped = Promise.withResolvers<void>();
  let skipped = 0;

  const send = (command: LinksCommand): void => worker.postMessage(command);
  worker.addEventListener("message", ({ data }: MessageEvent<LinksEvent>) => {
    if (data.kind === "stopped") stopped.resolve();
    else if (data.kind === "changed") onChanged();
    else skipped++;
  });
  worker.addEventListener("error", (event) => onError(event.error ?? event.message));
  send({ kind: "start", options });

  return {
    skipped: () => skipped,
    async stop() {
      send({ kind: "stop" });
      await Promise.race([stopped.promise, Bun.sleep(STOP_MS)]);
      worker.terminate();
    },
  };
}
