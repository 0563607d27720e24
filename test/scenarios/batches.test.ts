/**
 * Goal: a segment is stored once, in clicks and in every rollup, wherever in a batch a worker ends.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { type ClickHouseClient, createClient } from "@clickhouse/client";
import { AckPolicy, connect, DeliverPolicy, nanos, type NatsConnection } from "nats";

import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { findDifferences, queryRows } from "../../shared/clicks/rollups.ts";
import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import { CLICKS_STREAM, CLICKS_WORKER } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { rollBackNats } from "../chaos/faults.ts";
import {
  type Hold,
  type LossyClickHouse,
  startLossyClickHouse,
} from "../chaos/lossy-clickhouse.ts";
import { breakInserts, mendInserts } from "../chaos/owner-faults.ts";
import { admin, runAdmin } from "../harness/admin.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startWorker } from "../harness/processes.ts";
import {
  createJournal,
  publishSegments,
  REFERRER_HOST,
  type TestSegment,
} from "../harness/segments.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { wholeDays } from "../harness/whole-days.ts";

/**
 * Time until segments are stored that no worker returned to JetStream: it redelivers them after 10
 * s.
 */
const TIMEOUT_MS = 30_000;

const MANIFEST = /^INSERT INTO batches[^]*"kind":"manifest"/;
const INSERT = /^INSERT INTO incoming_clicks /;

let stack: Stack;
let lossy: LossyClickHouse;
let clickhouse: ClickHouseClient;
let nats: NatsConnection;
let worker: ExtraProcess;
/** Every segment that was ever published. */
const published: TestSegment[] = [];
const holds: Hold[] = [];

beforeAll(async () => {
  stack = await startStack();
  // The workers of the tests use ClickHouse through a proxy. That of the stack sleeps, an owner
  // that may wake up.
  process.kill(Number(stack.info().pids.worker), "SIGSTOP");
  lossy = startLossyClickHouse(() => stack.info().clickhouse_url);
  clickhouse = createClient({ url: stack.info().clickhouse_url, use_multipart_params_auto: true });
  nats = await connect(natsLogin(stack.info().nats_url));
  worker = await start();
});
afterAll(async () => {
  process.kill(Number(stack.info().pids.worker), "SIGCONT");
  await worker.stop();
  await nats.close();
  await clickhouse.close();
  await lossy.stop();
  await stack[Symbol.asyncDispose]();
});

let journal: ReturnType<typeof createJournal>;
beforeEach(() => void (journal = createJournal()));
afterEach(() => {
  for (const hold of holds.splice(0)) hold.drop();
});

/** Settings for replicas, which a single server takes, too (docs/batches.md). */
const REPLICA_SETTINGS =
  "ch_insert_quorum=auto&ch_insert_quorum_parallel=0&ch_select_sequential_consistency=1";

/** Starts a worker, and waits until it is the owner. */
async function start(env: Record<string, string> = {}): Promise<ExtraProcess> {
  const started = await startStandby(env);
  await eventually(async () => {
    const metrics = await (await fetch(new URL("/metrics", started.metricsUrl))).text();
    expect(metrics).toMatch(/^shorthop_worker_owner 1$/m);
  }, TIMEOUT_MS);
  return started;
}

const startStandby = (env: Record<string, string>): Promise<ExtraProcess> =>
  startWorker(stack, { CLICKHOUSE_URL: `${lossy.url}?${REPLICA_SETTINGS}`, ...env });

async function replaceWorker(env?: Record<string, string>): Promise<void> {
  process.kill(worker.pid, "SIGKILL");
  worker = await start(env);
}

async function publish(segments: readonly TestSegment[], options?: { again: boolean }) {
  if (options === undefined) published.push(...segments);
  await publishSegments(nats, segments, options);
}

const nextSegments = (count: number): TestSegment[] =>
  Array.from({ length: count }, (_, i) => journal.next(i + 1));

