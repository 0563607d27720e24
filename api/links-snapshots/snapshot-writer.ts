/** Stores snapshots in NATS, so that hosts can take them. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createZstdCompress } from "node:zlib";

import type { JetStreamClient, JetStreamManager } from "nats";

import { PULL_BYTES_MAX } from "../../shared/contracts/streams.ts";
import {
  type LogSigner,
  type LogVerifier,
  manifestStatement,
} from "../../shared/links-log/signature.ts";
import {
  CHUNK_BYTES,
  chunkSubject,
  encodeManifest,
  listSnapshots,
  listSubjects,
  manifestSubject,
  SNAPSHOTS_KEPT,
  SNAPSHOTS_STREAM,
  snapshotSubjects,
} from "../../shared/links-log/snapshots.ts";
import type { SnapshotContents } from "./snapshot-builder.ts";

/** Chunks that wait for their acknowledgement at a time. */
const WINDOW = PULL_BYTES_MAX / CHUNK_BYTES;

/**
 * Compresses a file and stores it under a new name, with its signed manifest last; returns the
 * name. What is left of one that could not be stored is removed with the next snapshot.
 */
export async function storeSnapshot(
  client: JetStreamClient,
  signer: LogSigner,
  path: string,
  contents: SnapshotContents,
): Promise<string> {
  const name = crypto.randomUUID();
  const hash = createHash("sha256");
  const waiting: Promise<unknown>[] = [];
  let bytes = 0;
  let index = 0;
  for await (const chunk of splitChunks(createReadStream(path).pipe(createZstdCompress()))) {
    hash.update(chunk);
    bytes += chunk.length;
    if (waiting.length === WINDOW) await Promise.all(waiting.splice(0, WINDOW / 2));
    const published = client.publish(chunkSubject(name, index++), chunk);
    // A failure is thrown when its turn comes.
    published.catch(() => undefined);
    waiting.push(published);
  }
  await Promise.all(waiting);
  const manifest = encodeManifest({ ...contents, bytes, sha256: hash.digest("hex") });
  const headers = signer.sign(manifestStatement(name, manifest));
  await client.publish(manifestSubject(name), manifest, { headers });
  return name;
}

/** Regroups bytes into chunks of {@link CHUNK_BYTES}; the last one has what is left. */
async function* splitChunks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const part of parts) {
    waiting.push(part);
    length += part.length;
    if (length < CHUNK_BYTES) continue;
    const joined = Buffer.concat(waiting);
    let start = 0;
    for (; length - start >= CHUNK_BYTES; start += CHUNK_BYTES)
      yield joined.subarray(start, start + CHUNK_BYTES);
    waiting = [joined.subarray(start)];
    length -= start;
  }
  if (length > 0) yield Buffer.concat(waiting);
}

/**
 * Removes all but the last snapshots. Also those that were begun and never completed, and those of
 * strangers; so nobody may store one meanwhile.
 */
export async function removeOldSnapshots(
  manager: JetStreamManager,
  verifier: LogVerifier,
): Promise<void> {
  const stored = await listSnapshots(manager, verifier);
  const kept = new Set(stored.slice(-SNAPSHOTS_KEPT).map(({ name }) => name));
  const subjects = await listSubjects(manager, ">");
  const names = new Set(subjects.map((subject) => subject.split(".")[1]));
  for (const name of names)
    if (name !== undefined && !kept.has(name))
      await manager.streams.purge(SNAPSHOTS_STREAM, { filter: snapshotSubjects(name) });
}
