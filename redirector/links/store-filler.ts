/**
 * Fills the links store from an image and the feed, in the process that holds the folder's lock.
 */
import { existsSync, rmSync } from "node:fs";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import type { Images } from "../../shared/links-store/images.ts";
import type { Log } from "../../shared/log.ts";
import type { NatsFiles } from "../../shared/nats-files.ts";
import { type Nats, openNats } from "../../shared/nats.ts";
import { createFeedGroup } from "./feed-group.ts";
import type { FeedRecords } from "./feed-records.ts";
import { type Follower, startFollower } from "./follower.ts";
import { loadImage } from "./image.ts";
import {
  damageMarkPath,
  findStore,
  isDamage,
  markDamaged,
  memoryDir,
  quarantineStore,
  storePath,
} from "./store-files.ts";
import { openReader } from "./store-reader.ts";
import { releaseReserve } from "./store-reserve.ts";
import { createScrub } from "./store-scrub.ts";
import { openWriter, type StoreWriter } from "./store-writer.ts";

/** Pause after a failed write of the store. */
const RETRY_MS = 1_000;

/** Pause between two attempts to load an image. */
const IMAGE_RETRY_MS = 600_000;

type FillerDeps = {
  dir: string;
  natsUrl: string;
  natsFiles?: NatsFiles;
  streamReplicas: number;
  /** The streams of the feed. */
  streams: readonly LinksStream[];
  images: Images | undefined;
  records: FeedRecords;
  /** Called after each transaction that changed the store. */
  onChanged: () => void;
  log: Log;
};

export function createStoreFiller(deps: FillerDeps) {
  const { dir, natsUrl, natsFiles = {}, images, onChanged, log, streams } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** When an image may be loaded again, so that a full disk is not filled again and again. */
  let imageAt = -Infinity;
  let followers: Follower[] = [];
  let nats: Nats | undefined;

  /** Loads an image, if there is one; returns the streams that continue it. */
  async function load(connection: Nats): ReturnType<typeof loadImage> {
    if (images === undefined || performance.now() < imageAt) return undefined;
    imageAt = performance.now() + IMAGE_RETRY_MS;
    return await loadImage({ dir, images, nats: connection, streams, signal, log });
  }

  async function fill(): Promise<void> {
    nats ??= openNats({ url: natsUrl, files: natsFiles, name: "redirector links", log });
    if (existsSync(damageMarkPath(dir))) quarantineStore(dir);
    const continued = existsSync(storePath(dir)) ? undefined : await load(nats);
    if (signal.aborted) return;
    using store = openStore(dir, log);
    for (const { name, created } of continued ?? [])
      store.write([], { ...store.feed(name), stream: created }, name);
    await follow(nats, store);
  }

  /** Follows all streams until the filler is stopped or one of them fails. */
  async function follow(connection: Nats, writer: StoreWriter): Promise<void> {
    // A store in memory has no disk that could damage it.
    using reader = existsSync(storePath(dir)) ? openReader(dir) : undefined;
    const checkStore = createStoreCheck(dir, reader && createScrub(reader));
    const store = { ...writer, write: writeAndNotify(writer, onChanged) };
    const group = createFeedGroup({ store, streams, log });
    const shared = { ...deps, nats: connection, group, store, checkStore };
    followers = streams.map((stream) => startFollower({ ...shared, stream }));
    try {
      await Promise.all(followers.map(({ ended }) => ended));
    } finally {
      await stopFollowers();
    }
  }

  const stopFollowers = (): Promise<unknown> => Promise.all(followers.map(({ stop }) => stop()));

  return {
    /** Fills the store until it fails or the filler is stopped; never rejects. */
    async fill(): Promise<void> {
      try {
        await fill();
      } catch (error) {
        log.error({ error }, "links_store_failed");
        if (!repair(error, dir, log) && !signal.aborted) await Bun.sleep(RETRY_MS);
      }
    },
    /** Stops filling, after the current transaction. */
    async stop(): Promise<void> {
      stopping.abort();
      await stopFollowers();
    },
    /** Closes the connection to NATS, after filling has stopped. */
    close: async (): Promise<void> => await nats?.close(),
  };
}

/**
 * Repairs the store so that it can be written again; false when that is impossible, or when the
 * disk rejects every write.
 */
function repair(error: unknown, dir: string, log: Log): boolean {
  try {
    if (!isDamage(error)) return releaseReserve(dir);
    quarantineStore(dir);
    return true;
  } catch (failure) {
    log.error({ error: failure }, "links_store_not_mended");
    return false;
  }
}

/** Opens the store for writing; in memory while the disk is full. */
function openStore(dir: string, log: Log): StoreWriter {
  const existed = existsSync(storePath(dir));
  try {
    return openWriter(dir);
  } catch (error) {
    if (existed) throw error;
    log.error({ error }, "links_store_in_memory");
    rmSync(storePath(dir), { force: true });
    return openWriter(memoryDir(dir));
  }
}

/** Returns a function that throws when the open store must not be written any more. */
function createStoreCheck(
  dir: string,
  scrub: ReturnType<typeof createScrub> | undefined,
): () => void {
  const opened = findStore(dir)?.inode;
  return () => {
    if (scrub?.findsDamage() === true) markDamaged(dir);
    if (existsSync(damageMarkPath(dir))) throw new Error("The links store is damaged.");
    if (findStore(dir)?.inode !== opened) throw new Error("The links store was deleted.");
  };
}

const writeAndNotify =
  (store: StoreWriter, onChanged: () => void): StoreWriter["write"] =>
  (...args) => {
    const changed = store.write(...args);
    if (changed > 0) onChanged();
    return changed;
  };
