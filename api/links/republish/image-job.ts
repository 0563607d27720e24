/**
 * The job that writes an image of all links once a day. A redirector host without links starts from
 * the image instead of reading the whole feed. One API process writes it.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { JetStreamManager, NatsConnection } from "nats";

import { type LinksStream, UNDIVIDED } from "../../../shared/contracts/links-streams.ts";
import { DAY_MS } from "../../../shared/durations.ts";
import { type Images, positionsOf } from "../../../shared/links-store/images.ts";
import type { Log } from "../../../shared/log.ts";
import { readEpochs } from "../../feed/position.ts";
import { createPause } from "../../pause.ts";
import type { Sql } from "../../postgres.ts";
import { buildImage } from "./image.ts";
import { lockImages } from "./sql.ts";

/** How often each API process checks whether an image is due. */
const INTERVAL_MS = 60_000;

/** Pause after an image could not be written. */
const RETRY_MS = 600_000;

/**
 * After a fill of the stream no host can start from an earlier image, so a new one is due. This
 * interval keeps several fills from each causing one.
 */
const AFTER_FILLING_MS = 600_000;

/** An older image shows that new ones cannot be written. */
const OVERDUE_MS = 2 * DAY_MS;

/** Images that are kept: a redirector may still be reading the previous one. */
const KEPT = 2;

/**
 * The prefix of the file being written. Files left by a killed process are removed by this prefix.
 */
const WORK_PREFIX = "shorthop-image-";

/** Reports that the last image is too old, or that there is none; undefined for a recent one. */
export function describeAge(madeAt: number | undefined): string | undefined {
  if (madeAt === undefined) return "there is no image of the links";
  const age = Date.now() - madeAt;
  if (age < OVERDUE_MS) return undefined;
  return `the last image of the links is ${Math.floor(age / DAY_MS)} days old`;
}

export type ImagesJob = {
  /**
   * When the last image was written, in Unix milliseconds; undefined while unknown, or when there
   * is none.
   */
  madeAt(): number | undefined;
  /** The current problem; undefined when there is none. */
  problem(): string | undefined;
  stop(): Promise<void>;
};

type ImagesJobDeps = {
  sql: Sql;
  nats: Promise<NatsConnection>;
  images: Images;
  /** The streams of the feed that the images belong to. */
  streams?: readonly LinksStream[];
  log: Log;
  intervalMs?: number;
};

export function startImages({
  sql,
  nats,
  images,
  streams = [UNDIVIDED],
  log,
  intervalMs = INTERVAL_MS,
}: ImagesJobDeps): ImagesJob {
  const startedAt = Date.now();
  let madeAt: number | undefined;
  let retryAt = -Infinity;
  let isStarted = false;
  let stopped = false;
  const pause = createPause(intervalMs);

  async function isDue(): Promise<boolean> {
    const [newest] = await images.list();
    madeAt = newest?.madeAt.getTime();
    if (newest === undefined) return true;
    const epochs = positionsOf(newest).map(({ epoch }) => epoch);
    const isUsable = Bun.deepEquals(epochs, await readEpochs(sql, streams));
    return Date.now() - newest.madeAt.getTime() >= (isUsable ? DAY_MS : AFTER_FILLING_MS);
  }

  const isStopped = () => stopped;

  /** Writes an image, unless another process is writing one or has just done so. */
  const make = (manager: JetStreamManager): Promise<void> =>
    sql.begin(async (lock) => {
      if (!(await lockImages(lock)) || !(await isDue())) return;
      if (!(await writeImage({ sql, manager, streams, images, isStopped, log }))) return;
      const [newest, ...older] = await images.list();
      madeAt = newest?.madeAt.getTime();
      for (const image of older.slice(KEPT - 1)) await images.remove(image.name);
    });

  async function run(): Promise<void> {
    const manager = await (await nats).jetstreamManager({ checkAPI: false });
    isStarted = true;
    while (!stopped) {
      await pause.start();
      if (stopped || performance.now() < retryAt) continue;
      try {
        if (await isDue()) await make(manager);
      } catch (error) {
        // Reading all links may have been wasted, so wait longer.
        retryAt = performance.now() + RETRY_MS;
        log.warn({ error }, "links_image_failed");
      }
    }
  }

  const running = run();
  running.catch((error: unknown) => log.error({ error }, "links_images_stopped"));
  return {
    madeAt: () => madeAt,
    // Without any image, the first becomes overdue only some time after the start.
    problem: () =>
      Date.now() - startedAt < OVERDUE_MS && madeAt === undefined ? undefined : describeAge(madeAt),
    async stop() {
      stopped = true;
      pause.end();
      // Before the connection is open, there is nothing to finish.
      if (isStarted) await running;
    },
  };
}

type WritingDeps = Pick<ImagesJobDeps, "sql" | "images" | "log"> & {
  manager: JetStreamManager;
  streams: readonly LinksStream[];
  isStopped: () => boolean;
};

/** Writes an image; false when the job was stopped meanwhile. */
async function writeImage({ images, log, ...building }: WritingDeps): Promise<boolean> {
  mkdirSync(images.workDir, { recursive: true, mode: 0o750 });
  removeLeftovers(images.workDir);
  const path = join(images.workDir, `${WORK_PREFIX}${process.pid}`);
  try {
    const built = await buildImage(building, path);
    if (built === undefined) return false;
    const { links, ...position } = built;
    const name = await images.add(path, position);
    log.info({ image: name, links }, "links_image_made");
    return true;
  } finally {
    rmSync(path, { force: true });
  }
}

function removeLeftovers(dir: string): void {
  for (const name of readdirSync(dir))
    if (name.startsWith(WORK_PREFIX)) rmSync(join(dir, name), { force: true });
}
