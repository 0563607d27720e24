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

import { presentFolder, storePath } from "../../redirector/links/store-files.ts";
import { SNAPSHOTS_STREAM } from "../../shared/links-log/snapshot-stream.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { natsLogin } from "../../shared/nats.ts";
import { admin } from "../harness/admin.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { killNats, readWarnings, waitUntilEnded } from "../harness/services.ts";
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

/** How long NATS has what came back before a host reads it. */
const FILLED_MS = 10_000;

/** How long a host may take to say that it has no room, and to have a snapshot when it has. */
const ROOM_MS = 180_000;

/** Times that links are changed which an older copy of NATS lacks. */
const LOST_CHANGES = 10;

/** Room on a small disk beyond what two links stores take: their logs and reserves. */
const SMALL_DISK_MIB = 384;

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
    inject: ({ stack }) => killNats(stack, () => damage(middleBlock(stack, LINK_LOG_STREAM))),
  },
  {
    name: "the stream is deleted",
    mayBeUnavailable: false,
    async inject({ stack, links }) {
      await onStreams(stack, (manager) => manager.streams.delete(LINK_LOG_STREAM));
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
      // The tail goes on meanwhile, past what the host knows.
      await Bun.sleep(FILLED_MS);
      await hosts.links.change();
      await hosts.restartOther();
    },
  },
  {
    name: "a links store is deleted",
    mayBeUnavailable: true,
    async inject({ otherLinks, links }) {
      empty(otherLinks);
      await links.change();
    },
  },
  {
    name: "a links store is deleted while the snapshots in NATS are damaged",
    mayBeUnavailable: true,
    async inject({ stack, otherLinks, links }) {
      await killNats(stack, () => damage(middleBlock(stack, SNAPSHOTS_STREAM)));
      empty(otherLinks);
      await links.change();
    },
  },
  {
    name: "a links store is damaged",
    mayBeUnavailable: true,
    async inject({ otherLinks, links }) {
      damage(storePath(presentFolder(otherLinks)));
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
      await onStreams(stack, (manager) => manager.streams.delete(LINK_LOG_STREAM));
      await links.change();
      await links.delete();
      await restartOther();
    },
  },
  {
    name: "a host without links takes a snapshot while links change",
    mayBeUnavailable: false,
    async inject({ stack, links }) {
      await links.delete();
      const LINKS_DIR = mkdtempSync(join(stack.dataDir, "links-"));
      const starting = startRedirector(stack, { LINKS_DIR });
      for (let i = 0; i < 10; i++) await links.change();
      const third = await starting;
      await links.waitUntilRight(third.url);
      await third.stop();
    },
  },
  {
    name: "the disk of a links store is full",
    mayBeUnavailable: false,
    inject: (hosts) =>
      onSmallDisk(hosts, async (third, fill) => {
        fill();
        for (let i = 0; i < 10; i++) await hosts.links.change();
        await hosts.links.waitUntilRight(third.url);
      }),
  },
  {
    name: "a host has no room for a snapshot beside its links store",
    mayBeUnavailable: false,
    inject: (hosts) =>
      onSmallDisk(hosts, async (third, fill) => {
        const free = fill();
        await admin(hosts.stack, ["links", "resync"]);
        // Meanwhile changes are written to the store that it has.
        await hosts.links.change();
        await hosts.links.waitUntilRight(third.url);
        const expectWarning = (expected: RegExp) =>
          eventually(async () => {
            const { links_feed = "" } = await readWarnings(third.metricsUrl);
            if (!expected.test(links_feed)) throw new Error(`It says: ${links_feed}`);
          }, ROOM_MS);
        await expectWarning(/room/);
        free();
        await expectWarning(/^$/);
        await hosts.links.waitUntilRight(third.url);
      }),
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

/** Starts a host on a disk with room for its links and a snapshot; `fill` takes what is left. */
async function onSmallDisk(
  { stack, otherLinks }: Hosts,
  work: (third: ExtraProcess, fill: () => () => void) => Promise<void>,
): Promise<void> {
  const disk = mkdtempSync(join(stack.dataDir, "disk-"));
  const { size } = statSync(storePath(presentFolder(otherLinks)));
  if (!mountDisk(disk, `${Math.ceil((2 * size) / 2 ** 20) + SMALL_DISK_MIB}m`))
    throw new Error("No small disk can be mounted here.");
  const filler = join(disk, "other");
  try {
    const LINKS_DIR = join(disk, "links");
    mkdirSync(LINKS_DIR);
    const third = await startRedirector(stack, { LINKS_DIR });
    await work(third, () => {
      Bun.spawnSync(["dd", "if=/dev/zero", `of=${filler}`, "bs=64k"]);
      return () => rmSync(filler);
    });
    await third.stop();
  } finally {
    unmountDisk(disk);
  }
}

function empty(dir: string): void {
  for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true });
}

const natsStore = (stack: Stack): string => join(stack.dataDir, "nats", "store");

/** The block of a stream with half of the others before it. */
function middleBlock(stack: Stack, stream: string): string {
  const dir = join(natsStore(stack), "jetstream/$G/streams", stream, "msgs");
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

async function onStreams(
  stack: Stack,
  work: (manager: JetStreamManager) => Promise<unknown>,
): Promise<void> {
  const connection = await connect(natsLogin(stack.info().nats_url));
  await work(await connection.jetstreamManager());
  await connection.close();
}
