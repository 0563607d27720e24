/**
 * Starts a store from an image of all links, so that only what was published since is read from the feed. An image is an
 * older store, and it is used only where one could go on: in a stream that has every link, was not filled again since,
 * and has reached the image's position. Any other comes from another time or installation, and the feed is read instead.
 */
import { renameSync, rmSync } from "node:fs";

import type { NatsConnection } from "nats";

import { LINKS_STREAM, readHeartbeat } from "../../shared/contracts/streams.ts";
import type { ImagePosition, Images } from "../../shared/links-store/images.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { makeFolder, storeFiles, storePath } from "./store-files.ts";

type ImageDeps = {
  dir: string;
  images: Images;
  nats: Pick<Nats, "connection">;
  /** Ends the reading, however far it is. */
  signal: AbortSignal;
  log: Log;
};

/**
 * Puts the newest image in the place of the store, which must not exist. Returns the stream in which it has a position:
 * that of this host, which may be a mirror; undefined when there is no image to begin with. Whatever fails, the feed has
 * it all.
 */
export async function loadImage({
  dir,
  images,
  nats,
  signal,
  log,
}: ImageDeps): Promise<string | undefined> {
  const path = `${storePath(dir)}.image`;
  try {
    // Without NATS nobody can say whether an image is of now.
    const connection = await Promise.race([nats.connection, rejectOnAbort(signal)]);
    const [image] = await images.list();
    if (image === undefined) return undefined;
    const stream = await findStream(connection, image);
    if (stream === undefined) {
      log.info({ image: image.name }, "links_image_outdated");
      return undefined;
    }
    makeFolder(dir);
    const startedAt = performance.now();
    await images.read(image.name, path, signal);
    // SQLite would take a log that was left behind for this file's.
    for (const file of storeFiles(dir)) rmSync(file, { force: true });
    renameSync(path, storePath(dir));
    const seconds = Math.round(performance.now() - startedAt) / 1_000;
    log.info({ image: image.name, seconds }, "links_image_loaded");
    return stream;
  } catch (error) {
    if (!signal.aborted) log.warn({ error }, "links_image_failed");
    return undefined;
  } finally {
    rmSync(path, { force: true });
  }
}

/** Returns the stream, by its creation time, if what it has behind an image's position is all that the image lacks. */
async function findStream(
  connection: NatsConnection,
  { epoch, sequence }: ImagePosition,
): Promise<string | undefined> {
  const manager = await connection.jetstreamManager({ checkAPI: false });
  const { created, state } = await manager.streams.info(LINKS_STREAM);
  const heartbeat = await readHeartbeat(manager);
  const isCurrent = heartbeat?.complete === true && heartbeat.epoch === epoch;
  return isCurrent && state.last_seq >= sequence ? created : undefined;
}

const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
