/** Goal: every readable segment reaches JetStream once, whatever its neighbours or NATS do. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

import type { NatsConnection } from "nats";

import { newRequestClick } from "../../shared/contracts/click-record.ts";
import { decodeSegment, encodeSegmentHeader } from "../../shared/contracts/click-segment.ts";
import { CLICKS_STREAM, ensureClicksStream } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { dirForEach, forFile } from "../../test/harness/for-file.ts";
import { startNats } from "../../test/harness/nats.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { redirectorConfig } from "../../test/harness/redirector-config.ts";
import { encodeRecord } from "../../test/harness/segments.ts";
import { type SealedSegment, segmentPath } from "./files.ts";
import { Publisher, type PublisherEvent } from "./publisher.worker.ts";

/** More segments than the publisher has in flight at a time. */
const MORE_THAN_IN_FLIGHT = 9;

const STREAM_BYTES_MAX = 64 * 1024 ** 2;

/** Longer than all attempts to read an unreadable file take. */
const QUARANTINED_MS = 15_000;

const server = await forFile(startNats());

const dir = dirForEach("shorthop-publisher-");
let client: NatsClient;
let nats: NatsConnection;
beforeEach(async () => {
  client = new NatsClient(server.url, "test", processLog("test", "silent"));
  nats = await client.connection;
  // Each test creates its own stream; before the first one there is none to delete.
  const { streams } = await nats.jetstreamManager();
  await streams.delete(CLICKS_STREAM).catch(() => false);
});
afterEach(() => client.close());

const journalId = newUuid();

/** Writes a sealed segment of one click to disk. */
function writeSealed(segment: number): SealedSegment {
  const raw = newRequestClick();
  raw.ids.bytes = Buffer.alloc(32);
  raw.ids.end = 32;
  const bytes = Buffer.concat([
    encodeSegmentHeader({ journalId, segment }),
    encodeRecord({ ...raw, time: segment }),
  ]);
  const path = segmentPath(dir(), { journalId, segment }, "segment");
  writeFileSync(path, bytes);
  return { journalId, segment, path, bytes: bytes.length, clicks: 1 };
}

function start({ journalBytesMax = 1024 ** 3 } = {}) {
  const counts = { delivered: 0, quarantined: 0, stillPending: 0, released: 0 };
  const config = redirectorConfig({
    CLICKS_BYTES_MAX: STREAM_BYTES_MAX,
    JOURNAL_BYTES_MAX: journalBytesMax,
  });
  const count = (event: PublisherEvent): void => {
    if (event.kind !== "stopped") counts[event.kind]++;
    if (event.kind === "quarantined" && event.pending) counts.stillPending++;
  };
  const log = processLog("test", "silent");
  const publisher = new Publisher(client, config, count, log);
  return { publisher, counts };
}

/** Reads the numbers of the segments in the stream, in order. */
async function readStream(): Promise<number[]> {
  // The test's other connection may be reconnecting.
  const connection = await server.connect();
  const { streams } = await connection.jetstreamManager();
  const { state } = await streams.info(CLICKS_STREAM);
  const numbers: number[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const { data } = await streams.getMessage(CLICKS_STREAM, { seq });
    numbers.push(decodeSegment(Buffer.from(data))?.segment ?? -1);
  }
  await connection.close();
  return numbers.toSorted((a, b) => a - b);
}

