/** The main thread's side of the links thread. */
import type { LogEvents } from "./host-log.ts";
import type { LinksCommand, LinksEvent, LinksOptions } from "./links.worker.ts";

/** How long a stop waits for the transaction that is being written. */
const STOP_MS = 2_000;

export class LinksThread {
  readonly #worker: Worker;
  readonly #stopped = Promise.withResolvers<void>();

  /**
   * `workerUrl` is the thread's module: the main module names it, as an executable resolves it only
   * from there. `onError` is called when the thread fails; the process must not continue without
   * it.
   */
  constructor(
    workerUrl: URL,
    options: LinksOptions,
    events: LogEvents,
    onError: (error: unknown) => void,
  ) {
    this.#worker = new Worker(workerUrl);
    this.#worker.addEventListener("message", ({ data }: MessageEvent<LinksEvent>) => {
      if (data.kind === "stopped") this.#stopped.resolve();
      else if (data.kind === "changed") events.changed();
      else events.skipped(data.reason);
    });
    this.#worker.addEventListener("error", (event) => onError(event.error ?? event.message));
    this.#send({ kind: "start", options });
  }

  async stop(): Promise<void> {
    this.#send({ kind: "stop" });
    await Promise.race([this.#stopped.promise, Bun.sleep(STOP_MS)]);
    this.#worker.terminate();
  }

  #send(command: LinksCommand): void {
    this.#worker.postMessage(command);
  }
}
