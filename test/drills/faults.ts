/** What comes back old, empty or damaged in a drill, and what redirectors may answer meanwhile. */
import {
  closeSync,
  cpSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { connect, type JetStreamManager } from "nats";

import { buildImage } from "../../api/links/republish/image.ts";
import type { Sql } from "../../api/postgres.ts";
import { storePath } from "../../redirector/links/store-files.ts";
import { LINKS_STREAM } from "../../shared/contracts/streams.ts";
import { openImages } from "../../shared/links-store/images.ts";
import { natsLogin } from "../../shared/nats.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { killNats, waitUntilEnded } from "../harness/services.ts";
import { mountDisk, unmountDisk } from "../harness/small-disk.ts";
import type { Stack } from "../harness/stack.ts";
import type { DrillLinks } from "./links.ts";

/** Two hosts: the stack's, and another one with a links store of its own. */
export type Hosts = {
  stack: Stack;
  links: DrillLinks;
  other: ExtraProcess;
  /** The folder of the other host's links store. */
  otherLinks: string;
  /** Starts the other host again, on the same folder. */
  restartOther(): Promise<ExtraProcess>;
};

export type Fault = {
  name: string;
  /** Whether links that are not in memory may be answered 503 meanwhile. */
  mayBeUnavailable: boolean;
  inject(hosts: Hosts): Promise<void>;
};

/** How long it may take until a loss is noticed. */
const NOTICED_MS = 10_000;

/** How long a filling may take. */
const FILLED_MS = 600_000;

/**
 * Times that links are changed which an older copy of NATS lacks: more than a follower reads again
 * anyway.
 */
const LOST_CHANGES = 10;

/** Room on a small disk beyond what the links store takes: its log, and the reserve. */
const SMALL_DISK_MIB = 256;

export const FAULTS: readonly Fault[] = [
  {
    name: "NATS comes back empty",
    mayBeUnavailable: false,
    inject: ({ stack, links }) =>
      killNats(stack, async () => {
        rmSync(natsStore(stack), { recursive: true, force: true });
        await links.change();
      }),
  },
  {
    name: "a block of NATS is damaged",
    mayBeUnavailable: false,
    inject: ({ stack }) => killNats(stack, () => damage(middleBlock(stack))),
  },
  {
    name: "the stream is deleted",
    mayBeUnavailable: false,
    async inject({ stack, links }) {
      await onStreams(stack, (manager) => manager.streams.delete(LINKS_STREAM));
      await links.change();
    },
  },
  {
    name: "NATS comes back from an older copy",
    mayBeUnavailable: false,
    inject: (hosts) => rollBackNats(hosts, () => Promise.resolve()),
  },
  {
    name: "a host is away while NATS comes back from an older copy",
    mayBeUnavailable: false,
    async inject(hosts) {
      await rollBackNats(hosts, async () => {
        process.kill(hosts.other.pid, "SIGKILL");
        await waitUntilEnded(hosts.other.pid);
      });
      // The stream is filled meanwhile, and counts past what the host knows.
      await Bun.sleep(NOTICED_MS);
      await eventually(async () => {
        const metrics = await fetch(`${hosts.stack.info().api_metrics_url}/metrics`);
        if (!(await metrics.text()).includes("shorthop_api_feed_complete 0")) return;
        throw new Error("It is being filled.");
      }, FILLED_MS);
      await hosts.links.change();
      await hosts.restartOther();
    },
  },
  {
    name: "a links store is deleted",
    mayBeUnavailable: true,
    async inject({ otherLinks, links }) {
      for (const file of readdirSync(otherLinks)) rmSync(join(otherLinks, file));
      await links.change();
    },
  },
  {
    name: "a links store is damaged",
    mayBeUnavailable: true,
    async inject({ otherLinks, links }) {
      damage(storePath(otherLinks));
      await links.change();
    },
  },
  {
    name: "a host is away while the stream is made again",
    mayBeUnavailable: false,
    async inject({ stack, links, other, restartOther }) {
      process.kill(other.pid, "SIGKILL");
      await waitUntilEnded(other.pid);
      await links.change();
      await onStreams(stack, (manager) => manager.streams.delete(LINKS_STREAM));
      await links.change();
      await links.delete();
      await restartOther();
    },
  },
  {
    name: "a new host starts from an image",
    mayBeUnavailable: false,
    async inject({ stack, links }) {
      const LINKS_IMAGES = mkdtempSync(join(stack.dataDir, "images-"));
      await makeImage(stack, links.sql, LINKS_IMAGES);
      await links.change();
      await links.delete();
      const LINKS_DIR = mkdtempSync(join(stack.dataDir, "links-"));
      const third = await startRedirector(stack, { LINKS_DIR, LINKS_IMAGES, LOG_LEVEL: "info" });
      await links.waitUntilRight(third.url);
      await third.stop();
      if (!third.output().includes("links_image_loaded"))
        throw new Error(`The image was not used:\n${third.output()}`);
    },
  },
  {
    name: "the disk of a links store is full",
    mayBeUnavailable: false,
    async inject({ stack, links, otherLinks }) {
      const disk = mkdtempSync(join(stack.dataDir, "disk-"));
      const mib = Math.ceil(statSync(storePath(otherLinks)).size / 2 ** 20) + SMALL_DISK_MIB;
      if (!mountDisk(disk, `${mib}m`)) throw new Error("No small disk can be mounted here.");
      try {
        const LINKS_DIR = join(disk, "links");
        mkdirSync(LINKS_DIR);
        const third = await startRedirector(stack, { LINKS_DIR });
        Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "other")}`, "bs=64k"]);
        for (let i = 0; i < 10; i++) await links.change();
        await links.waitUntilRight(third.url);
        await third.stop();
      } finally {
        unmountDisk(disk);
      }
    },
  },
];

/** Lets NATS come back without changes that all hosts have seen; does something else in between. */
async function rollBackNats(
  { stack, links, other }: Hosts,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const copy = join(stack.dataDir, "nats", "copy");
  await killNats(stack, () => cpSync(natsStore(stack), copy, { recursive: true }));
  for (let i = 0; i < LOST_CHANGES; i++) await links.change();
  await links.delete();
  for (const url of [stack.info().short_url, other.url]) await links.waitUntilRight(url);
  links.settle();
  await meanwhile();
  await killNats(stack, () => {
    rmSync(natsStore(stack), { recursive: true });
    cpSync(copy, natsStore(stack), { recursive: true });
  });
  rmSync(copy, { recursive: true });
}

const natsStore = (stack: Stack): string => join(stack.dataDir, "nats", "store");

/** The block of the stream `LINKS` with half of the others before it. */
function middleBlock(stack: Stack): string {
  const dir = join(natsStore(stack), "jetstream/$G/streams", LINKS_STREAM, "msgs");
  const blocks = readdirSync(dir).filter((name) => name.endsWith(".blk"));
  const sorted = blocks.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("The stream has no block.");
  return join(dir, middle);
}

/** Overwrites parts of a file, all over it. */
function damage(path: string): void {
  const file = openSync(path, "r+");
  const { size } = fstatSync(file);
  const garbage = Buffer.alloc(4096, 0xa5);
  for (let part = 1; part < 20; part++)
    writeSync(file, garbage, 0, garbage.length, Math.floor((size / 20) * part));
  closeSync(file);
}

/** Makes an image as the API's job does. */
async function makeImage(stack: Stack, sql: Sql, dir: string): Promise<void> {
  const images = openImages({ LINKS_IMAGES: dir });
  const path = join(dir, "image");
  await onStreams(stack, async (manager) => {
    const built = await buildImage({ sql, manager, isStopped: () => false }, path);
    if (images === undefined || built === undefined) throw new Error("The stream lacks links.");
    await images.add(path, built);
    rmSync(path);
  });
}

async function onStreams(
  stack: Stack,
  work: (manager: JetStreamManager) => Promise<unknown>,
): Promise<void> {
  const connection = await connect(natsLogin(stack.info().nats_url));
  await work(await connection.jetstreamManager());
  await connection.close();
}
