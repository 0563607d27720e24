/**
 * Goal: what is stored of a batch by half is completed, and nothing repairs it meanwhile. That a segment
 * is stored once wherever in a batch a worker ends is in test/e2e/faults.test.ts for three of these
 * places, in the scenario `chaos` for all of them, and in worker/batches for any order of steps.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";

import { findDifferences } from "../../shared/clicks/rollups.ts";
import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import { newUuid } from "../../shared/ids.ts";
import { runAdmin } from "../harness/admin.ts";
import { BatchWorkers, INSERT } from "../harness/batch-workers.ts";
import { forFile } from "../harness/for-file.ts";
import { REFERRER_HOST, TestJournal, type TestSegment } from "../harness/segments.ts";
import { startStack } from "../harness/stack.ts";
import { wholeDays } from "../harness/whole-days.ts";
import { breakInserts, mendInserts } from "./faults/batches.ts";

const stack = await forFile(startStack());
const batches = await forFile(BatchWorkers.start(stack));
beforeEach(() => batches.beginTest());
afterEach(() => batches.endTest());

/**
 * Kills the worker after an insert that is in `clicks`, and not in every rollup. Returns its
 * segments.
 */
async function killDuringInsert(): Promise<TestSegment[]> {
  const { hold, segments } = await batches.publishAndHold(INSERT, "before");
  const repeated = batches.hold(INSERT, "before");
  await breakInserts(stack.info().clickhouse_url);
  try {
    hold.release();
    await repeated.reached;
    process.kill(batches.worker.pid, "SIGKILL");
    repeated.drop();
  } finally {
    await mendInserts(stack.info().clickhouse_url);
  }
  const stored = await batches.readStored();
  expect(segments.every((segment) => stored.has(formatSegmentId(segment)))).toBe(true);
  expect((await batches.compareRollups()).length).toBeGreaterThan(0);
  return segments;
}

test("a takeover completes what is half stored without PostgreSQL, also with other rows", async () => {
  const postgres = Number(stack.info().pids.postgres);
  const segments = await killDuringInsert();
  process.kill(postgres, "SIGSTOP");
  try {
    // Clicks with this referrer were another host's before.
    batches.worker = await batches.startOwner({ SHORT_HOSTS: REFERRER_HOST });
    const more = batches.nextSegments(2);
    await batches.publish(more);
    await batches.expectStoredOnce([...segments, ...more]);
  } finally {
    process.kill(postgres, "SIGCONT");
  }
});

/** Makes the view of the rollup by quarter hour anew, with this expression for its clicks. */
async function replaceView(columns: string): Promise<void> {
  await batches.clickhouse.command({ query: "DROP VIEW clicks_15m_view SYNC" });
  await batches.clickhouse.command({
    query: `CREATE MATERIALIZED VIEW clicks_15m_view TO clicks_15m AS
            SELECT link_id, account_id, mode, bucket, class, ${columns}, visitors FROM click_sums`,
  });
}

test("a repair that an operator asks for while clicks are stored waits until none is half stored", async () => {
  /** Old enough to be compared. */
  const late = new TestJournal(newUuid(), 3 * 3_600_000);
  // Each insert is in clicks for seconds before it is in this rollup.
  await replaceView("clicks + sleep(3) + sleep(2.9) + sleep(2.8) + sleep(2.7) AS clicks");
  try {
    const segments = Array.from({ length: 5 }, (_, i) => late.next(100 + i));
    await batches.publish(segments);
    await batches.expectStored(segments);
    const { code, stderr } = await runAdmin(stack, ["check-rollups", "--repair", "--yes"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("A repair adds")]);
    await batches.waitUntilAcknowledged();
    const now = Math.floor(Date.now() / 1_000);
    const range = { from: now - 86_400, to: now };
    expect(await findDifferences(batches.clickhouse, wholeDays(range))).toEqual([]);
  } finally {
    await replaceView("clicks");
  }
});
