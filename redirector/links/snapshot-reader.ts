/** Reads a snapshot of all links from NATS into a file. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";

import { DeliverPolicy, type JetStreamManager } from "nats";

import { readFreeBytes } from "../../shared/disk.ts";
import {
  CHUNK_BYTES,
  chunkIndex,
  SNAPSHOTS_STREAM,
  snapshotSubjects,
  type StoredSnapshot,
} from "../../shared/links-log/snapshots.ts";
import type { Nats } from "../../shared/nats.ts";
import { RESERVE_BYTES } from "./store.ts";
import { addConsumer, StreamPull } from "./stream-pull.ts";

/** Pulls in a row without a chunk, each of which takes a second, until the read fails. */
const EMPTY_PULLS_MAX = 10;

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
  readonly #manager: JetStreamManager;
  readonly #snapshot: StoredSnapshot;
  readonly #onPercent: (percent: number) => void;

  /** Calls `onPercent` with the part that was read. */
  constructor(
    nats: Nats,
    manager: JetStreamManager,
    snapshot: StoredSnapshot,
    onPercent: (percent: number) => void,
  ) {
    this.#nats = nats;
    this.#manager = manager;
    this.#snapshot = snapshot;
    this.#onPercent = onPercent;
  }

  /**
   * Writes the file. Throws when it does not come, when there is no room for it, or when it is not
   * what the manifest says: what is at `path` then must not be used.
   */
  async readTo(path: string, signal: AbortSignal): Promise<void> {
    await pipeline(
      Readable.from(this.#readWhole(dirname(path))),
      createZstdDecompress(),
      createWriteStream(path, { mode: 0o600 }),
      { signal },
    );
  }

  async *#readWhole(dir: string): AsyncGenerator<Uint8Array> {
    const { name, manifest } = this.#snapshot;
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of this.#readChunks()) {
      if (readFreeBytes(dir) < FREE_BYTES_MIN)
        throw new NoRoomError(`The disk has no room for the snapshot ${name}.`);
      hash.update(chunk);
      bytes += chunk.length;
      this.#onPercent(Math.floor((100 * bytes) / manifest.bytes));
      yield chunk;
    }
    // Before the end of the file: what is not whole does not get one.
    if (hash.digest("hex") !== manifest.sha256)
      throw new BrokenSnapshotError(`The snapshot ${name} is not what was stored.`);
  }

  /** The chunks of the file, in their order. */
  async *#readChunks(): AsyncGenerator<Uint8Array> {
    const { name, manifest } = this.#snapshot;
    const connection = await this.#nats.connection;
    const consumer = await addConsumer(this.#manager, SNAPSHOTS_STREAM, {
      deliver_policy: DeliverPolicy.All,
      filter_subject: snapshotSubjects(name),
    });
    const count = Math.ceil(manifest.bytes / CHUNK_BYTES);
    let next = 0;
    for (let empty = 0; next < count && empty < EMPTY_PULLS_MAX; empty++) {
      const pull = new StreamPull(connection, consumer, this.#nats.inboxPrefix);
      for await (const { subject, data } of pull) {
        if (next === count) break;
        if (chunkIndex(subject) !== next)
          throw new BrokenSnapshotError(`A chunk of the snapshot ${name} is lost.`);
        next++;
        empty = 0;
        yield data;
      }
    }
    if (next === count) return;
    const { num_pending: left } = await this.#manager.consumers.info(
      SNAPSHOTS_STREAM,
      consumer.name,
    );
    if (left === 0) throw new BrokenSnapshotError(`The snapshot ${name} lacks chunks.`);
    throw new Error(`The snapshot ${name} does not come.`);
  }
}
