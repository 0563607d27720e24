/** Reads a snapshot of all links from NATS into a file. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";

import { AckPolicy, type ConsumerInfo, DeliverPolicy, type NatsConnection } from "nats";

import {
  CHUNK_BYTES,
  chunkIndex,
  SNAPSHOTS_STREAM,
  snapshotSubjects,
  type StoredSnapshot,
} from "../../shared/links-log/snapshot-stream.ts";
import { FeedPull } from "./feed-pull.ts";

/** Maximum time of a request to JetStream, which may have gone to a dead server. */
const REQUEST_TIMEOUT_MS = 500;

/** Pulls in a row without a chunk, each of which takes a second, until the read fails. */
const EMPTY_PULLS_MAX = 30;

/**
 * Writes the file of a snapshot. Throws when it does not come, or is not what its manifest says:
 * what is at `path` then must not be used.
 */
export async function readSnapshot(
  connection: NatsConnection,
  inboxPrefix: string | undefined,
  { name, manifest }: StoredSnapshot,
  path: string,
): Promise<void> {
  const hash = createHash("sha256");
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of readChunks(connection, inboxPrefix, name, manifest.bytes)) {
      hash.update(chunk);
      yield chunk;
    }
    // Before the end of the file: what is not whole does not get one.
    if (hash.digest("hex") !== manifest.sha256)
      throw new Error(`The snapshot ${name} is not what was stored.`);
  }
  await pipeline(
    Readable.from(read()),
    createZstdDecompress(),
    createWriteStream(path, { mode: 0o600 }),
  );
}

/** The chunks of a file of so many bytes, in their order. */
async function* readChunks(
  connection: NatsConnection,
  inboxPrefix: string | undefined,
  name: string,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  const count = Math.ceil(bytes / CHUNK_BYTES);
  const consumer = await addConsumer(connection, name);
  let next = 0;
  for (let empty = 0; next < count && empty < EMPTY_PULLS_MAX; empty++) {
    for await (const { subject, data } of new FeedPull(connection, consumer, inboxPrefix)) {
      if (next === count) break;
      if (chunkIndex(subject) !== next) throw new Error(`A chunk of the snapshot ${name} is lost.`);
      next++;
      empty = 0;
      yield data;
    }
  }
  if (next < count) throw new Error(`The snapshot ${name} does not come.`);
}

async function addConsumer(connection: NatsConnection, name: string): Promise<ConsumerInfo> {
  const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
  const manager = await connection.jetstreamManager(options);
  return await manager.consumers.add(SNAPSHOTS_STREAM, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.All,
    filter_subject: snapshotSubjects(name),
    inactive_threshold: 30_000_000_000,
    mem_storage: true,
    num_replicas: 1,
  });
}
