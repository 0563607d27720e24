/** Goal: a host gets exactly the file that was stored, or none. Method: a real NATS server. */
import { beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { removeOldSnapshots, storeSnapshot } from "../../api/links-snapshots/snapshot.ts";
import { newUuid } from "../../shared/ids.ts";
import { NO_HASH } from "../../shared/links-log/entries.ts";
import {
  CHUNK_BYTES,
  chunkSubject,
  ensureSnapshotsStream,
  listSnapshots,
  SNAPSHOTS_STREAM,
  type StoredSnapshot,
} from "../../shared/links-log/snapshots.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { dirForEach, forFile } from "../../test/harness/for-file.ts";
import { SIGNER } from "../../test/harness/links-log.ts";
import { startNats } from "../../test/harness/nats.ts";
import { BrokenSnapshotError, readSnapshot } from "./snapshot-reader.ts";

const server = await forFile(startNats());
const nats = await forFile(
  new NatsClient(server.url, "redirector", processLog("test", "silent")),
  (nats) => nats.close(),
);
const connection = await forFile(server.connect(), (connection) => connection.close());
const manager = await connection.jetstreamManager({ timeout: 500 });

const dir = dirForEach("shorthop-snapshot-");
beforeEach(async () => {
  await manager.streams.delete(SNAPSHOTS_STREAM).catch(() => undefined);
  await ensureSnapshotsStream(manager, 1);
});

const start = { term: 1, position: 2, hash: NO_HASH };
const contents = { format: "test", database: newUuid(), start, end: start, links: 7 };

/** Stores a file of so many bytes, which cannot be compressed; returns its name. */
async function store(bytes: number): Promise<string> {
  writeFileSync(join(dir(), "stored"), randomBytes(bytes));
  return await storeSnapshot(connection.jetstream(), SIGNER, join(dir(), "stored"), contents);
}

async function read(name: string): Promise<Buffer> {
  const snapshot = (await listSnapshots(manager, SIGNER)).find((listed) => listed.name === name);
  if (snapshot === undefined) throw new Error("There is no such snapshot.");
  await readTo(join(dir(), "read"), snapshot);
  return readFileSync(join(dir(), "read"));
}

const readTo = (path: string, snapshot: StoredSnapshot): Promise<void> =>
  readSnapshot(nats, snapshot, path, {
    signal: new AbortController().signal,
    onPercent: () => undefined,
  });

/**
 * Damages a chunk, of which the hash is known or not; returns how it is stored again as it was.
 */
async function damage(name: string, index: number, isHashKnown = true) {
  const { state } = await manager.streams.info(SNAPSHOTS_STREAM);
  const client = connection.jetstream();
  const messages = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++)
    messages.push(await manager.streams.getMessage(SNAPSHOTS_STREAM, { seq }));
  await manager.streams.purge(SNAPSHOTS_STREAM);
  for (const { subject, data, header } of messages) {
    const isDamaged = subject === chunkSubject(name, index);
    const options = isDamaged && !isHashKnown ? {} : { headers: header };
    await client.publish(subject, isDamaged ? new Uint8Array(data.length) : data, options);
  }
  const whole = messages[index];
  if (whole === undefined) throw new Error("There is no such chunk.");
  return () => client.publish(whole.subject, whole.data, { headers: whole.header });
}

const storedFile = () => readFileSync(join(dir(), "stored"));

