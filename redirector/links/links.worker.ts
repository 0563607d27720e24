/**
 * A redirector's thread for the host's links: waits for the lock on the store, then fills the store
 * from the feed.
 */
import { rmSync } from "node:fs";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { type ImagesPlace, openImages } from "../../shared/links-store/images.ts";
import { STORE_FORMAT } from "../../shared/links-store/schema.ts";
import { createLog } from "../../shared/log.ts";
import type { NatsFiles } from "../../shared/nats-files.ts";
import { tryLock } from "../../shared/process-lock.ts";
import { createFeedRecords } from "./feed-records.ts";
import { makeFolder, memoryDir } from "./store-files.ts";
import { createStoreFiller } from "./store-filler.ts";

export type LinksOptions = {
  dir: string;
  natsUrl: string;
  natsFiles?: NatsFiles;
  streamReplicas: number;
  /** The streams of the feed. */
  streams: readonly LinksStream[];
  logLevel: string;
  images: ImagesPlace;
};

/** Messages to the thread. */
export type LinksCommand = { kind: "start"; options: LinksOptions } | { kind: "stop" };

/** Messages from the thread. */
export type LinksEvent = { kind: "changed" } | { kind: "skipped" } | { kind: "stopped" };

/** Interval at which a thread without the lock tries to take it. */
const LOCK_POLL_MS = 250;

declare const self: Worker;

const send = (event: LinksEvent): void => self.postMessage(event);

let running: ReturnType<typeof run> | undefined;

function run({ logLevel, images, ...options }: LinksOptions) {
  const { dir } = options;
  const log = createLog("redirector", logLevel);
  const filler = createStoreFiller({
    ...options,
    images: openImages(images),
    records: createFeedRecords(log, () => send({ kind: "skipped" })),
    onChanged: () => send({ kind: "changed" }),
    log,
  });
  let stopped = false;

  async function main(): Promise<void> {
    while (!stopped) {
      const folder = chooseFolder(dir);
      // Versions that write other files do not wait for each other.
      const lock = tryLock(STORE_FORMAT, folder);
      if (lock === undefined) {
        await Bun.sleep(LOCK_POLL_MS);
        continue;
      }
      try {
        // A process that found the disk full left a store in memory, which is no longer needed.
        if (folder === dir) rmSync(memoryDir(dir), { recursive: true, force: true });
        while (!stopped) await filler.fill();
      } finally {
        lock[Symbol.dispose]();
      }
    }
    await filler.close();
  }

  const ended = main();
  return {
    async stop(): Promise<void> {
      stopped = true;
      await filler.stop();
      await ended.catch(() => undefined);
    },
  };
}

/** Creates the folder of the store and returns it; the one in memory when the disk is full. */
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
