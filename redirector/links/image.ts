/**
 * Starts a store from an image of all links, so that only later messages are read from the feed. An
 * image is an older store. It is used only where such a store could continue: in streams that are
 * complete, were not filled again since, and have reached the image's positions. Any other image is
 * outdated or of another installation; then the whole feed is read.
 */
import { renameSync, rmSync } from "node:fs";

import type { NatsConnection } from "nats";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { readHeartbeat } from "../../shared/contracts/streams.ts";
import { type ImagePosition, type Images, positionsOf } from "../../shared/links-store/images.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { makeFolder, storeFiles, storePath } from "./store-files.ts";

type ImageDeps = {
  dir: string;
  images: Images;
  nats: Pick<Nats, "connection">;
  /** The streams of the feed. */
  streams: readonly LinksStream[];
  /** Aborts the read at any point. */
  signal: AbortSignal;
  log: Log;
};

type CreatedStream = { name: string; created: string };

/**
 * Installs the newest image as the store, which must not exist. Returns the streams in which it has
 * positions, by their names and creation times: those of this host, which may be mirrors; undefined
 * when there is no usable image. After any failure, the whole feed is read instead.
 */
export async function loadImage({
  dir,
  images,
  nats,
  streams,
  signal,
  log,
}: ImageDeps): Promise<CreatedStream[] | undefined> {
  const path = `${storePath(dir)}.image`;
  try {
    // Without NATS the age of an image is unknown.
    const connection = await Promise.race([nats.connection, rejectOnAbort(signal)]);
    // While the number of streams changes, there are images of both numbers.
    const image = (await images.list()).find(
      (listed) => positionsOf(listed).length === streams.length,
    );
    if (image === undefined) return undefined;
    const created = await findStreams(connection, streams, image);
    if (created === undefined) {
      log.info({ image: image.name }, "links_image_outdated");
      return undefined;
    }
    makeFolder(dir);
    const startedAt = performance.now();
    await images.read(image.name, path, signal);
    // SQLite would use a leftover log for this file.
    for (const file of storeFiles(dir)) rmSync(file, { force: true });
    renameSync(path, storePath(dir));
    const seconds = Math.round(performance.now() - startedAt) / 1_000;
    log.info({ image: image.name, seconds }, "links_image_loaded");
    return created;
  } catch (error) {
    if (!signal.aborted) log.warn({ error }, "links_image_failed");
    return undefined;
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * Returns the streams if their messages after an image's positions are all that the image lacks.
 */
async function findStreams(
  connection: NatsConnection,
  streams: readonly LinksStream[],
  image: ImagePosition,
): Promise<CreatedStream[] | undefined> {
  const manager = await connection.jetstreamManager({ checkAPI: false });
  const found: CreatedStream[] = [];
  for (const [i, { epoch, sequence }] of positionsOf(image).entries()) {
    const stream = streams[i];
    if (stream === undefined) return undefined;
    const { created, state } = await manager.streams.info(stream.name);
    const heartbeat = await readHeartbeat(manager, stream);
    const isCurrent = heartbeat?.complete === true && heartbeat.epoch === epoch;
    if (!isCurrent || state.last_seq < sequence) return undefined;
    found.push({ name: stream.name, created });
  }
  return found;
}

const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
