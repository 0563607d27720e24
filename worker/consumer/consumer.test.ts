/**
 * Goal: every segment in JetStream is stored and acknowledged once, or dead-lettered with the
 * reason.
 */
import { expect, setDefaultTimeout, test } from "bun:test";

import { ClickHouseError } from "@clickhouse/client";

import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import { REASON_HEADER } from "../../shared/contracts/dead-letters.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  CLICKS_WORKER,
  DEAD_LETTERS_STREAM,
  ensureClicksStream,
} from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { UNKNOWN_LOCATION } from "../../shared/visitors/geo.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { MemoryLog } from "../../test/harness/memory-log.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { encodeSegment, testClick } from "../../test/harness/segments.ts";
import { workerContext } from "../../test/harness/worker-context.ts";
import { BatchesTable } from "../batches/batch-log.ts";
import { ClicksTable, type ClickStore } from "../batches/clicks-table.ts";
import { SegmentIndex } from "../batches/segment-index.ts";
import { Counters } from "../counters.ts";
import { type ClickedLink, Enricher } from "../enrich/rows.ts";
import { ClickRecorder } from "../events/recorder.ts";
import { Metrics } from "../metrics.ts";
import { Repairs } from "../repairs.ts";
import { ClicksConsumer } from "./consumer.ts";

// Each test starts a real server and waits for it, all of them at once, on a machine that may be
// busy.
setDefaultTimeout(180_000);

const STREAM_BYTES_MAX = 64 * 1024 ** 2;

/**
 * A message that a busy machine's fetch gave up on its way is delivered again after ten seconds.
 */
const REDELIVERED_MS = 30_000;

/** How often a worker looks at the size of the stream. */
const TRIM_INTERVAL_MS = 200;

/** ClickHouse's code for data it cannot parse. */
const CANNOT_PARSE = "27";

/** The row of a segment is its id. */
class EnricherToIds extends Enricher {
  override async enrich(bytes: Buffer) {
    const enriched = await super.enrich(bytes);
    return enriched && { ...enriched, rows: Buffer.from(formatSegmentId(enriched)) };
  }
}

const geo = { locate: () => UNKNOWN_LOCATION, databases: () => [] };
const enricher = new EnricherToIds(geo, "a secret of this installation", new Set());

const noRepair = async (): Promise<void> => undefined;

