/**
 * The job that makes an image of all links once a day: a redirector host without links starts from it instead of reading
 * the whole feed. One API process makes it.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { JetStreamManager, NatsConnection } from "nats";

import { type LinksStream, UNDIVIDED } from "../../../shared/contracts/links-streams.ts";
import { type Images, positionsOf } from "../../../shared/links-store/images.ts";
import type { Log } from "../../../shared/log.ts";
import { readEpochs } from "../../feed/position.ts";
import type { Sql } from "../../postgres.ts";
import { buildImage } from "./image.ts";
import { lockImages } from "./sql.ts";

/** How often each API process looks whether an image is due. */
const INTERVAL_MS = 60_000;

const DAY_MS = 86_400_000;

/** Pause after an image could not be made. */
const RETRY_MS = 600_000;

/** After a filling of the stream no host starts from an earlier image: another one is due, though not after each of many. */
const AFTER_FILLING_MS = 600_000;

/** An image that is older than this shows that none can be made. */
const OVERDUE_MS = 2 * DAY_MS;

/** Images that are kept: a redirector may still be reading the one before the last. */
const KEPT = 2;

/** The file that is being written; what a process left that was killed is removed with it. */
const WORK_PREFIX = "shorthop-image-";

/** Says that the last image is too old, or that there is none; undefined when it is as old as it may be. */
export function describeAge(madeAt: number | undefined): string | undefined {
  if (madeAt === undefined) return "there is no image of the links";
  const age = Date.now() - madeAt;
  if (age < OVERDUE_MS) return undefined;
  return `the last image of the links is ${Math.floor(age / DAY_MS)} days old`;
}

export type ImagesJob = {
  /** When the last image was made, in Unix milliseconds; undefined while that is not known, or when there is none. */
  madeAt(): number | undefined;
  /** What is wrong; undefined when nothing is. */
  problem(): string | undefined;
  stop(): Promise<void>;
};

type ImagesJobDeps = {
  sql: Sql;
  nats: Promise<NatsConnection>;
  images: Images;
  /** The streams of the feed behind which the images are. */
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
  let stopped = false;
  let wake: (() => void) | undefined;

  async function isDue(): Promise<boolean> {
    const [newest] = await images.list();
    madeAt = newest?.madeAt.getTime();
    if (newest === undefined) return true;
    const epochs = positionsOf(newest).map(({ epoch }) => epoch);
    const isUsable = Bun.deepEquals(epochs, await readEpochs(sql, streams));
    return Date.now() - newest.madeAt.getTime() >= (isUsable ? DAY_MS : AFTER_FILLING_MS);
  }

  /** Makes an image, unless another process does or has. */
  const make = (manager: JetStreamManager): Promise<void> =>
    sql.begin(async (lock) => {
      if (!(await lockImages(lock)) || !(await isDue())) return;
      mkdirSync(images.workDir, { recursive: true, mode: 0o750 });
      removeLeftovers(images.workDir);
      const path = join(images.workDir, `${WORK_PREFIX}${process.pid}`);
      try {
        const built = await buildImage({ sql, manager, streams, isStopped: () => stopped }, path);
        if (built === undefined) return;
        const { links, ...position } = built;
        const name = await images.add(path, position);
        log.info({ image: name, links }, "links_image_made");
        const [newest, ...older] = await images.list();
        madeAt = newest?.madeAt.getTime();
        for (const image of older.slice(KEPT - 1)) await images.remove(image.name);
      } finally {
        rmSync(path, { force: true });
      }
    });

  async function run(): Promise<void> {
    const manager = await (await nats).jetstreamManager({ checkAPI: false });
    while (!stopped) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, intervalMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (stopped || performance.now() < retryAt) continue;
      try {
        if (await isDue()) await make(manager);
      } catch (error) {
        // All links were read for nothing, perhaps.
        retryAt = performance.now() + RETRY_MS;
        log.warn({ error }, "links_image_failed");
      }
    }
  }

  const running = run();
  running.catch((error: unknown) => log.error({ error }, "links_images_stopped"));
  return {
    madeAt: () => madeAt,
    // Without one, the first is not overdue until a while after the start.
    problem: () =>
      Date.now() - startedAt < OVERDUE_MS && madeAt === undefined ? undefined : describeAge(madeAt),
    async stop() {
      stopped = true;
      // Before the connection is open, there is nothing to finish.
      if (wake === undefined) return;
      wake();
      await running;
    },
  };
}

function removeLeftovers(dir: string): void {
  for (const name of readdirSync(dir))
    if (name.startsWith(WORK_PREFIX)) rmSync(join(dir, name), { force: true });
}