/** Publishes segments, and waits until the worker is at a point of their batch. */
async function publishAndHold(pattern: RegExp, when: "before" | "after") {
  const hold = lossy.hold(pattern, when);
  holds.push(hold);
  const segments = nextSegments(5);
  await publish(segments);
  await hold.reached;
  return { hold, segments };
}

/** Number of rows and of distinct clicks of each segment that has rows. */
async function readStored(): Promise<Map<string, { rows: number; positions: number }>> {
  const rows = await queryRows<{ id: string; rows: string; positions: string }>(
    clickhouse,
    `SELECT concat(toString(journal_id), ':', toString(segment)) AS id, count() AS rows, uniqExact(idx) AS positions
       FROM clicks GROUP BY journal_id, segment`,
  );
  return new Map(
    rows.map((row) => [row.id, { rows: Number(row.rows), positions: Number(row.positions) }]),
  );
}

/**
 * Waits until all these segments are stored. Then these and all others are stored once, and rollups
 * are equal.
 */
async function expectStoredOnce(
  segments: readonly TestSegment[],
  others: readonly TestSegment[] = [],
) {
  await eventually(async () => {
    const stored = await readStored();
    expect(segments.filter((segment) => !stored.has(formatSegmentId(segment)))).toEqual([]);
  }, TIMEOUT_MS);
  await expectNothingTwice(others);
}

async function expectNothingTwice(missing: readonly TestSegment[] = []) {
  const stored = await readStored();
  for (const segment of published) {
    const expected = { rows: segment.clicks, positions: segment.clicks };
    expect(stored.get(formatSegmentId(segment))).toEqual(
      missing.includes(segment) ? undefined : expected,
    );
  }
  await eventually(async () => expect(await compareRollups()).toEqual([]), 5_000);
}

/** Buckets of the day of any rollup that are not what the raw clicks say. */
function compareRollups() {
  const now = Math.ceil(Date.now() / 1_000);
  return findDifferences(clickhouse, wholeDays({ from: now - 3_600, to: now }));
}

/** Waits until everything in the stream was delivered and acknowledged. */
async function waitUntilAcknowledged(): Promise<void> {
  const manager = await nats.jetstreamManager();
  await eventually(async () => {
    const { num_pending, num_ack_pending } = await manager.consumers.info(
      CLICKS_STREAM,
      CLICKS_WORKER,
    );
    expect([num_pending, num_ack_pending]).toEqual([0, 0]);
  }, TIMEOUT_MS);
}

/**
 * Kills the worker after an insert that is in `clicks`, and not in every rollup. Returns its
 * segments.
 */
async function killDuringInsert(): Promise<TestSegment[]> {
  const { hold, segments } = await publishAndHold(INSERT, "before");
  const repeated = lossy.hold(INSERT, "before");
  holds.push(repeated);
  await breakInserts(stack);
  try {
    hold.release();
    await repeated.reached;
    process.kill(worker.pid, "SIGKILL");
    repeated.drop();
  } finally {
    await mendInserts(stack);
  }
  const stored = await readStored();
  expect(segments.every((segment) => stored.has(formatSegmentId(segment)))).toBe(true);
  expect((await compareRollups()).length).toBeGreaterThan(0);
  return segments;
}

/** Another referrer than before: clicks are `direct` for a worker with this setting. */
const OTHER_ROWS = { SHORT_HOSTS: REFERRER_HOST };

