/** The main thread's side of the links thread (`links.worker.ts`). */
import { spawnWorker } from "../../shared/worker-thread.ts";
import type { Config } from "../config.ts";
import type { LinksCommand } from "./links.worker.ts";

/** How long a stop waits for the transaction that is being written. */
const STOP_MS = 2_000;

export class LinksThread {
  readonly #worker: Worker;
  readonly #stopped = Promise.withResolvers<void>();

  /** Calls `onError` when the thread fails; the process must not continue without it. */
  constructor(config: Config, onError: (error: unknown) => void) {
    this.#worker = spawnWorker("redirector/links/links.worker.ts");
    this.#worker.addEventListener("message", () => this.#stopped.resolve());
    this.#worker.addEventListener("error", (event) => onError(event.error ?? event.message));
    this.#send({ kind: "start", config });
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
