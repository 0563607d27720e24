/**
 * The thread of a redirector for the host's links: it waits until it may write the store, and then fills it from the
 * feed.
 */
import { existsSync, rmSync } from "node:fs";

import { type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import { type ImagesPlace, openImages } from "../../shared/links-store/images.ts";
import { createLog } from "../../shared/log.ts";
import { type Nats, openNats } from "../../shared/nats.ts";
import { tryLock } from "../../shared/process-lock.ts";
import { createFeedGroup } from "./feed-group.ts";
import { createFeedRecords } from "./feed-records.ts";
import { type Follower, startFollower } from "./follower.ts";
import { loadImage } from "./image.ts";
import {
  damageMarkPath,
  findStore,
  isDamage,
  makeFolder,
  memoryDir,
  openWriter,
  releaseReserve,
  setAside,
  storePath,
  type StoreWriter,
} from "./store.ts";

export type LinksOptions = {
  dir: string;
  natsUrl: string;
  streamReplicas: number;
  /** The streams of the feed. */
  streams?: readonly LinksStream[];
  logLevel: string;
  images: ImagesPlace;
};

/** Messages to the thread. */
export type LinksCommand = { kind: "start"; options: LinksOptions } | { kind: "stop" };

/** Messages from the thread. */
export type LinksEvent = { kind: "changed" } | { kind: "skipped" } | { kind: "stopped" };

/** How often a thread that does not write tries to. */
const LOCK_POLL_MS = 250;

/** Pause after the store could not be written. */
const RETRY_MS = 1_000;

/** Pause between two attempts to load an image. */
const IMAGE_RETRY_MS = 600_000;

/** The purpose of the lock: versions that write other files do not wait for each other. */
const LOCK_PURPOSE = "links-1";

declare const self: Worker;

const send = (event: LinksEvent): void => self.postMessage(event);

let running: ReturnType<typeof run> | undefined;

function run({
  dir,
  natsUrl,
  streamReplicas,
  streams = [UNDIVIDED],
  logLevel,
  images: place,
}: LinksOptions) {
  const log = createLog("redirector", logLevel);
  const records = createFeedRecords(log, () => send({ kind: "skipped" }));
  const images = openImages(place);
  const stopping = new AbortController();
  /** When an image may be loaded again: a disk that has no room for it is not filled again and again. */
  let imageAt = -Infinity;
  let stopped = false;
  let followers: Follower[] = [];
  let nats: Nats | undefined;

  /** Opens the store to write; in memory while the disk has no room for one. */
  function open(): StoreWriter {
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

  /** Begins with an image, if there is one; returns the streams that continue it. */
  async function load(connection: Nats): ReturnType<typeof loadImage> {
    if (images === undefined || performance.now() < imageAt) return undefined;
    imageAt = performance.now() + IMAGE_RETRY_MS;
    const { signal } = stopping;
    return await loadImage({ dir, images, nats: connection, streams, signal, log });
  }

  /** Writes the store until the thread is to stop or the store fails. */
  async function write(): Promise<void> {
    try {
      nats ??= openNats({ url: natsUrl, name: "redirector links", log });
      if (existsSync(damageMarkPath(dir))) setAside(dir);
      const continued = existsSync(storePath(dir)) ? undefined : await load(nats);
      if (stopped) return;
      using store = open();
      for (const { name, created } of continued ?? [])
        store.write([], { ...store.feed(name), stream: created }, name);
      await follow(nats, store);
    } catch (error) {
      log.error({ error }, "links_store_failed");
      if (isDamage(error)) setAside(dir);
      else if (!releaseReserve(dir) && !stopped) await Bun.sleep(RETRY_MS);
    }
  }

  /** Follows all streams until the thread is to stop or one of them fails. */
  async function follow(connection: Nats, writer: StoreWriter): Promise<void> {
    const opened = findStore(dir)?.inode;
    const store = {
      ...writer,
      write(...args: Parameters<StoreWriter["write"]>) {
        const changed = writer.write(...args);
        if (changed > 0) send({ kind: "changed" });
        return changed;
      },
    };
    const group = createFeedGroup({ store, streams, log });
    followers = streams.map((stream) =>
      startFollower({
        nats: connection,
        stream,
        group,
        streamReplicas,
        store,
        records,
        checkStore() {
          if (existsSync(damageMarkPath(dir))) throw new Error("The links store is damaged.");
          if (findStore(dir)?.inode !== opened) throw new Error("The links store was deleted.");
        },
        log,
      }),
    );
    try {
      await Promise.all(followers.map(({ ended }) => ended));
    } finally {
      await stopFollowers();
    }
  }

  const stopFollowers = (): Promise<unknown> => Promise.all(followers.map(({ stop }) => stop()));

  async function main(): Promise<void> {
    while (!stopped) {
      const folder = chooseFolder(dir);
      const lock = tryLock(LOCK_PURPOSE, folder);
      if (lock === undefined) {
        await Bun.sleep(LOCK_POLL_MS);
        continue;
      }
      try {
        // What a process left here that had no room on the disk is no longer needed.
        if (folder === dir) rmSync(memoryDir(dir), { recursive: true, force: true });
        while (!stopped) await write();
      } finally {
        lock[Symbol.dispose]();
      }
    }
    await nats?.close();
  }

  const ended = main();
  return {
    async stop(): Promise<void> {
      stopped = true;
      stopping.abort();
      await stopFollowers();
      await ended.catch(() => undefined);
    },
  };
}

/** Makes the folder of the store, and returns it; the one in memory when the disk has no room. */
function chooseFolder(dir: string): string {
  try {
    makeFolder(dir);
    return dir;
  } catch {
    makeFolder(memoryDir(dir));
    return memoryDir(dir);
  }
}

self.addEventListener("message", ({ data }: MessageEvent<LinksCommand>): void => {
  switch (data.kind) {
    case "start":
      running = run(data.options);
      return;
    case "stop":
      void running?.stop().finally(() => send({ kind: "stopped" }));
  }
});