describe("a worker that is killed", () => {
  test("before the manifest", async () => {
    const { segments } = await publishAndHold(MANIFEST, "before");
    await replaceWorker();
    await expectStoredOnce(segments);
  });

  test("between manifest and insert", async () => {
    const { segments } = await publishAndHold(INSERT, "before");
    await replaceWorker();
    await expectStoredOnce(segments);
  });

  test("between manifest and insert, which arrives later", async () => {
    const { hold, segments } = await publishAndHold(INSERT, "before");
    await replaceWorker();
    await expectStoredOnce(segments);
    hold.release();
    const later = nextSegments(2);
    await publish(later);
    await expectStoredOnce(later);
  });

  test("between insert and acknowledgements", async () => {
    const { segments } = await publishAndHold(INSERT, "after");
    await replaceWorker();
    await expectStoredOnce(segments);
    await waitUntilAcknowledged();
    await expectNothingTwice();
  });

  test("during an insert that is not in every view, and the next has other rows", async () => {
    const segments = await killDuringInsert();
    worker = await start(OTHER_ROWS);
    await expectStoredOnce(segments);
  });

  test("during such an insert whose segments left the stream", async () => {
    const segments = await killDuringInsert();
    await purge();
    worker = await start();
    await expectStoredOnce(segments);
  });

  test("during such an insert, and the next one while it completes it", async () => {
    const segments = await killDuringInsert();
    const completing = lossy.hold(INSERT, "before");
    holds.push(completing);
    const next = await startStandby({});
    await completing.reached;
    process.kill(next.pid, "SIGKILL");
    completing.drop();
    worker = await start(OTHER_ROWS);
    await expectStoredOnce(segments);
  });
});

test("a takeover completes what is half stored without PostgreSQL", async () => {
  const postgres = Number(stack.info().pids.postgres);
  const segments = await killDuringInsert();
  process.kill(postgres, "SIGSTOP");
  try {
    worker = await start();
    const more = nextSegments(2);
    await publish(more);
    await expectStoredOnce([...segments, ...more]);
  } finally {
    process.kill(postgres, "SIGCONT");
  }
});

describe("a worker that is paused between its check and its insert", () => {
  test("changes nothing when it wakes up, and stands by", async () => {
    const { hold, segments } = await publishAndHold(INSERT, "before");
    const paused = worker;
    process.kill(paused.pid, "SIGSTOP");
    worker = await start();
    await expectStoredOnce(segments);
    hold.release();
    process.kill(paused.pid, "SIGCONT");
    // Both fetch for a while, until the one that woke up sees the other's claim.
    await eventually(async () => {
      const more = nextSegments(3);
      await publish(more);
      await expectStoredOnce(more);
      const metrics = await (await fetch(new URL("/metrics", paused.metricsUrl))).text();
      expect(metrics).toMatch(/^shorthop_worker_owner 0$/m);
    }, TIMEOUT_MS);
    await paused.stop();
  });
});

/** Makes the view of the rollup by quarter hour anew, with this expression for its clicks. */
async function replaceView(columns: string): Promise<void> {
  await clickhouse.command({ query: "DROP VIEW clicks_15m_view SYNC" });
  await clickhouse.command({
    query: `CREATE MATERIALIZED VIEW clicks_15m_view TO clicks_15m AS
            SELECT link_id, account_id, mode, bucket, class, ${columns}, visitors FROM click_sums`,
  });
}

test("a repair that an operator asks for while clicks are stored waits until none is half stored", async () => {
  /** Old enough to be compared. */
  const late = createJournal(newUuid(), 3 * 3_600_000);
  // Each insert is in clicks for seconds before it is in this rollup.
  await replaceView("clicks + sleep(3) + sleep(2.9) + sleep(2.8) + sleep(2.7) AS clicks");
  try {
    const segments = Array.from({ length: 5 }, (_, i) => late.next(100 + i));
    await publish(segments);
    await eventually(async () => {
      const stored = await readStored();
      expect(segments.every((segment) => stored.has(formatSegmentId(segment)))).toBe(true);
    }, TIMEOUT_MS);
    const { code, stderr } = await runAdmin(stack, ["check-rollups", "--repair", "--yes"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("A repair adds")]);
    await waitUntilAcknowledged();
    const now = Math.floor(Date.now() / 1_000);
    const range = { from: now - 86_400, to: now };
    expect(await findDifferences(clickhouse, wholeDays(range))).toEqual([]);
  } finally {
    await replaceView("clicks");
  }
});

