/** A redirector's host: its links store and its click journal. */
import { Database } from "bun:sqlite";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { readRedirectors } from "../../../../cli/machines/clicks.ts";
import { presentFolder, storePath } from "../../../../redirector/links/store-files.ts";
import { admin, runSql } from "../../../harness/admin.ts";
import { type Disk, moveToDisk } from "../../../harness/disks.ts";
import { eventually } from "../../../harness/eventually.ts";
import { flipBit, flipBitOf } from "../../../harness/flip-bit.ts";
import { copyAside, emptyFolder, stopStores } from "../../topologies/stores.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import { type Drills, RESTARTED } from "./drill.ts";
import { emptyNats } from "./nats.ts";

const CHECKPOINT_MS = 30_000;

/**
 * Longer than a host takes for each link to read its store, also where a busy machine lets it read
 * few in a turn (redirector/links/store.ts).
 */
const SCRUB_MS_PER_LINK = 60;

/** How long clicks gather in the journal before something happens to it. */
const GATHER_MS = 3_000;

/** The sealed segments of the other host that hold clicks, oldest first. */
const sealedSegments = ({ otherJournal }: TwoHosts): string[] =>
  readdirSync(otherJournal)
    .filter((name) => name.endsWith(".segment"))
    .map((name) => join(otherJournal, name))
    .filter((path) => statSync(path).size > 0)
    .toSorted();

/** Clicks that are in the files of the other host's journal, and not stored yet. */
async function countUnstored(system: TwoHosts): Promise<number> {
  const { stack, otherJournal } = system;
  const ids = await runSql(
    system.clickhouseUrl(),
    "SELECT concat(journal_id, '-', leftPad(toString(segment), 10, '0')) FROM clicks GROUP BY ALL",
  );
  const stored = new Set(ids.split("\n"));
  const segments = await admin<{ file: string; clicks: number }[]>(stack, [
    "journal",
    otherJournal,
  ]);
  return segments
    .filter(({ file }) => !stored.has(file.split(".")[0] ?? ""))
    .reduce((sum, { clicks }) => sum + clicks, 0);
}

/**
 * Has clicks wait in the other host's journal, kills it, does something to the journal, and starts
 * it again; returns what the work does.
 */
async function withWaiting<T>(system: TwoHosts, work: () => Promise<T> | T): Promise<T> {
  const result = await stopStores(system, ["nats"], async () => {
    await Bun.sleep(GATHER_MS);
    await system.killOther();
    return await work();
  });
  await system.restartOther();
  await system.hold();
  return result;
}

/**
 * Flips a bit of a link's destination in the other host's store, and waits until the host has found
 * that by itself.
 */
async function damageLink({ otherLinks, followed, settings }: TwoHosts): Promise<void> {
  const path = storePath(presentFolder(otherLinks));
  await eventually(async () => {
    using db = new Database(path);
    // Into the file, so that nothing newer hides it.
    const [result] = db.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").all();
    if (result?.busy !== 0) throw new Error("The store is in use.");
  }, CHECKPOINT_MS);
  flipBitOf(path, followed.destination);
  const links = settings.links.count + settings.links.others;
  await eventually(async () => {
    if (!existsSync(`${storePath(otherLinks)}.damaged`))
      throw new Error("The damaged store was not set aside.");
  }, links * SCRUB_MS_PER_LINK);
}

/** Has the other host use a disk of its own for both of its folders. */
async function giveDisk(system: TwoHosts): Promise<Disk> {
  const disk = await system.stopOther(() => moveToDisk(system.otherDir, system.onDispose));
  await system.rest();
  return disk;
}

const LOST =
  "Links that are in memory go on; others get 503 until the host has a snapshot, which it takes by itself.";

const JOURNAL_LOST =
  "Lost: clicks that JetStream had not acknowledged, and no others; none counts twice.";

