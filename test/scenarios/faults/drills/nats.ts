/** NATS: the links log is published again by the API, clicks by the redirectors. */
import { rmSync } from "node:fs";

import { CLICKS_STREAM } from "../../../../shared/contracts/streams.ts";
import { SNAPSHOTS_STREAM } from "../../../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../../../../shared/links-log/tail.ts";
import { flipBit } from "../../../harness/flip-bit.ts";
import {
  copyStore,
  restartStores,
  stopStores,
  storeDir,
  streamBlocks,
} from "../../topologies/stores.ts";
import { withJetStream } from "../../topologies/topology.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drills } from "./drill.ts";
import { breakDisk, fillDisk } from "./store-disks.ts";

/** Longer than a redirector retains what JetStream has acknowledged (150 s). */
const AWAY_MS = 160_000;

/**
 * Longer than API processes take to read back what NATS accepts (10 s), and by far less than
 * redirectors retain it.
 */
const NOTICED_MS = 25_000;

const NAMED = /NATS|nats|links_feed|clicks|outbox|stream|disk/;

export const NATS_DRILLS = {
  "older copy": {
    promise:
      "Nobody has to do anything: the API publishes the links log again, redirectors the clicks of the last 150 s.",
    async inject(system) {
      // So that the copy has clicks and changes.
      await system.rest();
      const putBack = await copyStore(system, "nats");
      await system.rest();
      await system.followed.delete();
      await stopStores(system, ["nats"], putBack);
      await system.hold();
    },
  },
  empty: {
    promise: "As from an older copy.",
    async inject(system) {
      await emptyNats(system);
      await system.hold();
    },
  },
  "disk full": {
    promise:
      "Redirects go on, clicks wait in journals, changes in the outbox. When there is room, NATS has to be started again.",
    named: NAMED,
    // A server of 2.9 does not respond any more then, also not to SIGTERM.
    inject: fillDisk("nats", { end: (system) => restartStores(system, ["nats"]) }),
  },
  "read-only": {
    promise: "As a full disk; NATS is started again when the disk is mended.",
    named: NAMED,
    inject: breakDisk("nats"),
  },
  "one bit flipped": {
    promise:
      "An alert and `doctor` say that NATS accepts messages and returns none. By their remedy within 150 s no click is lost, and the links log goes on.",
    named: /api: alert ShorthopStreamDamaged/,
    async inject(system) {
      await flipIn(system, [LINK_LOG_STREAM, SNAPSHOTS_STREAM, CLICKS_STREAM]);
      await system.hold(NOTICED_MS);
      // A server of 2.9 may hang at such a stream, until it is started again.
      if (!(await deleteClicks(system))) await deleteClicks(system);
      await system.rest();
    },
  },
  "away longer than every retention": {
    promise:
      "Longer than redirectors retain what was acknowledged: redirects go on, clicks wait in journals, and none is lost.",
    named: /does not respond|links_feed|clicks|ShorthopFeedStale/,
    inject: (system) => stopStores(system, ["nats"], () => system.hold(AWAY_MS)),
  },
} satisfies Drills;

/** The remedy that `doctor` names; returns whether the server has carried it out. */
async function deleteClicks(system: TwoHosts): Promise<boolean> {
  const deleted = withJetStream(system.connectNats(), ({ streams }) =>
    streams.delete(CLICKS_STREAM),
  );
  const isDone = await deleted.catch(() => false);
  await restartStores(system, ["nats"]);
  return isDone;
}

/** Flips a bit in the middle of the first block of streams. */
async function flipIn(system: TwoHosts, streams: readonly string[]): Promise<void> {
  await system.rest();
  await stopStores(system, ["nats"], () => {
    for (const stream of streams) {
      const [block] = streamBlocks(system, stream);
      if (block === undefined) throw new Error(`${stream} has no block.`);
      flipBit(block);
    }
  });
  await system.hold();
}

/** Starts a NATS without any data. */
export const emptyNats = (system: TwoHosts): Promise<void> =>
  stopStores(system, ["nats"], () => rmSync(storeDir(system, "nats"), { recursive: true }));
