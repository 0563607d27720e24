/** The main thread's side of the links thread (`links.worker.ts`). */
import { spawnWorker } from "../../shared/worker-thread.ts";
import type { Config } from "../config.ts";
import type { LinksCommand, LinksEvent } from "./links.worker.ts";
import type { SkippedReason } from "./log-follower.ts";

/** How long a stop waits for the transaction that is being written. */
const STOP_MS = 2_000;

/** Events of the thread, for the process. */
export interface LinksThreadEvents {
  /** A state of the links log, or a message, was skipped. */
  skipped(reason: SkippedReason): void;
  /** The thread has failed; the process must not continue without it. */
  failed(error: unknown): void;
}

export class LinksThread {
  readonly #worker: Worker;
  readonly #stopped = Promise.withResolvers<void>();

  constructor(config: Config, events: LinksThreadEvents) {
    this.#worker = spawnWorker("redirector/links/links.worker.ts");
    this.#worker.addEventListener("message", ({ data }: MessageEvent<LinksEvent>) => {
      if (data.kind === "stopped") this.#stopped.resolve();
      else events.skipped(data.reason);
    });
    this.#worker.addEventListener("error", (event) => events.failed(event.error ?? event.message));
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