describe("the publisher", () => {
  test("publishes every segment once, however often it is added", async () => {
    const { publisher, counts } = start();
    const segments = Array.from({ length: 20 }, (_, i) => writeSealed(i));
    for (const segment of [...segments, ...segments]) publisher.add(segment);
    await eventually(async () => expect(counts.delivered).toBe(20));
    await publisher.stop();
    expect(await readStream()).toEqual(segments.map(({ segment }) => segment));
  });

  test("deletes acknowledged segments when it stops, and leaves the rest on disk", async () => {
    const { publisher, counts } = start();
    publisher.add(writeSealed(0));
    await eventually(async () => expect(counts.delivered).toBe(1));
    const unpublished = writeSealed(1);
    await publisher.stop();
    publisher.add(unpublished);
    expect(readdirSync(dir())).toEqual([basename(unpublished.path)]);
  });

  longTest(
    "retains acknowledged segments in half of the journal at most, less what waits",
    async () => {
      const segments = Array.from({ length: 10 }, (_, i) => writeSealed(i));
      const size = segments[0]?.bytes ?? 0;
      const { publisher, counts } = start({ journalBytesMax: 12 * size });
      for (const segment of segments) publisher.add(segment);
      // Six are half of the journal.
      await eventually(async () => expect(counts.released).toBe(4));
      await server.kill();
      const waiting = Array.from({ length: 4 }, (_, i) => writeSealed(100 + i));
      for (const segment of waiting) publisher.add(segment);
      await eventually(async () => expect(counts.released).toBe(8));
      await server.start("retained");
      await eventually(async () => expect(counts.delivered).toBe(14), 15_000);
      await publisher.stop();
    },
  );

  test("republishes segments that a NATS server acknowledged and lost", async () => {
    const { publisher, counts } = start();
    for (let i = 0; i < 5; i++) publisher.add(writeSealed(i));
    await eventually(async () => expect(counts.delivered).toBe(5));
    await server.kill();
    await server.start("lost");
    await eventually(async () => expect(await readStream()).toEqual([0, 1, 2, 3, 4]), 15_000);
    // Each counts as delivered once.
    expect(counts.delivered).toBe(5);
    await publisher.stop();
  });

  test("retries a segment until a full stream has room for it", async () => {
    const { streams } = await nats.jetstreamManager();
    await ensureClicksStream(await nats.jetstreamManager(), STREAM_BYTES_MAX, 1);
    await streams.update(CLICKS_STREAM, { max_bytes: 1 });
    const { publisher, counts } = start();
    const segment = writeSealed(0);
    publisher.add(segment);
    // Nothing is delivered meanwhile.
    await Bun.sleep(300);
    expect([counts.delivered, existsSync(segment.path)]).toEqual([0, true]);
    await streams.update(CLICKS_STREAM, { max_bytes: STREAM_BYTES_MAX });
    await eventually(async () => expect(await readStream()).toEqual([0]), 15_000);
    await publisher.stop();
  });
});

describe("segments that cannot be read", () => {
  longTest("are all quarantined, and delay no segment behind them", async () => {
    const { publisher, counts } = start();
    const bad = Array.from({ length: MORE_THAN_IN_FLIGHT }, (_, i) => writeSealed(i));
    bad.forEach(({ path, bytes }, i) => {
      if (i % 3 === 0) truncateSync(path, bytes - 1);
      // Another segment's bytes, of the same length.
      else if (i % 3 === 1) writeFileSync(path, readFileSync(writeSealed(1_000).path));
      else rmSync(path);
      if (i === 2) mkdirSync(path);
    });
    const quarantined = bad
      .filter(({ path }) => existsSync(path))
      .map(({ path }) => basename(path));
    const contents = new Map(
      bad
        .filter((_, i) => i % 3 < 2)
        .map(({ path }) => [basename(path), readFileSync(path)] as const),
    );
    const good = Array.from({ length: 30 }, (_, i) => writeSealed(100 + i));
    for (const segment of [...bad, ...good]) publisher.add(segment);
    await eventually(async () => expect(counts.delivered).toBe(good.length));
    expect(counts.quarantined).toBe(0);

    await eventually(async () => expect(counts.quarantined).toBe(bad.length), QUARANTINED_MS);
    expect(counts).toEqual({ delivered: 30, quarantined: 9, stillPending: 9, released: 0 });
    expect(await readStream()).toEqual(good.map(({ segment }) => segment));
    const quarantine = join(dir(), "quarantine");
    expect(readdirSync(quarantine).toSorted()).toEqual(quarantined);
    for (const [name, bytes] of contents)
      expect(readFileSync(join(quarantine, name)).equals(bytes)).toBe(true);
    await publisher.stop();
  });

  test("are published when they become readable in time", async () => {
    const { publisher, counts } = start();
    const segment = writeSealed(0);
    const bytes = readFileSync(segment.path);
    rmSync(segment.path);
    publisher.add(segment);
    await Bun.sleep(200);
    writeFileSync(segment.path, bytes);
    await eventually(async () => expect(counts.delivered).toBe(1), QUARANTINED_MS);
    expect(counts.quarantined).toBe(0);
    await publisher.stop();
  });
});
