/** The main thread's side of the links thread (`links.worker.ts`). */
import { Thread } from "../../shared/worker-thread.ts";
import type { Config } from "../config.ts";
import type { LinksCommand } from "./links.worker.ts";

/** How long a stop waits for the transaction that is being written. */
const STOP_MS = 2_000;

export class LinksThread {
  readonly #stopped = Promise.withResolvers<void>();
  readonly #thread = new Thread<LinksCommand, undefined>("redirector/links/links.worker.ts", () =>
    this.#stopped.resolve(),
  );

  constructor(config: Config) {
    this.#thread.send({ kind: "start", config });
  }

  async stop(): Promise<void> {
    this.#thread.send({ kind: "stop" });
    await Promise.race([this.#stopped.promise, Bun.sleep(STOP_MS)]);
    this.#thread.terminate();
  }
}