/** A worker's surroundings: a server of its own, so that tests that wait do so at the same time. */
async function openWorld() {
  const server: TestNats = await startNats();
  const client = new NatsClient(server.url, "worker", processLog("worker", "silent"));
  const nats = await client.connection;
  const manager = await nats.jetstreamManager();
  await ensureClicksStream(manager, STREAM_BYTES_MAX, 1);
  /** Ids of the segments of each batch that was inserted. */
  const inserted: string[][] = [];
  const touched: Uuid[] = [];
  const takeovers = { count: 0 };
  const counts: [outcome: string, segments: number, clicks: number][] = [];
  /** What the next inserts that contain a segment do, by its id; later ones succeed. */
  const faults = new Map<string, (() => Promise<void>)[]>();
  const running: ClicksConsumer[] = [];
  const log = new MemoryLog();
  const stored = () => inserted.flat();

  class CountedMetrics extends Metrics {
    override count(outcome: string, segments: number, clicks: number) {
      counts.push([outcome, segments, clicks]);
    }
  }

  class CountedCounters extends Counters {
    override touch(links: Iterable<ClickedLink>) {
      touched.push(...[...links].map(({ linkId }) => linkId));
    }
  }

  class CountedRecorder extends ClickRecorder {
    override takeOver() {
      takeovers.count++;
    }
  }

  class TestRepairs extends Repairs {
    override repair = noRepair;
  }

  function start(change: Partial<ClickStore> = {}, repair = noRepair): ClicksConsumer {
    const context = workerContext(
      { nats: client, metrics: new CountedMetrics() },
      { CLICKS_BYTES_MAX: String(STREAM_BYTES_MAX) },
    );
    const { clickhouse, metrics } = context;
    const counters = new CountedCounters(context);
    const repairs = new TestRepairs(context, counters);
    repairs.repair = repair;
    const table = new ClicksTable(clickhouse, metrics);
    const recorder = new CountedRecorder(context, new BatchesTable(clickhouse), table);
    const clicks: ClickStore = {
      async insert(_, rows) {
        const ids = rows.map(String);
        for (const id of ids) await faults.get(id)?.shift()?.();
        inserted.push(ids);
      },
      findStored: async (ids) => ids.filter((id) => stored().includes(formatSegmentId(id))),
      readRows: async () => Buffer.alloc(0),
      readHistory: async () => new SegmentIndex(),
      ...change,
    };
    const parts = { enricher, batchLog: log, clicks, repairs, counters, recorder };
    const consumer = new ClicksConsumer(context, parts, TRIM_INTERVAL_MS);
    running.push(consumer);
    return consumer;
  }

  return {
    nats,
    manager,
    inserted,
    touched,
    takeovers,
    counts,
    faults,
    log,
    stored,
    start,
    publish: (bytes: Uint8Array) => nats.jetstream().publish(CLICKS_SUBJECT, bytes),
    waitUntilAcknowledged: () =>
      eventually(async () => {
        const { num_pending, num_ack_pending } = await manager.consumers.info(
          CLICKS_STREAM,
          CLICKS_WORKER,
        );
        expect([num_pending, num_ack_pending]).toEqual([0, 0]);
      }),
    deadLetter: (seq: number) => manager.streams.getMessage(DEAD_LETTERS_STREAM, { seq }),
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((consumer) => consumer.stop()));
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A test in a world of its own, beside the others. */
const inWorld = (name: string, run: (world: World) => Promise<void>) =>
  test.concurrent(name, async () => {
    await using world = await openWorld();
    await run(world);
  });

type World = Awaited<ReturnType<typeof openWorld>>;

const failInsert = () => Promise.reject(new Error("ClickHouse is down."));

const findNoSpace = () =>
  Promise.reject(
    new ClickHouseError({
      message: "Cannot reserve 1.00 MiB",
      code: "243",
      type: "NOT_ENOUGH_SPACE",
    }),
  );

const refuse = () =>
  Promise.reject(
    new ClickHouseError({ message: "Cannot parse\r\nX-Evil: 1", code: CANNOT_PARSE, type: "" }),
  );

/** Encodes a segment with one click of each link, all of one account. */
function createSegment(links: Uuid[], time = 1): { id: string; bytes: Buffer } {
  const [journalId, accountId] = [newUuid(), newUuid()];
  const clicks = links.map((linkId) => testClick({ time, linkId, accountId }));
  const id = { journalId, segment: 0 };
  return { id: formatSegmentId(id), bytes: encodeSegment(id, clicks) };
}

inWorld("a segment is stored, counted, and acknowledged; its links are touched", async (world) => {
  const [first, second] = [newUuid(), newUuid()];
  const { id, bytes } = createSegment([first, second, first]);
  await world.publish(bytes);
  const consumer = world.start();
  await eventually(async () => expect(world.stored()).toEqual([id]));
  await world.waitUntilAcknowledged();
  expect(world.counts).toEqual([["stored", 1, 3]]);
  expect(world.touched).toEqual([first, second]);
  expect(consumer.state).toBe("ok");
});

inWorld(
  "whoever takes over is told to count what the owner before may not have, although its batches are settled",
  async ({ takeovers, stored, start, publish }) => {
    for (const owners of [1, 2]) {
      const owner = start();
      await publish(createSegment([newUuid()]).bytes);
      await eventually(async () => expect(stored()).toHaveLength(owners));
      expect(takeovers.count).toBe(owners);
      await owner.stop();
    }
  },
);

inWorld("a full disk of ClickHouse is said until there is room again", async (world) => {
  const { id, bytes } = createSegment([newUuid()]);
  const { promise: room, resolve: makeRoom } = Promise.withResolvers<void>();
  world.faults.set(id, [findNoSpace, () => room]);
  await world.publish(bytes);
  const consumer = world.start();
  await eventually(async () => expect(consumer.warning).toContain("disk of ClickHouse is full"));
  expect(consumer.state).toBe("ok");
  makeRoom();
  await world.waitUntilAcknowledged();
  expect(consumer.warning).toBeUndefined();
});

for (const [what, bytes, reason] of [
  ["bytes that are not a segment are", Buffer.from("no segment"), "not a segment of clicks"],
  [
    "a segment with an impossible time is",
    createSegment([newUuid()], Number.NaN).bytes,
    "a record is no valid click",
  ],
] as const)
  inWorld(`${what} dead-lettered unchanged, before that is in a batch`, async (world) => {
    const other = createSegment([newUuid()]);
    await world.publish(bytes);
    await world.publish(other.bytes);
    world.start();
    await world.waitUntilAcknowledged();
    expect(world.inserted).toEqual([[other.id]]);
    const letter = await world.deadLetter(1);
    expect(Buffer.from(letter.data).equals(bytes)).toBe(true);
    expect(letter.header.get(REASON_HEADER)).toBe(reason);
    expect(world.counts).toContainEqual(["dead_lettered", 1, 0]);
  });

inWorld(
  "a batch whose inserts fail for a while is retried whole, and counted once",
  async ({ inserted, counts, faults, start, publish, waitUntilAcknowledged }) => {
    const [failing, other] = [createSegment([newUuid()]), createSegment([newUuid()])];
    faults.set(failing.id, [failInsert, failInsert]);
    await publish(other.bytes);
    await publish(failing.bytes);
    start();
    await eventually(async () => expect(inserted).toEqual([[other.id, failing.id]]));
    await waitUntilAcknowledged();
    expect(counts).toEqual([
      ["stored", 1, 1],
      ["stored", 1, 1],
    ]);
  },
);

inWorld(
  "a segment that ClickHouse will never accept is dead-lettered whole and alone, with its reason on one line",
  async ({ manager, counts, faults, touched, stored, start, publish, ...world }) => {
    const segments = Array.from({ length: 50 }, () => createSegment([newUuid()]));
    const poison = segments[17] ?? createSegment([]);
    // Its batch is halved until it is alone.
    const refusals = Array.from({ length: 8 }, () => refuse);
    faults.set(poison.id, refusals);
    for (const { bytes } of segments) await publish(bytes);
    start();
    await world.waitUntilAcknowledged();
    const others = segments.filter((segment) => segment !== poison).map(({ id }) => id);
    expect(stored().toSorted()).toEqual(others.toSorted());
    expect(touched).toHaveLength(others.length);
    expect(counts).toContainEqual(["dead_lettered", 1, 1]);
    const letter = await world.deadLetter(1);
    expect(Buffer.from(letter.data).equals(poison.bytes)).toBe(true);
    expect(letter.header.get(REASON_HEADER)).toContain("Cannot parse X-Evil");
    expect(letter.header.has("X-Evil")).toBe(false);
    expect((await manager.streams.info(DEAD_LETTERS_STREAM)).state.messages).toBe(1);
  },
);

inWorld(
  "a segment that is delivered again is not inserted again, by this owner or the next",
  async ({ counts, stored, start, publish, waitUntilAcknowledged }) => {
    const [segment, later] = [createSegment([newUuid()]), createSegment([newUuid()])];
    // Without an id for JetStream, as if its window had passed.
    await publish(segment.bytes);
    await publish(segment.bytes);
    const first = start();
    await waitUntilAcknowledged();
    await first.stop();
    start();
    await publish(segment.bytes);
    await publish(later.bytes);
    await waitUntilAcknowledged();
    expect(stored()).toEqual([segment.id, later.id]);
    expect(counts).toContainEqual(["duplicate", 1, 0]);
  },
);

inWorld(
  "of several workers one stores, and another takes over when it is gone",
  async ({ stored, start, publish, waitUntilAcknowledged }) => {
    const workers = [start(), start(), start()];
    const first = await eventually(async () => {
      const owners = workers.filter((worker) => worker.owner !== undefined);
      expect(owners).toHaveLength(1);
      expect(workers.map((worker) => worker.state)).toEqual(["ok", "ok", "ok"]);
      return owners[0];
    });
    await first?.stop();
    const { id, bytes } = createSegment([newUuid()]);
    await publish(bytes);
    await eventually(async () => expect(stored()).toEqual([id]));
    await waitUntilAcknowledged();
  },
);

inWorld(
  "the valid clicks of a torn segment are stored, and it is counted as torn",
  async ({ counts, stored, start, publish, waitUntilAcknowledged }) => {
    const { id, bytes } = createSegment([newUuid(), newUuid()]);
    await publish(bytes.subarray(0, bytes.length - 1));
    start();
    await eventually(async () => expect(stored()).toEqual([id]));
    await waitUntilAcknowledged();
    expect(counts).toEqual([
      ["torn", 1, 0],
      ["stored", 1, 1],
    ]);
  },
);

inWorld(
  "a worker that stops returns segments that it could not store, and another one receives them at once",
  async ({ stored, start, publish, waitUntilAcknowledged }) => {
    const { id, bytes } = createSegment([newUuid()]);
    const tried = Promise.withResolvers<void>();
    const stopping = start({
      async insert() {
        tried.resolve();
        throw new Error("ClickHouse is down.");
      },
    });
    await publish(bytes);
    await tried.promise;
    await stopping.stop();
    start();
    await eventually(async () => expect(stored()).toEqual([id]));
    await waitUntilAcknowledged();
  },
);

longTest(
  "a stream that gets full loses stored segments, the oldest first, and takes all new ones",
  async () => {
    await using world = await openWorld();
    const segments = Array.from({ length: 60 }, () =>
      createSegment(Array.from({ length: 300 }, () => newUuid())),
    );
    const ids = segments.map(({ id }) => id).toSorted();
    const max_bytes = segments.reduce((sum, { bytes }) => sum + bytes.length, 0) / 2;
    await world.manager.streams.update(CLICKS_STREAM, { max_bytes: Math.ceil(max_bytes) });
    world.start();
    for (const { id, bytes } of segments)
      await eventually(() => world.nats.jetstream().publish(CLICKS_SUBJECT, bytes, { msgID: id }));
    await eventually(async () => expect(world.stored().toSorted()).toEqual(ids), REDELIVERED_MS);
    const { state } = await world.manager.streams.info(CLICKS_STREAM);
    expect([state.last_seq, state.num_deleted ?? 0]).toEqual([segments.length, 0]);
    expect(state.first_seq).toBeGreaterThan(1);
  },
);

inWorld("a consumer whose streams are deleted recreates them and continues", async (world) => {
  const { manager, stored, start, publish } = world;
  const consumer = start();
  await eventually(async () => expect(consumer.state).toBe("ok"));
  await manager.streams.delete(CLICKS_STREAM);
  await eventually(async () => await manager.streams.info(CLICKS_STREAM), 15_000);
  const { id, bytes } = createSegment([newUuid()]);
  await publish(bytes);
  await eventually(async () => expect(stored()).toEqual([id]));
});

longTest(
  "without traffic, a repair is tried again, and an owner notices that another took over",
  async () => {
    await using world = await openWorld();
    let repairs = 0;
    const consumer = world.start({}, async () => void repairs++);
    await eventually(async () => expect(repairs).toBeGreaterThan(0));
    const epoch = consumer.owner?.epoch ?? 0;
    await world.log.claim({ epoch: epoch + 1, owner: newUuid() });
    await eventually(async () => expect(consumer.owner?.epoch).not.toBe(epoch));
  },
);