test("a worker takes over though ClickHouse's clock was ahead when the owner claimed", async () => {
  await clickhouse.command({
    query: `INSERT INTO batches (kind, epoch, owner, number, at)
            SELECT kind, epoch, owner, number, now64(3) + INTERVAL 1 HOUR FROM batches
             WHERE kind = 'claim' ORDER BY epoch DESC, owner DESC LIMIT 1`,
  });
  // The entry that the owner really wrote is not to be seen any more, as if its clock had been
  // ahead then.
  await clickhouse.command({
    query: "DELETE FROM batches WHERE kind = 'claim' AND at < now64(3)",
  });
  await replaceWorker();
  expect(worker.output()).toContain("claim_from_the_future");
  const segments = nextSegments(2);
  await publish(segments);
  await expectStoredOnce(segments);
});

const purge = async () => (await nats.jetstreamManager()).streams.purge(CLICKS_STREAM);

describe("segments in doubt that left the stream", () => {
  test("are known if they are stored", async () => {
    const { segments } = await publishAndHold(INSERT, "after");
    await purge();
    await replaceWorker();
    await publish(segments, { again: true });
    await waitUntilAcknowledged();
    await expectStoredOnce(segments);
  });

  test("are stored when they come back, if they are not", async () => {
    const { segments, hold } = await publishAndHold(INSERT, "before");
    await purge();
    await replaceWorker();
    await expectNothingTwice(segments);
    hold.drop();
    await publish(segments, { again: true });
    await expectStoredOnce(segments);
  });

  test.each(["before", "after"])(
    "are stored once if the insert arrives %s they come back",
    async (order) => {
      const { segments, hold } = await publishAndHold(INSERT, "before");
      await purge();
      await replaceWorker();
      if (order === "before") {
        hold.release();
        await eventually(async () => {
          const stored = await readStored();
          expect(segments.every((segment) => stored.has(formatSegmentId(segment)))).toBe(true);
        }, TIMEOUT_MS);
      }
      await publish(segments, { again: true });
      await waitUntilAcknowledged();
      hold.release();
      const later = nextSegments(1);
      await publish(later);
      await expectStoredOnce([...segments, ...later]);
    },
  );

  test("are stored once if the stream was recreated, and their sequences are those of others", async () => {
    const { segments, hold } = await publishAndHold(INSERT, "before");
    const { streams } = await nats.jetstreamManager();
    process.kill(worker.pid, "SIGKILL");
    await streams.delete(CLICKS_STREAM);
    worker = await start();
    const others = nextSegments(3);
    await publish(others);
    await publish(segments, { again: true });
    await expectStoredOnce([...segments, ...others]);
    hold.release();
    const later = nextSegments(1);
    await publish(later);
    await expectStoredOnce(later);
  });
});

async function reconnect(): Promise<void> {
  await nats.close();
  nats = await eventually(() => connect(natsLogin(stack.info().nats_url)), TIMEOUT_MS);
}

describe("segments that take sequences which the consumer had reached before", () => {
  afterEach(reconnect);

  test.each(["while the worker runs", "while it does not"])(
    "are stored after NATS was set back, and not its consumers, %s",
    async (when) => {
      const before = nextSegments(5);
      await publish(before);
      await expectStoredOnce(before);
      const acknowledged = Promise.withResolvers<void>();
      const rolledBack = rollBackNats(stack, acknowledged.promise, "consumers");
      const forgotten = nextSegments(20);
      await publish(forgotten);
      await expectStoredOnce(forgotten);
      await waitUntilAcknowledged();
      acknowledged.resolve();
      if (when === "while it does not") process.kill(worker.pid, "SIGKILL");
      await rolledBack;
      await reconnect();
      const after = nextSegments(10);
      await publish(after);
      if (when === "while it does not") worker = await start();
      await publish(forgotten, { again: true });
      await expectStoredOnce(after);
    },
  );
});

