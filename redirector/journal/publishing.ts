/** The publisher as the hot thread knows it: pages go in, and what was delivered comes back. */
import type { SealedPage } from "./files.ts";
import type { PublisherOptions, Tells, Told } from "./publisher-thread.ts";

export type Publishing = {
  /** Takes a sealed page; it will be published, however long that takes. */
  add(page: SealedPage): void;
  /** Pages not acknowledged yet, and pages acknowledged so far. */
  pending(): number;
  published(): number;
  /** Waits until everything is published, for `ms` at most, and ends; what is left stays on disk. */
  stop(ms: number): Promise<void>;
};

type PublishingDeps = PublisherOptions & {
  /** The module of the thread: named by the main module, from which alone it is found in an executable. */
  thread: URL;
  /** Told after a page's file is emptied, or deleted. */
  onReleased: (page: SealedPage) => void;
  /** Told when the thread fails; the process must not go on without it. */
  onError: (error: unknown) => void;
};

export function startPublishing({
  thread: module,
  onReleased,
  onError,
  ...options
}: PublishingDeps): Publishing {
  const thread = new Worker(module);
  const stopped = Promise.withResolvers<void>();
  let pending = 0;
  let published = 0;

  const tell = (message: Told): void => thread.postMessage(message);
  thread.addEventListener("message", ({ data }: MessageEvent<Tells>) => {
    if (data.kind === "stopped") {
      stopped.resolve();
    } else if (data.kind === "delivered") {
      pending--;
      published++;
    } else {
      onReleased(data.page);
    }
  });
  thread.addEventListener("error", (event) => onError(event.error ?? event.message));
  tell({ kind: "start", options });

  return {
    add(page) {
      pending++;
      tell({ kind: "page", page });
    },
    pending: () => pending,
    published: () => published,
    async stop(ms) {
      const deadline = Date.now() + ms;
      while (pending > 0 && Date.now() < deadline) await Bun.sleep(10);
      tell({ kind: "stop" });
      await Promise.race([stopped.promise, Bun.sleep(1_000)]);
      thread.terminate();
    },
  };
}
