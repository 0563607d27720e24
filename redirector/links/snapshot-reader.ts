/** Reads a snapshot of all links from NATS into a file. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";

import { DeliverPolicy, type JetStreamManager } from "nats";

import { findMessage } from "../../shared/contracts/streams.ts";
import { readFreeBytes } from "../../shared/disk.ts";
import {
  CHUNK_BYTES,
  chunkIndex,
  chunkSubject,
  isWhole,
  manifestSubject,
  PART_BYTES,
  SNAPSHOTS_STREAM,
  snapshotSubjects,
  type StoredSnapshot,
} from "../../shared/links-log/snapshots.ts";
import type { Nats } from "../../shared/nats.ts";
import { RESERVE_BYTES } from "./store.ts";
import { addConsumer, StreamPull } from "./stream-pull.ts";

/** Pulls in a row without a chunk, each of which takes a second, until the rest is taken again. */
const EMPTY_PULLS_MAX = 3;

/** Free disk space that stays for the changes of the store that is served meanwhile. */
const FREE_BYTES_MIN = RESERVE_BYTES / 4;

/** A snapshot is not what was stored: another read would not get it either. */
export class BrokenSnapshotError extends Error {
  override name = "BrokenSnapshotError";
}

/** The disk has no room for a snapshot beside the store. */
export class NoRoomError extends Error {
  override name = "NoRoomError";
}

/** Who reads a snapshot: it may stop, and is told the part that was read. */
export interface SnapshotProgress {
  signal: AbortSignal;
  onPercent(percent: number): void;
}

/**
 * Writes the file of a snapshot to `path`. Throws when it does not come, when there is no room for
 * it, or when it is not what the manifest says: what is at `path` then must not be used.
 */
export async function readSnapshot(
  nats: Nats,
  snapshot: StoredSnapshot,
  path: string,
  progress: SnapshotProgress,
): Promise<void> {
  try {
    await pipeline(
      Readable.from(readWhole(nats, snapshot, dirname(path), progress)),
      createZstdDecompress({ chunkSize: PART_BYTES }),
      createWriteStream(path, { mode: 0o600 }),
      { signal: progress.signal },
    );
  } catch (error) {
    // The decompressor may find before the hash of all chunks that somebody has added one.
    throw isMalformed(error) ? otherThanStored(snapshot.name) : error;
  }
}

const isMalformed = (error: unknown): boolean =>
  error instanceof Error && "code" in error && String(error.code).startsWith("ZSTD_");

async function* readWhole(
  nats: Nats,
  snapshot: StoredSnapshot,
  dir: string,
  { onPercent }: SnapshotProgress,
): AsyncGenerator<Uint8Array> {
  const { name, manifest } = snapshot;
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of readChunks(nats, snapshot)) {
    if (readFreeBytes(dir) < FREE_BYTES_MIN)
      throw new NoRoomError(`The disk has no room for the snapshot ${name}.`);
    hash.update(chunk);
    bytes += chunk.length;
    // A host reads no more than what was signed, whatever chunks were added.
    if (bytes > manifest.bytes) throw otherThanStored(name);
    onPercent(Math.floor((100 * bytes) / manifest.bytes));
    yield chunk;
  }
  // Before the end of the file: what is not whole does not get one.
  if (hash.digest("hex") !== manifest.sha256) throw otherThanStored(name);
}

const otherThanStored = (name: string): Error =>
  new BrokenSnapshotError(`The snapshot ${name} is not what was stored.`);

/**
 * The chunks of the file in their order. The consumer may be on a server whose copy is damaged, so
 * a chunk that is lost or damaged there is taken again.
 */
async function* readChunks(
  nats: Nats,
  { name, manifest }: StoredSnapshot,
): AsyncGenerator<Uint8Array> {
  const connection = await nats.connection;
  const manager = await connection.jetstreamManager({ checkAPI: false });
  const consumer = await addConsumer(manager, SNAPSHOTS_STREAM, {
    deliver_policy: DeliverPolicy.All,
    filter_subject: snapshotSubjects(name),
  });
  const count = Math.ceil(manifest.bytes / CHUNK_BYTES);
  let next = 0;
  for (let empty = 0; empty < EMPTY_PULLS_MAX; empty++) {
    const pull = new StreamPull(connection, consumer, nats.inboxPrefix);
    for await (const { subject, data, headers } of pull) {
      const index = subject === manifestSubject(name) ? count : chunkIndex(subject);
      while (next < Math.min(index, count)) yield await readAgain(manager, name, next++);
      if (next === count) return;
      // An added chunk is no part of the file.
      if (index !== next) continue;
      yield isWhole(data, headers) ? data : await readAgain(manager, name, index);
      next++;
      empty = 0;
    }
  }
  while (next < count) yield await readAgain(manager, name, next++);
}

/** Reads a chunk as the leader of the stream has it. */
async function readAgain(
  manager: JetStreamManager,
  name: string,
  index: number,
): Promise<Uint8Array> {
  const query = { last_by_subj: chunkSubject(name, index) };
  const message = await findMessage(manager, SNAPSHOTS_STREAM, query);
  if (message !== undefined && isWhole(message.data, message.header)) return message.data;
  const problem = message === undefined ? "lost" : "damaged";
  throw new BrokenSnapshotError(`The chunk ${index} of the snapshot ${name} is ${problem}.`);
}
