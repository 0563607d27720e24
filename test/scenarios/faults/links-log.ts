/**
 * Whatever of the links log's way comes back older than it was, empty or damaged, stops or dies:
 * NATS, PostgreSQL, both, a host, an API process. What one of them alone does is a drill
 * (test/scenarios/faults/drills), unless changes are many or something else happens meanwhile.
 */
import { closeSync, fstatSync, mkdirSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

import { lockSnapshot } from "../../../api/links-snapshots/snapshot-maker.ts";
import { presentFolder, storePath } from "../../../redirector/links/store-files.ts";
import { SNAPSHOTS_STREAM } from "../../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../../../shared/links-log/tail.ts";
import { admin } from "../../harness/admin.ts";
import { mountDisk, unmountDisk } from "../../harness/disks.ts";
import { eventually } from "../../harness/eventually.ts";
import { type ExtraProcess, startApi } from "../../harness/processes.ts";
import { pidOf, readWarnings } from "../../harness/services.ts";
import { replaceHost, TcpProxy } from "../../harness/tcp-proxy.ts";
import type { HostTraffic } from "../loads/host-traffic.ts";
import type { Fault, RunSettings } from "../parts.ts";
import { canSetClocks, clockEnvironment, setClocks } from "../topologies/clocks.ts";
import {
  copyStore,
  emptyFolder,
  stopStores,
  storeDir,
  streamBlocks,
} from "../topologies/stores.ts";
import { withJetStream } from "../topologies/topology.ts";
import type { TwoHosts } from "../topologies/two-hosts.ts";

const MINUTE_MS = 60_000;

/** What is lost of a store that comes back older: changes of so long. */
const lostMsOf = ({ long }: RunSettings): number => (long ? MINUTE_MS : 8_000);

/** Latest time until processes say what is wrong, or a store responds. */
const SAID_MS = 30_000;

/** How long a host may take to have a snapshot when there is room for it. */
const ROOM_MS = 180_000;

/** Longer than a poll of an API process: after it, each of them waits to number. */
const POLLED_MS = 1_500;

/** How often answers of NATS are lost, and for how long: longer than a request waits for one. */
const LOSSES = 5;
const LOST_ANSWERS_MS = 1_500;

const QUIET_DAYS = 3;
const DAY_SECONDS = 86_400;

/** Room on a small disk beyond what two links stores take: their logs and reserves. */
const SMALL_DISK_MIB = 384;

type StoreName = "postgres" | "nats";

type Return = {
  /** The stores that come back older, those that are named first by more. */
  older: readonly StoreName[];
  /** Changes of so long are lost. */
  lostMs?: number;
  /** NATS comes back empty. */
  empty?: boolean;
  /** The API process stands still meanwhile, and until it is told to go on. */
  paused?: (resume: () => void) => Promise<void>;
};

/** Stores come back. Hosts have seen what is lost, but perhaps the last of it. */
async function comeBack(
  hosts: TwoHosts,
  settings: RunSettings,
  { older, lostMs = lostMsOf(settings), empty = false, paused }: Return,
): Promise<void> {
  const { followed, stack } = hosts;
  await hosts.spaceReturns();
  const copies: (() => void)[] = [];
  let goBack: (() => void) | undefined;
  for (const name of older) {
    await followed.without(async () => {
      copies.push(await copyStore(hosts, name));
      if (name === "postgres") goBack = followed.remember();
    });
    await Bun.sleep(lostMs);
  }
  await followed.delete();
  const api = pidOf(stack, "api");
  await followed.without(async () => {
    if (paused !== undefined) process.kill(api, "SIGSTOP");
    await stopStores(hosts, empty ? [...older, "nats"] : older, () => {
      goBack?.();
      for (const putBack of copies) putBack();
      if (empty) rmSync(storeDir(hosts, "nats"), { recursive: true });
    });
    await paused?.(() => process.kill(api, "SIGCONT"));
  });
  await hosts.rest();
}

/**
 * Has the stack's API process stop after it has numbered changes, and before it publishes them:
 * PostgreSQL makes it wait, and goes on when the process has stopped.
 */
async function stopPublisher(
  { sql, stack }: TwoHosts,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const pid = pidOf(stack, "api");
  await sql.begin(async (lock) => {
    await lock`select from link_log_head for update`;
    await Bun.sleep(POLLED_MS);
    process.kill(pid, "SIGSTOP");
  });
  try {
    await meanwhile();
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

/** Has an API process that publishes alone hear nothing of NATS, and lose its connection then. */
async function loseAnswers(hosts: TwoHosts): Promise<void> {
  const { followed, stack } = hosts;
  const { nats_url } = stack.info();
  const proxy = new TcpProxy(Number(new URL(nats_url).port));
  const NATS_URL = replaceHost(nats_url, "127.0.0.1", proxy.port);
  const second = await startApi(stack, { NATS_URL });
  const first = pidOf(stack, "api");
  process.kill(first, "SIGSTOP");
  followed.useApi(second);
  try {
    for (let round = 0; round < LOSSES; round++) {
      await hosts.rest();
      proxy.loseAnswers();
      await Bun.sleep(LOST_ANSWERS_MS);
      proxy.cut();
      proxy.mend();
    }
    await hosts.rest();
  } finally {
    process.kill(first, "SIGCONT");
    followed.useApi();
    await second.stop();
    proxy.stop();
  }
}

/**
 * Starts hosts without links while nobody can publish or make a snapshot: on one everything in NATS
 * is some days old.
 */
async function startWithNothing(hosts: TwoHosts): Promise<void> {
  const { dir, followed, settings } = hosts;
  await followed.waitUntilRight(hosts.hosts, settings.rightMs);
  const expectTargets = await followed.readTargets();
  await stopStores(hosts, ["postgres", "api"], async () => {
    for (const days of canSetClocks() ? [0, QUIET_DAYS] : [0]) {
      setClocks(dir, ["redirector"], days * DAY_SECONDS);
      const third = await hosts.startThird(days > 0 ? clockEnvironment(dir, "redirector") : {});
      await expectTargets(third.url, settings.rightMs);
      await third.stop();
    }
    setClocks(dir, ["redirector"], 0);
  });
}

/** While `work` runs, no snapshot is made: who needs one has to wait. */
async function withoutSnapshots({ sql }: TwoHosts, work: () => Promise<void>): Promise<void> {
  // It may just be starting.
  await eventually(async () => void (await sql`select 1`), SAID_MS);
  await sql.begin(async (lock) => {
    await eventually(async () => {
      if (!(await lockSnapshot(lock))) throw new Error("A snapshot is being made.");
    }, SAID_MS);
    await work();
  });
}

const expectIncomplete = (hosts: TwoHosts): Promise<void> =>
  eventually(async () => {
    for (const { name, metricsUrl } of hosts.hosts())
      if (!/link/.test(Object.keys(await readWarnings(metricsUrl)).join()))
        throw new Error(`${name} does not say that it lacks links.`);
  }, SAID_MS);

/** The block of a stream with half of the others before it. */
function middleBlock(hosts: TwoHosts, stream: string): string {
  const blocks = streamBlocks(hosts, stream);
  const middle = blocks[Math.floor(blocks.length / 2)];
  if (middle === undefined) throw new Error("The stream has no block.");
  return middle;
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

/** Starts a host on a disk with room for its links and a snapshot; `fill` takes what is left. */
async function onSmallDisk(
  hosts: TwoHosts,
  work: (third: ExtraProcess, fill: () => () => void) => Promise<void>,
): Promise<void> {
  const disk = join(hosts.dir, "small-disk");
  mkdirSync(disk);
  const { size } = statSync(storePath(presentFolder(hosts.otherLinks)));
  if (!mountDisk(disk, `${Math.ceil((2 * size) / 2 ** 20) + SMALL_DISK_MIB}m`))
    throw new Error("No small disk can be mounted here.");
  const filler = join(disk, "other");
  try {
    const LINKS_DIR = join(disk, "links");
    mkdirSync(LINKS_DIR);
    const third = await hosts.startThird({ LINKS_DIR });
    await work(third, () => {
      Bun.spawnSync(["dd", "if=/dev/zero", `of=${filler}`, "bs=64k"]);
      return () => rmSync(filler);
    });
    await third.stop();
  } finally {
    unmountDisk(disk);
    rmSync(disk, { recursive: true });
  }
}

type HostFault = Fault<TwoHosts, HostTraffic>;

const fault = (name: string, inject: HostFault["inject"]): HostFault => ({ name, inject });

/** Stores that come back older than they were. */
const olderStores = (name: string, back: Return): HostFault =>
  fault(name, ({ topology, settings }) => comeBack(topology, settings, back));

/** What hosts lack, and what comes back older. */
const OLDER: readonly HostFault[] = [
  olderStores("NATS comes back a minute older beside changes", { older: ["nats"] }),
  fault(
    "NATS comes back a minute older beside 500 changes a second",
    async ({ topology, settings }) => {
      const perSecond = await topology.followed.changeFast(() =>
        comeBack(topology, settings, { older: ["nats"], lostMs: MINUTE_MS }),
      );
      settings.log(`${perSecond} changes a second`);
    },
  ),
  olderStores("PostgreSQL comes back older beside the NATS of later", { older: ["postgres"] }),
  fault("the tail and the snapshots are deleted", ({ topology }) =>
    withJetStream(topology.connectNats(), async ({ streams }) => {
      for (const name of [LINK_LOG_STREAM, SNAPSHOTS_STREAM]) await streams.delete(name);
    }),
  ),
  olderStores("PostgreSQL comes back older beside an empty NATS", {
    older: ["postgres"],
    empty: true,
  }),
  olderStores("both come back older, PostgreSQL by more", { older: ["postgres", "nats"] }),
  olderStores("both come back older, NATS by more", { older: ["nats", "postgres"] }),
  fault("a takedown, while every host waits for a snapshot", ({ topology, settings }) =>
    comeBack(topology, settings, {
      older: ["postgres"],
      paused: (resume) => withoutSnapshots(topology, () => takeDown(topology, resume)),
    }),
  ),
];

/** Takes links down on hosts that lack entries, and cannot have a snapshot. */
async function takeDown(hosts: TwoHosts, resume: () => void): Promise<void> {
  // Those that are stored are of no use any more.
  await withJetStream(hosts.connectNats(), ({ streams }) => streams.purge(SNAPSHOTS_STREAM));
  resume();
  await hosts.followed.expectTakedown(hosts.hosts, () => expectIncomplete(hosts));
}

/** Hosts and publishers that stop. */
const STOPPED: readonly HostFault[] = [
  fault("a host is killed while links change", ({ topology }) =>
    topology.stopOther(() => topology.rest()),
  ),
  fault(
    "a publisher stops for a minute between numbering and publishing, while others publish",
    async ({ topology }) => {
      const { followed, hosts, settings } = topology;
      const second = await startApi(topology.stack);
      await stopPublisher(topology, async () => {
        followed.useApi(second);
        await Promise.all([followed.waitUntilRight(hosts, settings.rightMs), Bun.sleep(MINUTE_MS)]);
        followed.useApi();
      });
      await topology.rest();
      await second.stop();
    },
  ),
  fault("acknowledgements of what NATS has stored are lost", ({ topology }) =>
    loseAnswers(topology),
  ),
  fault(
    "a host starts with nothing while PostgreSQL and the API are down, also after quiet days",
    ({ topology }) => topology.followed.without(() => startWithNothing(topology)),
  ),
  fault(
    "a host is away while NATS comes back a minute older, and is filled past what it knows",
    ({ topology, settings }) =>
      topology.stopOther(async () => {
        await comeBack(topology, settings, { older: ["nats"] });
        await Bun.sleep(lostMsOf(settings));
      }),
  ),
  fault(
    "of two redirectors that share a store one is killed, whichever of them writes it",
    async ({ topology }) => {
      const LINKS_DIR = join(topology.dir, "shared-links");
      mkdirSync(LINKS_DIR);
      const start = () => topology.startThird({ LINKS_DIR });
      let [killed, survivor] = [await start(), await start()];
      for (let round = 0; round < 2; round++) {
        process.kill(killed.pid, "SIGKILL");
        await topology.rest();
        await topology.expectRight(survivor);
        // The other way round: the one that is killed next has written since.
        [killed, survivor] = [survivor, await start()];
      }
      await Promise.all([killed.stop(), survivor.stop()]);
      rmSync(LINKS_DIR, { recursive: true });
    },
  ),
];

/** What is damaged or has no room; a full disk is in test/scenarios/links-disk.test.ts. */
const DAMAGED: readonly HostFault[] = [
  fault("a block of NATS is damaged", ({ topology }) =>
    stopStores(topology, ["nats"], () => damage(middleBlock(topology, LINK_LOG_STREAM))),
  ),
  fault(
    "a links store is deleted while the snapshots in NATS are damaged",
    async ({ topology }) => {
      await stopStores(topology, ["nats"], () => damage(middleBlock(topology, SNAPSHOTS_STREAM)));
      emptyFolder(topology.otherLinks);
      await topology.rest();
    },
  ),
  fault("a host without links takes a snapshot while links change", async ({ topology }) => {
    await topology.followed.delete();
    const third = await topology.startThird();
    await topology.expectRight(third);
    await third.stop();
  }),
  fault("a host has no room for a snapshot beside its links store", ({ topology }) =>
    onSmallDisk(topology, async (third, fill) => {
      const free = fill();
      await admin(topology.stack, ["links", "resync"]);
      // Meanwhile changes are written to the store that it has.
      await expectWarning(third, /room/);
      free();
      await expectWarning(third, /^$/);
      await topology.expectRight(third);
    }),
  ),
];

const expectWarning = (third: ExtraProcess, expected: RegExp): Promise<void> =>
  eventually(async () => {
    const { links_feed = "" } = await readWarnings(third.metricsUrl);
    if (!expected.test(links_feed)) throw new Error(`It says: ${links_feed}`);
  }, ROOM_MS);

export const LINKS_LOG_FAULTS: readonly HostFault[] = [
  ...OLDER,
  ...STOPPED,
  ...DAMAGED.map((fault) => ({
    ...fault,
    isOnlyForChanges: true,
    exercises: ["redirector/links/", "shared/links-store/", "api/links-snapshots/"],
  })),
];
