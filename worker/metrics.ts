/** Metrics that the worker's parts count; those that are read from them are in main.ts. */
import { ProcessMetrics } from "../shared/metrics.ts";

const INSERT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const AGE_BUCKETS = [0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300, 3_600];

export class Metrics {
  readonly process = new ProcessMetrics("worker");
  readonly #segments = { stored: 0, dead_lettered: 0, duplicate: 0 };
  readonly #clicks = { stored: 0, dead_lettered: 0 };
  #torn = 0;
  readonly #inserts = this.process.histogram(
    "insert_duration_seconds",
    "Time of one insert into ClickHouse, by outcome",
    { buckets: INSERT_BUCKETS, labelNames: ["outcome"] },
  );
  readonly #ages = this.process.histogram(
    "batch_age_seconds",
    "Age of the first click of a batch when it was stored",
    { buckets: AGE_BUCKETS, labelNames: [] },
  );
  readonly #attempts = { delivered: 0, pending: 0, failed: 0 };
  readonly #attemptTimes = this.process.histogram(
    "webhook_attempt_duration_seconds",
    "Time of one attempt to deliver an event",
    { buckets: INSERT_BUCKETS, labelNames: [] },
  );

  constructor() {
    const { counter, counterBy } = this.process;
    counterBy("outcome", "segments_total", "Segments, by outcome", () => this.#segments);
    counterBy("outcome", "clicks_total", "Clicks, by outcome", () => this.#clicks);
    const tornHelp = "Stored segments that a crash had cut short, or a disk damaged";
    counter("segments_torn_total", tornHelp, () => this.#torn);
    this.#inserts.zero({ outcome: "ok" });
    this.#inserts.zero({ outcome: "error" });
  }

  /** Counts segments and clicks by outcome. A torn segment is also counted as stored. */
  count(
    outcome: "stored" | "dead_lettered" | "torn" | "duplicate",
    segments: number,
    clicks: number,
  ): void {
    if (outcome === "torn") {
      this.#torn += segments;
      return;
    }
    this.#segments[outcome] += segments;
    if (outcome !== "duplicate") this.#clicks[outcome] += clicks;
  }

  /** Runs an insert, and observes how long it took. */
  async timeInsert(insert: () => Promise<unknown>): Promise<void> {
    const end = this.#inserts.startTimer();
    try {
      await insert();
      end({ outcome: "ok" });
    } catch (error) {
      end({ outcome: "error" });
      throw error;
    }
  }

  /** Observes a batch that was stored: the age of its first click, in seconds. */
  observeBatch(ageSeconds: number): void {
    this.#ages.observe(ageSeconds);
  }

  /** Observes an attempt to deliver an event, and what became of the delivery. */
  observeAttempt(status: "delivered" | "pending" | "failed", latencyMs: number): void {
    this.#attempts[status] += 1;
    this.#attemptTimes.observe(latencyMs / 1_000);
  }

  /** The attempts so far, by what became of the delivery. */
  get attempts(): Readonly<Record<string, number>> {
    return this.#attempts;
  }
}
