/**
 * Goal: a segment is stored once, in clicks and in every rollup, wherever in a batch a worker ends.
 * Three of these places are in `npm test` (test/e2e/faults.test.ts).
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { findDifferences } from "../../shared/clicks/rollups.ts";
import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import { CLICKS_STREAM, CLICKS_WORKER } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { admin, runAdmin } from "../harness/admin.ts";
import { BATCH_TIMEOUT_MS, BatchWorkers, INSERT } from "../harness/batch-workers.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { REFERRER_HOST, TestJournal, type TestSegment } from "../harness/segments.ts";
import { startStack } from "../harness/stack.ts";
import { wholeDays } from "../harness/whole-days.ts";
import { breakInserts, mendInserts } from "./faults/batches.ts";
import { rollBackNats } from "./faults/services.ts";

const stack = await forFile(startStack());
const batches = await forFile(BatchWorkers.start(stack));
beforeEach(() => batches.beginTest());
afterEach(() => batches.endTest());

/** Where statements on clicks are run. */
const clicks = { clickhouseUrl: () => stack.info().clickhouse_url };

/**
 * Kills the worker after an insert that is in `clicks`, and not in every rollup. Returns its
 * segments.
 */
async function killDuringInsert(): Promise<TestSegment[]> {
  const { hold, segments } = await batches.publishAndHold(INSERT, "before");
  const repeated = batches.hold(INSERT, "before");
  await breakInserts(clicks);
  try {
    hold.release();
    await repeated.reached;
    process.kill(batches.worker.pid, "SIGKILL");
    repeated.drop();
  } finally {
    await mendInserts(clicks);
  }
  const stored = await batches.readStored();
  expect(segments.every((segment) => stored.has(formatSegmentId(segment)))).toBe(true);
  expect((await batches.compareRollups()).length).toBeGreaterThan(0);
  return segments;
}

/** Another referrer than before: clicks are `direct` for a worker with this setting. */
const OTHER_ROWS = { SHORT_HOSTS: REFERRER_HOST };

describe("a worker that is killed", () => {
  test("between manifest and insert, which arrives later", async () => {
    const { hold, segments } = await batches.publishAndHold(INSERT, "before");
    await batches.replaceWorker();
    await batches.expectStoredOnce(segments);
    hold.release();
    const later = batches.nextSegments(2);
    await batches.publish(later);
    await batches.expectStoredOnce(later);
  });

  test("during an insert that is not in every view, and the next has other rows", async () => {
    const segments = await killDuringInsert();
    batches.worker = await batches.startOwner(OTHER_ROWS);
    await batches.expectStoredOnce(segments);
  });

  test("during such an insert whose segments left the stream", async () => {
    const segments = await killDuringInsert();
    await purge();
    batches.worker = await batches.startOwner();
    await batches.expectStoredOnce(segments);
  });

  test("during such an insert, and the next one while it completes it", async () => {
    const segments = await killDuringInsert();
    const completing = batches.hold(INSERT, "before");
    const next = await batches.startStandby({});
    await completing.reached;
    process.kill(next.pid, "SIGKILL");
    completing.drop();
    batches.worker = await batches.startOwner(OTHER_ROWS);
    await batches.expectStoredOnce(segments);
  });
});

test("a takeover completes what is half stored without PostgreSQL", async () => {
  const postgres = Number(stack.info().pids.postgres);
  const segments = await killDuringInsert();
  process.kill(postgres, "SIGSTOP");
  try {
    batches.worker = await batches.startOwner();
    const more = batches.nextSegments(2);
    await batches.publish(more);
    await batches.expectStoredOnce([...segments, ...more]);
  } finally {
    process.kill(postgres, "SIGCONT");
  }
});

