/**
 * The main thread's side of the publisher (`publisher.worker.ts`): sends segments to it and counts
 * its reports.
 */
import { spawnWorker } from "../../shared/worker-thread.ts";
import type { Config } from "../config.ts";
import type { SealedSegment } from "./files.ts";
import type { PublisherCommand, PublisherEvent } from "./publisher.worker.ts";

/** How long a stop waits until the thread has stopped, after the segments. */
const STOP_MS = 1_000;

/** Events of the thread, for the process. */
export interface PublisherThreadEvents {
  /** A segment's file has been truncated or deleted. */
  released(segment: SealedSegment): void;
  /** The thread has failed; the process must not continue without it. */
  failed(error: unknown): void;
}

export class PublisherThread {
  readonly #worker: Worker;
  readonly #stopped = Promise.withResolvers<void>();
  #pending = 0;
  #published = 0;
  #quarantined = 0;
  /** When the first waiting segment was added, or when the last acknowledgement arrived. */
  #waitingSince = 0;

  constructor(config: Config, events: PublisherThreadEvents) {
    this.#worker = spawnWorker("redirector/journal/publisher.worker.ts");
    this.#worker.addEventListener("message", ({ data }: MessageEvent<PublisherEvent>) => {
      if (data.kind === "released") events.released(data.segment);
      else this.#apply(data);
    });
    this.#worker.addEventListener("error", (event) => events.failed(event.error ?? event.message));
    this.#send({ kind: "start", config });
  }

  /** Queues a sealed segment, until it is published or, if it is unreadable, quarantined. */
  add(segment: SealedSegment): void {
    if (this.#pending === 0) this.#waitingSince = performance.now();
    this.#pending++;
    this.#send({ kind: "publish", segment });
  }

  /**
   * Segments not acknowledged yet, for how long those have waited without any acknowledgement, and
   * segments acknowledged and quarantined since the start.
   */
  stats() {
    const waitingMs = this.#pending === 0 ? 0 : performance.now() - this.#waitingSince;
    return {
      pending: this.#pending,
      waitingSeconds: waitingMs / 1_000,
      published: this.#published,
      quarantined: this.#quarantined,
    };
  }

  /** Waits up to `ms` until all is published, then ends the thread; the rest stays on disk. */
  async stop(ms: number): Promise<void> {
    const deadline = Date.now() + ms;
    while (this.#pending > 0 && Date.now() < deadline) await Bun.sleep(10);
    this.#send({ kind: "stop" });
    await Promise.race([this.#stopped.promise, Bun.sleep(STOP_MS)]);
    this.#worker.terminate();
  }

  #send(command: PublisherCommand): void {
    this.#worker.postMessage(command);
  }

  #apply(event: PublisherEvent): void {
    if (event.kind === "stopped") {
      this.#stopped.resolve();
    } else if (event.kind === "delivered") {
      this.#pending--;
      this.#published++;
      this.#waitingSince = performance.now();
    } else if (event.kind === "quarantined") {
      this.#quarantined++;
      if (event.pending) this.#pending--;
    }
  }
}