export const LINKS_STORE_DRILLS = {
  "older copy": {
    promise: "The host goes on from there in the links log, before it uses the old copy.",
    ...RESTARTED,
    async inject(system) {
      const putBack = await system.stopOther(() =>
        copyAside(system.otherLinks, join(system.dir, "links-copy")),
      );
      await system.hold();
      await system.followed.delete();
      await system.stopOther(putBack);
      await system.rest();
    },
  },
  empty: {
    promise: LOST,
    ...RESTARTED,
    named: /other redirector: (links_feed|alert ShorthopFeedIncomplete|does not respond)/,
    async inject(system) {
      emptyFolder(system.otherLinks);
      await system.hold();
      await system.stopOther(() => emptyFolder(system.otherLinks));
      await system.hold();
    },
  },
  "disk full": {
    promise:
      "Links go on and are up to date while the reserve lasts; clicks are lost, and counted as dropped.",
    ...RESTARTED,
    named: /disk|ShorthopClicksDropped|links_store/,
    async inject(system) {
      const disk = await giveDisk(system);
      disk.fill();
      await system.hold();
      disk.free();
      await system.rest();
      return await countDropped(system);
    },
  },
  "read-only": {
    promise:
      "Links go on from what the host has, also when the redirector is started on that disk; clicks are lost, and counted as dropped, until the disk is mended.",
    ...RESTARTED,
    named: /disk|ShorthopClicksDropped|links_store|ShorthopFeedStale/,
    async inject(system) {
      const disk = await giveDisk(system);
      disk.breakWrites();
      await system.hold();
      const before = await countDropped(system);
      // As a supervisor would that finds it gone, or an operator who tries.
      await system.stopOther(() => undefined);
      await system.hold();
      const after = await countDropped(system);
      await system.stopOther(disk.mend);
      await system.rest();
      return before + after;
    },
  },
  "one bit flipped": {
    promise: LOST,
    ...RESTARTED,
    async inject(system) {
      // A page is whole again once it is written again, for another of its links.
      await system.followed.without(() => damageLink(system));
      await system.hold();
      await system.stopOther(() => undefined);
      await system.hold();
    },
  },
  "away longer than every retention": {
    promise:
      "A host that was away while the stream was made again without the entries that it lacks takes a snapshot, and has every change, also of links that are gone.",
    ...RESTARTED,
    async inject(system) {
      await system.stopOther(async () => {
        await system.hold(CONSUMER_MS);
        await emptyNats(system);
        await system.hold();
        await system.followed.delete();
        // What an hour does to what was acknowledged.
        await system.sql`delete from link_log where position < (select acknowledged_position from link_log_head)`;
        await emptyNats(system);
        await system.hold();
      });
      await system.hold();
    },
  },
} satisfies Drills;

export const JOURNAL_DRILLS = {
  "older copy": {
    promise: JOURNAL_LOST,
    ...RESTARTED,
    async inject(system) {
      const putBack = await withWaiting(system, () =>
        copyAside(system.otherJournal, join(system.dir, "journal-copy")),
      );
      return await withWaiting(system, async () => {
        const lost = await countUnstored(system);
        putBack();
        return lost;
      });
    },
  },
  empty: {
    promise: JOURNAL_LOST,
    ...RESTARTED,
    inject: (system) =>
      withWaiting(system, async () => {
        const lost = await countUnstored(system);
        emptyFolder(system.otherJournal);
        return lost;
      }),
  },
  "one bit flipped": {
    promise:
      "The click with that bit is lost, and counted as torn; all others of the segment are stored.",
    ...RESTARTED,
    named: /segments_torn/,
    async inject(system) {
      await withWaiting(system, () => {
        const last = sealedSegments(system).at(-1);
        if (last === undefined) throw new Error("No segment waits.");
        flipBit(last);
      });
      return 1;
    },
  },
} satisfies Drills;

/** Longer than the stream keeps the consumer of a host that is away. */
const CONSUMER_MS = 35_000;

/** Clicks that the other host has counted as lost. */
async function countDropped({ other }: TwoHosts): Promise<number> {
  const [stats] = await readRedirectors([other.metricsUrl]);
  return stats?.dropped ?? 0;
}