describe("a worker that is paused between its check and its insert", () => {
  test("changes nothing when it wakes up, and stands by", async () => {
    const { hold, segments } = await batches.publishAndHold(INSERT, "before");
    const paused = batches.worker;
    process.kill(paused.pid, "SIGSTOP");
    batches.worker = await batches.startOwner();
    await batches.expectStoredOnce(segments);
    hold.release();
    process.kill(paused.pid, "SIGCONT");
    // Both fetch for a while, until the one that woke up sees the other's claim.
    await eventually(async () => {
      const more = batches.nextSegments(3);
      await batches.publish(more);
      await batches.expectStoredOnce(more);
      const metrics = await (await fetch(new URL("/metrics", paused.metricsUrl))).text();
      expect(metrics).toMatch(/^shorthop_worker_owner 0$/m);
    }, BATCH_TIMEOUT_MS);
    await paused.stop();
  });
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

test("a worker takes over though ClickHouse's clock was ahead when the owner claimed", async () => {
  await batches.clickhouse.command({
    query: `INSERT INTO batches (kind, epoch, owner, number, at)
            SELECT kind, epoch, owner, number, now64(3) + INTERVAL 1 HOUR FROM batches
             WHERE kind = 'claim' ORDER BY epoch DESC, owner DESC LIMIT 1`,
  });
  // The entry that the owner really wrote is not to be seen any more, as if its clock had been
  // ahead then.
  await batches.clickhouse.command({
    query: "DELETE FROM batches WHERE kind = 'claim' AND at < now64(3)",
  });
  await batches.replaceWorker();
  expect(batches.worker.output()).toContain("claim_from_the_future");
  const segments = batches.nextSegments(2);
  await batches.publish(segments);
  await batches.expectStoredOnce(segments);
});

const purge = async () => (await batches.nats.jetstreamManager()).streams.purge(CLICKS_STREAM);

describe("segments in doubt that left the stream", () => {
  test("are known if they are stored", async () => {
    const { segments } = await batches.publishAndHold(INSERT, "after");
    await purge();
    await batches.replaceWorker();
    await batches.publish(segments, { again: true });
    await batches.waitUntilAcknowledged();
    await batches.expectStoredOnce(segments);
  });

  test("are stored when they come back, if they are not", async () => {
    const { segments, hold } = await batches.publishAndHold(INSERT, "before");
    await purge();
    await batches.replaceWorker();
    await batches.expectNothingTwice(segments);
    hold.drop();
    await batches.publish(segments, { again: true });
    await batches.expectStoredOnce(segments);
  });

  test.each(["before", "after"])(
    "are stored once if the insert arrives %s they come back",
    async (order) => {
      const { segments, hold } = await batches.publishAndHold(INSERT, "before");
      await purge();
      await batches.replaceWorker();
      if (order === "before") {
        hold.release();
        await batches.expectStored(segments);
      }
      await batches.publish(segments, { again: true });
      await batches.waitUntilAcknowledged();
      hold.release();
      const later = batches.nextSegments(1);
      await batches.publish(later);
      await batches.expectStoredOnce([...segments, ...later]);
    },
  );

  test("are stored once if the stream was recreated, and their sequences are those of others", async () => {
    const { segments, hold } = await batches.publishAndHold(INSERT, "before");
    const { streams } = await batches.nats.jetstreamManager();
    process.kill(batches.worker.pid, "SIGKILL");
    await streams.delete(CLICKS_STREAM);
    batches.worker = await batches.startOwner();
    const others = batches.nextSegments(3);
    await batches.publish(others);
    await batches.publish(segments, { again: true });
    await batches.expectStoredOnce([...segments, ...others]);
    hold.release();
    const later = batches.nextSegments(1);
    await batches.publish(later);
    await batches.expectStoredOnce(later);
  });
});

describe("segments that take sequences which the consumer had reached before", () => {
  afterEach(() => batches.reconnect());

  test.each(["while the worker runs", "while it does not"])(
    "are stored after NATS was set back, and not its consumers, %s",
    async (when) => {
      const before = batches.nextSegments(5);
      await batches.publish(before);
      await batches.expectStoredOnce(before);
      const acknowledged = Promise.withResolvers<void>();
      const rolledBack = rollBackNats(stack, acknowledged.promise, "consumers");
      const forgotten = batches.nextSegments(20);
      await batches.publish(forgotten);
      await batches.expectStoredOnce(forgotten);
      await batches.waitUntilAcknowledged();
      acknowledged.resolve();
      if (when === "while it does not") process.kill(batches.worker.pid, "SIGKILL");
      await rolledBack;
      await batches.reconnect();
      const after = batches.nextSegments(10);
      await batches.publish(after);
      if (when === "while it does not") batches.worker = await batches.startOwner();
      await batches.publish(forgotten, { again: true });
      await batches.expectStoredOnce(after);
    },
  );
});

test("a poison segment among fifty goes to the dead letters alone", async () => {
  const others = Array.from({ length: 49 }, () => batches.journal.next(2));
  const poison = new TestJournal().next(3);
  const cure = batches.lossy.refuse(poison.journalId);
  await batches.publish([...others.slice(0, 20), poison, ...others.slice(20)]);
  await batches.expectStoredOnce(others, [poison]);
  await eventually(async () => {
    const letters = await admin<{ segment: string; reason: string }[]>(stack, ["dlq", "list"]);
    expect(letters.map(({ segment }) => segment)).toEqual([formatSegmentId(poison)]);
    expect(letters[0]?.reason).toContain("Cannot parse");
  }, BATCH_TIMEOUT_MS);
  cure();
  await admin(stack, ["dlq", "retry"]);
  await batches.expectStoredOnce([poison]);
});

test("a ClickHouse that was restored without its log stores nothing twice, however old the clicks are", async () => {
  const [old, older] = [6, 20].map((days) => new TestJournal(newUuid(), days * 86_400_000));
  const segments = [old?.next(5), old?.next(5), older?.next(5)].flatMap((segment) => segment ?? []);
  await batches.publish(segments);
  await batches.expectStoredOnce(segments);
  await batches.worker.stop();
  // As the documents say for a backup of a running server.
  await batches.clickhouse.command({ query: "TRUNCATE TABLE batches" });
  const manager = await batches.nats.jetstreamManager();
  await manager.consumers.delete(CLICKS_STREAM, CLICKS_WORKER);
  batches.worker = await batches.startOwner();
  const after = batches.nextSegments(2);
  await batches.publish(after);
  await batches.expectStoredOnce(after);
  await batches.waitUntilAcknowledged();
  await batches.expectNothingTwice();
});

test("everything sent again is stored once, after more inserts than ClickHouse remembers", async () => {
  const segments = batches.nextSegments(20);
  await batches.publish(segments);
  await batches.expectStoredOnce(segments);
  const window = 100;
  const tables = ["clicks", ...ROLLUP_TABLES.map(({ table }) => table)];
  for (const table of tables)
    await batches.clickhouse.command({
      query: `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = ${window}`,
    });
  for (let i = 0; i < 1.5 * window; i++)
    await batches.clickhouse.command({
      query: `INSERT INTO clicks (ts, link_id, account_id, mode, class, journal_id, segment, idx)
              SELECT now64(3), '${newUuid()}', '${newUuid()}', 'live', 'human', '${newUuid()}', 0, 0`,
    });
  await batches.replaceWorker();
  await batches.publish(batches.published, { again: true });
  await batches.waitUntilAcknowledged();
  await batches.expectNothingTwice();
});