test("a poison segment among fifty goes to the dead letters alone", async () => {
  const others = Array.from({ length: 49 }, () => journal.next(2));
  const poison = createJournal().next(3);
  const cure = lossy.refuse(poison.journalId);
  await publish([...others.slice(0, 20), poison, ...others.slice(20)]);
  await expectStoredOnce(others, [poison]);
  await eventually(async () => {
    const letters = await admin<{ segment: string; reason: string }[]>(stack, ["dlq", "list"]);
    expect(letters.map(({ segment }) => segment)).toEqual([formatSegmentId(poison)]);
    expect(letters[0]?.reason).toContain("Cannot parse");
  }, TIMEOUT_MS);
  cure();
  await admin(stack, ["dlq", "retry"]);
  await expectStoredOnce([poison]);
});

test("clicks in flight are carried over from the version that inserted each segment by itself", async () => {
  const [stored, waiting] = [nextSegments(3), nextSegments(3)];
  await worker.stop();
  // As that version left it: no log, its consumer, and segments that are inserted but not
  // acknowledged.
  await clickhouse.command({ query: "TRUNCATE TABLE batches" });
  const manager = await nats.jetstreamManager();
  await manager.consumers.delete(CLICKS_STREAM, CLICKS_WORKER);
  await manager.consumers.add(CLICKS_STREAM, {
    durable_name: CLICKS_WORKER,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(10_000),
    deliver_policy: DeliverPolicy.All,
    max_deliver: -1,
    max_ack_pending: 256,
  });
  for (const { journalId, segment, clicks } of stored) {
    await clickhouse.command({
      query: `INSERT INTO clicks (ts, link_id, account_id, mode, class, journal_id, segment, idx)
              SELECT now64(3), '${newUuid()}', '${newUuid()}', 'live', 'human', '${journalId}', ${segment}, number
                FROM numbers(${clicks})
              SETTINGS insert_deduplication_token = '${journalId}:${segment}',
                       deduplicate_blocks_in_dependent_materialized_views = 1`,
    });
  }
  await publish([...stored, ...waiting]);
  worker = await start();
  await expectStoredOnce(waiting);
  // Everything that is in the stream is delivered again, and found in the clicks.
  await waitUntilAcknowledged();
  await expectNothingTwice();
});

test("a ClickHouse that was restored without its log stores nothing twice, however old the clicks are", async () => {
  const [old, older] = [6, 20].map((days) => createJournal(newUuid(), days * 86_400_000));
  const segments = [old?.next(5), old?.next(5), older?.next(5)].flatMap((segment) => segment ?? []);
  await publish(segments);
  await expectStoredOnce(segments);
  await worker.stop();
  // As the documents say for a backup of a running server.
  await clickhouse.command({ query: "TRUNCATE TABLE batches" });
  const manager = await nats.jetstreamManager();
  await manager.consumers.delete(CLICKS_STREAM, CLICKS_WORKER);
  worker = await start();
  const after = nextSegments(2);
  await publish(after);
  await expectStoredOnce(after);
  await waitUntilAcknowledged();
  await expectNothingTwice();
});

test("everything sent again is stored once, after more inserts than ClickHouse remembers", async () => {
  const segments = nextSegments(20);
  await publish(segments);
  await expectStoredOnce(segments);
  const window = 100;
  const tables = ["clicks", ...ROLLUP_TABLES.map(({ table }) => table)];
  for (const table of tables)
    await clickhouse.command({
      query: `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = ${window}`,
    });
  for (let i = 0; i < 1.5 * window; i++)
    await clickhouse.command({
      query: `INSERT INTO clicks (ts, link_id, account_id, mode, class, journal_id, segment, idx)
              SELECT now64(3), '${newUuid()}', '${newUuid()}', 'live', 'human', '${newUuid()}', 0, 0`,
    });
  await replaceWorker();
  await publish(published, { again: true });
  await waitUntilAcknowledged();
  await expectNothingTwice();
});
