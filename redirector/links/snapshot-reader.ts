/** Reads a snapshot of all links from NATS into a file. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";

import { AckPolicy, type ConsumerInfo, DeliverPolicy, type NatsConnection } from "nats";

import { readFreeBytes } from "../../shared/disk.ts";
import {
  CHUNK_BYTES,
  chunkIndex,
  SNAPSHOTS_STREAM,
  snapshotSubjects,
  type StoredSnapshot,
} from "../../shared/links-log/snapshots.ts";
import type { Nats } from "../../shared/nats.ts";
import { RESERVE_BYTES } from "./log-store.ts";
import { TailPull } from "./tail-pull.ts";

/** Maximum time of a request to JetStream, which may have gone to a dead server. */
const REQUEST_TIMEOUT_MS = 500;

/** Pulls in a row without a chunk, each of which takes a second, until the read fails. */
const EMPTY_PULLS_MAX = 30;

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

export class SnapshotReader {
  readonly #nats: Nats;
  readonly #snapshot: StoredSnapshot;
  readonly #stopping = new AbortController();
  #bytes = 0;

  constructor(nats: Nats, snapshot: StoredSnapshot) {
    this.#nats = nats;
    this.#snapshot = snapshot;
  }

  /** The part that was read, in percent. */
  get percent(): number {
    return Math.floor((100 * this.#bytes) / Math.max(1, this.#snapshot.manifest.bytes));
  }

  /**
   * Writes the file. Throws when it does not come, when there is no room for it, or when it is not
   * what the manifest says: what is at `path` then must not be used.
   */
  async readTo(path: string): Promise<void> {
    const connection = await this.#nats.connection;
    await pipeline(
      Readable.from(this.#readWhole(connection, dirname(path))),
      createZstdDecompress(),
      createWriteStream(path, { mode: 0o600 }),
      { signal: this.#stopping.signal },
    );
  }

  stop(): void {
    this.#stopping.abort();
  }

  async *#readWhole(connection: NatsConnection, dir: string): AsyncGenerator<Uint8Array> {
    const { name, manifest } = this.#snapshot;
    const hash = createHash("sha256");
    for await (const chunk of this.#readChunks(connection)) {
      if (readFreeBytes(dir) < FREE_BYTES_MIN)
        throw new NoRoomError(`The disk has no room for the snapshot ${name}.`);
      this.#bytes += chunk.length;
      hash.update(chunk);
      yield chunk;
    }
    // Before the end of the file: what is not whole does not get one.
    if (hash.digest("hex") !== manifest.sha256)
      throw new BrokenSnapshotError(`The snapshot ${name} is not what was stored.`);
  }

  /** The chunks of the file, in their order. */
  async *#readChunks(connection: NatsConnection): AsyncGenerator<Uint8Array> {
    const { name, manifest } = this.#snapshot;
    const count = Math.ceil(manifest.bytes / CHUNK_BYTES);
    const consumer = await addConsumer(connection, name);
    let next = 0;
    for (let empty = 0; next < count && empty < EMPTY_PULLS_MAX; empty++) {
      const pull = new TailPull(connection, consumer, this.#nats.inboxPrefix);
      for await (const { subject, data } of pull) {
        if (next === count) break;
        if (chunkIndex(subject) !== next)
          throw new BrokenSnapshotError(`A chunk of the snapshot ${name} is lost.`);
        next++;
        empty = 0;
        yield data;
      }
    }
    if (next < count) throw new Error(`The snapshot ${name} does not come.`);
  }
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