describe("a snapshot", () => {
  test.each([
    ["nothing", 0],
    ["a part of a chunk", 1_000],
    ["more than the acknowledgements and the pulls that wait", 40 * CHUNK_BYTES + 17],
  ])("of %s is read as it was stored", async (_, bytes) => {
    const name = await store(bytes);
    expect((await read(name)).equals(storedFile())).toBe(true);
    expect(await listSnapshots(manager, SIGNER)).toMatchObject([{ name, manifest: contents }]);
  });

  test("is not listed before it is complete, nor without a stream", async () => {
    await connection.jetstream().publish(chunkSubject("begun", 0), "x");
    expect(await listSnapshots(manager, SIGNER)).toEqual([]);
    await manager.streams.delete(SNAPSHOTS_STREAM);
    expect(await listSnapshots(manager, SIGNER)).toEqual([]);
  });

  test("of which a chunk is missing, or is another one, is not read", async () => {
    const name = await store(4 * CHUNK_BYTES);
    await manager.streams.deleteMessage(SNAPSHOTS_STREAM, 2);
    expect(await read(name).catch(String)).toContain("is lost");
    const other = await store(CHUNK_BYTES / 2);
    const [, snapshot] = await listSnapshots(manager, SIGNER);
    if (snapshot === undefined) throw new Error("There is no such snapshot.");
    const changed = { ...snapshot, manifest: { ...snapshot.manifest, sha256: NO_HASH } };
    const reading = readTo(join(dir(), "changed"), changed);
    expect(await reading.catch(String)).toContain("is not what was stored");
    // Its manifest was read, and then all of it was removed.
    const gone = readTo(join(dir(), "gone"), { ...snapshot, name: newUuid() });
    expect(await gone.catch(String)).toContain("is lost");
    expect((await read(other)).equals(storedFile())).toBe(true);
    expect(existsSync(join(dir(), "read"))).toBe(true);
  });

  test("with a damaged chunk is refused by the name of the chunk, until a whole one can be taken", async () => {
    const name = await store(9 * CHUNK_BYTES);
    const mend = await damage(name, 4);
    expect(await read(name).catch(String)).toContain(`chunk 4 of the snapshot ${name} is damaged`);
    await mend();
    expect((await read(name)).equals(storedFile())).toBe(true);
  });

  test("with a damaged chunk of which no hash is known is not read, and not tried again", async () => {
    const name = await store(9 * CHUNK_BYTES);
    await damage(name, 4, false);
    const failure: unknown = await read(name).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BrokenSnapshotError);
    expect(String(failure)).toContain("is not what was stored");
  });

  test("without its last chunks is refused by the name of the first of them, and not tried again", async () => {
    await store(4 * CHUNK_BYTES);
    const [snapshot] = await listSnapshots(manager, SIGNER);
    if (snapshot === undefined) throw new Error("There is no such snapshot.");
    // As a damaged block hides them, with the manifest behind them.
    for (const ago of [0, 1, 2])
      await manager.streams.deleteMessage(SNAPSHOTS_STREAM, snapshot.sequence - ago);
    const failure: unknown = await readTo(join(dir(), "read"), snapshot).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(BrokenSnapshotError);
    expect(String(failure)).toContain("is lost");
  });

  test("with more chunks than its manifest says is read no further", async () => {
    await store(4 * CHUNK_BYTES);
    const [snapshot] = await listSnapshots(manager, SIGNER);
    if (snapshot === undefined) throw new Error("There is no such snapshot.");
    const shorter = { ...snapshot, manifest: { ...snapshot.manifest, bytes: CHUNK_BYTES } };
    const parts: number[] = [];
    const reading = readSnapshot(nats, shorter, join(dir(), "longer"), {
      signal: new AbortController().signal,
      onPercent: (percent) => void parts.push(percent),
    });
    expect(await reading.catch(String)).toContain("is not what was stored");
    expect(parts).toEqual([100]);
  });

  test("goes when two later ones are stored, and so does what was never completed", async () => {
    await store(10);
    await connection.jetstream().publish(chunkSubject("begun", 0), "x");
    const later = [await store(10), await store(10)];
    await removeOldSnapshots(manager, SIGNER);
    expect((await listSnapshots(manager, SIGNER)).map(({ name }) => name)).toEqual(later);
    const { state } = await manager.streams.info(SNAPSHOTS_STREAM);
    expect(state.messages).toBe(4);
  });
});
