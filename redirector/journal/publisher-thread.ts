/**
 * The main thread's side of the publisher (`publisher.worker.ts`): sends segments to it and counts
 * its reports.
 */
import { Thread } from "../../shared/worker-thread.ts";
import type { Config } from "../config.ts";
import type { SealedSegment } from "./files.ts";
import type { SegmentPublisher } from "./journal.ts";
import type { PublisherCommand, PublisherEvent } from "./publisher.worker.ts";

/** How long a stop waits until the thread has stopped, after the segments. */
const STOP_MS = 1_000;

export class PublisherThread implements SegmentPublisher {
  readonly #thread: Thread<PublisherCommand, PublisherEvent>;
  readonly #onReleased: (segment: SealedSegment) => void;
  readonly #stopped = Promise.withResolvers<void>();
  #pending = 0;
  #published = 0;
  #quarantined = 0;
  /** When the first waiting segment was added, or when the last acknowledgement arrived. */
  #waitingSince = 0;

  /** Calls `onReleased` with each segment whose file has been truncated or deleted. */
  constructor(config: Config, onReleased: (segment: SealedSegment) => void) {
    this.#onReleased = onReleased;
    this.#thread = new Thread("redirector/journal/publisher.worker.ts", (event) =>
      this.#apply(event),
    );
    this.#thread.send({ kind: "start", config });
  }

  /** Queues a sealed segment, until it is published or, if it is unreadable, quarantined. */
  add(segment: SealedSegment): void {
    if (this.#pending === 0) this.#waitingSince = performance.now();
    this.#pending++;
    this.#thread.send({ kind: "publish", segment });
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
    this.#thread.send({ kind: "stop" });
    await Promise.race([this.#stopped.promise, Bun.sleep(STOP_MS)]);
    this.#thread.terminate();
  }

  #apply(event: PublisherEvent): void {
    if (event.kind === "stopped") {
      this.#stopped.resolve();
    } else if (event.kind === "released") {
      this.#onReleased(event.segment);
    } else if (event.kind === "delivered") {
      this.#pending--;
      this.#published++;
      this.#waitingSince = performance.now();
    } else {
      this.#quarantined++;
      if (event.pending) this.#pending--;
    }
  }
}
