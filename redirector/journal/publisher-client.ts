/**
 * The main thread's side of the publisher: sends segments to the worker thread and counts its
 * reports.
 */
import type { SealedSegment } from "./files.ts";
import type { PublisherCommand, PublisherEvent, PublisherOptions } from "./publisher.worker.ts";

export type PublisherClient = {
  /**
   * Queues a sealed segment. It is retried until it is published, or quarantined when it cannot be
   * read.
   */
  add(segment: SealedSegment): void;
  /** Segments not acknowledged yet, and segments acknowledged since the start. */
  pending(): number;
  /** How long segments have waited without any acknowledgement; 0 when none waits. */
  waitingSeconds(): number;
  published(): number;
  /** Segments quarantined since the start. */
  quarantined(): number;
  /**
   * Waits for at most `ms` until all segments are published, then ends the thread; the rest stays
   * on disk.
   */
  stop(ms: number): Promise<void>;
};

type PublisherClientDeps = PublisherOptions & {
  /**
   * The worker thread's module. The main module names it, as an executable resolves it only from
   * there.
   */
  workerUrl: URL;
  /** Called when a segment's file is truncated or deleted. */
  onReleased: (segment: SealedSegment) => void;
  /** Called when the thread fails; the process must not continue without it. */
  onError: (error: unknown) => void;
};

export function startPublisherClient({
  workerUrl,
  onReleased,
  onError,
  ...options
}: PublisherClientDeps): PublisherClient {
  const worker = new Worker(workerUrl);
  const stopped = Promise.withResolvers<void>();
  let pending = 0;
  let published = 0;
  let quarantined = 0;
  /** When the first waiting segment was added, or when the last acknowledgement arrived. */
  let waitingSince = 0;

  const send = (command: PublisherCommand): void => worker.postMessage(command);
  worker.addEventListener("message", ({ data }: MessageEvent<PublisherEvent>) => {
    if (data.kind === "stopped") {
      stopped.resolve();
    } else if (data.kind === "delivered") {
      pending--;
      published++;
      waitingSince = performance.now();
    } else if (data.kind === "quarantined") {
      quarantined++;
      if (data.pending) pending--;
    } else {
      onReleased(data.segment);
    }
  });
  worker.addEventListener("error", (event) => onError(event.error ?? event.message));
  send({ kind: "start", options });

  return {
    add(segment) {
      if (pending === 0) waitingSince = performance.now();
      pending++;
      send({ kind: "publish", segment });
    },
    pending: () => pending,
    waitingSeconds: () => (pending === 0 ? 0 : (performance.now() - waitingSince) / 1_000),
    published: () => published,
    quarantined: () => quarantined,
    async stop(ms) {
      const deadline = Date.now() + ms;
      while (pending > 0 && Date.now() < deadline) await Bun.sleep(10);
      send({ kind: "stop" });
      await Promise.race([stopped.promise, Bun.sleep(1_000)]);
      worker.terminate();
    },
  };
}
