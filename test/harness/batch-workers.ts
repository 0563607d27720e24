/**
 * Workers that store segments through a proxy which can hold their statements, so that a test knows
 * where in a batch one ends (docs/batches.md).
 */
import { expect } from "bun:test";

import { type ClickHouseClient, createClient } from "@clickhouse/client";
import { connect, type NatsConnection } from "nats";

import { findDifferences, queryRows } from "../../shared/clicks/rollups.ts";
import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import { CLICKS_STREAM, CLICKS_WORKER } from "../../shared/contracts/streams.ts";
import { natsLogin } from "../../shared/nats.ts";
import { eventually } from "./eventually.ts";
import { type Hold, LossyClickHouse } from "./lossy-clickhouse.ts";
import { type ExtraProcess, startWorker } from "./processes.ts";
import { publishSegments, TestJournal, type TestSegment } from "./segments.ts";
import { waitForOwner } from "./services.ts";
import type { Stack } from "./stack.ts";
import { wholeDays } from "./whole-days.ts";

/**
 * Time until segments are stored that no worker returned to JetStream: it redelivers them after 10
 * s.
 */
const BATCH_TIMEOUT_MS = 30_000;

/** The statements of a batch at which a worker can be held. */
export const MANIFEST = /^INSERT INTO batches[^]*"kind":"manifest"/;
export const INSERT = /^INSERT INTO incoming_clicks /;

/** Settings for replicas, which a single server takes, too (docs/batches.md). */
const REPLICA_SETTINGS =
  "ch_insert_quorum=auto&ch_insert_quorum_parallel=0&ch_select_sequential_consistency=1";

export class BatchWorkers {
  readonly clickhouse: ClickHouseClient;
  worker: ExtraProcess;
  readonly #nats: NatsConnection;
  /** Every segment that was ever published. */
  readonly #published: TestSegment[] = [];
  readonly #lossy: LossyClickHouse;
  readonly #stack: Stack;
  readonly #holds: Hold[] = [];
  #journal = new TestJournal();

  /** That of the stack sleeps until the end, an owner that may wake up. */
  static async start(stack: Stack): Promise<BatchWorkers> {
    process.kill(Number(stack.info().pids.worker), "SIGSTOP");
    const lossy = new LossyClickHouse(() => stack.info().clickhouse_url);
    const nats = await connect(natsLogin(stack.info().nats_url));
    return new BatchWorkers(stack, lossy, nats, await startOwner(stack, lossy, {}));
  }

  private constructor(
    stack: Stack,
    lossy: LossyClickHouse,
    nats: NatsConnection,
    worker: ExtraProcess,
  ) {
    this.#stack = stack;
    this.#lossy = lossy;
    this.#nats = nats;
    this.worker = worker;
    const url = stack.info().clickhouse_url;
    this.clickhouse = createClient({ url, use_multipart_params_auto: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.kill(Number(this.#stack.info().pids.worker), "SIGCONT");
    await this.worker.stop();
    await this.#nats.close();
    await this.clickhouse.close();
    await this.#lossy.stop();
  }

  /** The segments of each test are of a journal of its own. */
  beginTest(): void {
    this.#journal = new TestJournal();
  }

  endTest(): void {
    for (const hold of this.#holds.splice(0)) hold.drop();
  }

  startOwner(env: Record<string, string> = {}): Promise<ExtraProcess> {
    return startOwner(this.#stack, this.#lossy, env);
  }

  async replaceWorker(): Promise<void> {
    process.kill(this.worker.pid, "SIGKILL");
    this.worker = await this.startOwner();
  }

  async publish(segments: readonly TestSegment[]): Promise<void> {
    this.#published.push(...segments);
    await publishSegments(this.#nats, segments);
  }

  nextSegments(count: number): TestSegment[] {
    return Array.from({ length: count }, (_, i) => this.#journal.next(i + 1));
  }

  /** Holds the next statement of a kind; a hold ends with its test. */
  hold(pattern: RegExp, when: "before" | "after"): Hold {
    const hold = this.#lossy.hold(pattern, when);
    this.#holds.push(hold);
    return hold;
  }

  /** Publishes segments, and waits until the worker is at a point of their batch. */
  async publishAndHold(pattern: RegExp, when: "before" | "after") {
    const hold = this.hold(pattern, when);
    const segments = this.nextSegments(5);
    await this.publish(segments);
    await hold.reached;
    return { hold, segments };
  }

  /** Number of rows and of distinct clicks of each segment that has rows. */
  async readStored(): Promise<Map<string, { rows: number; positions: number }>> {
    const rows = await queryRows<{ id: string; rows: string; positions: string }>(
      this.clickhouse,
      `SELECT concat(toString(journal_id), ':', toString(segment)) AS id, count() AS rows, uniqExact(idx) AS positions
         FROM clicks GROUP BY journal_id, segment`,
    );
    return new Map(
      rows.map((row) => [row.id, { rows: Number(row.rows), positions: Number(row.positions) }]),
    );
  }

  async expectStored(segments: readonly TestSegment[]): Promise<void> {
    await eventually(async () => {
      const stored = await this.readStored();
      expect(segments.filter((segment) => !stored.has(formatSegmentId(segment)))).toEqual([]);
    }, BATCH_TIMEOUT_MS);
  }

  /**
   * Waits until all these segments are stored. Then these and all others are stored once, and
   * rollups are equal.
   */
  async expectStoredOnce(segments: readonly TestSegment[]): Promise<void> {
    await this.expectStored(segments);
    await this.expectNothingTwice();
  }

  async expectNothingTwice(): Promise<void> {
    const stored = await this.readStored();
    for (const segment of this.#published) {
      const expected = { rows: segment.clicks, positions: segment.clicks };
      expect(stored.get(formatSegmentId(segment))).toEqual(expected);
    }
    await eventually(async () => expect(await this.compareRollups()).toEqual([]), 5_000);
  }

  /** Buckets of the day of any rollup that are not what the raw clicks say. */
  compareRollups() {
    const now = Math.ceil(Date.now() / 1_000);
    return findDifferences(this.clickhouse, wholeDays({ from: now - 3_600, to: now }));
  }

  /** Waits until everything in the stream was delivered and acknowledged. */
  async waitUntilAcknowledged(): Promise<void> {
    const manager = await this.#nats.jetstreamManager();
    await eventually(async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info(
        CLICKS_STREAM,
        CLICKS_WORKER,
      );
      expect([num_pending, num_ack_pending]).toEqual([0, 0]);
    }, BATCH_TIMEOUT_MS);
  }
}

/** Starts a worker, and waits until it is the owner. */
async function startOwner(
  stack: Stack,
  lossy: LossyClickHouse,
  env: Record<string, string>,
): Promise<ExtraProcess> {
  const CLICKHOUSE_URL = `${lossy.url}?${REPLICA_SETTINGS}`;
  const started = await startWorker(stack, { CLICKHOUSE_URL, ...env });
  await waitForOwner(() => started.metricsUrl, BATCH_TIMEOUT_MS);
  return started;
}
