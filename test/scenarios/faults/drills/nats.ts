/** NATS: the links log is published again by the API, clicks by the redirectors. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { CLICKS_STREAM } from "../../../../shared/contracts/streams.ts";
import { LINK_LOG_STREAM } from "../../../../shared/links-log/tail.ts";
import { flipBit } from "../../../harness/flip-bit.ts";
import { copyAside, stopStores, storeDir } from "../../topologies/stores.ts";
import { withJetStream } from "../../topologies/topology.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drill } from "./drill.ts";
import { breakDisk, fillDisk } from "./store-disks.ts";

/** Longer than a redirector retains what JetStream has acknowledged (150 s). */
const AWAY_MS = 160_000;

/**
 * Longer than API processes take to read back what NATS accepts (10 s), and by far less than
 * redirectors retain it.
 */
const NOTICED_MS = 25_000;

const NAMED = /NATS|nats|links_feed|clicks|outbox|stream|disk/;

export const NATS_DRILLS: readonly Drill[] = [
  {
    subject: "NATS",
    condition: "older copy",
    promise:
      "Nobody has to do anything: the API publishes the links log again, redirectors the clicks of the last 150 s.",
    async inject(system) {
      let putBack: (() => void) | undefined;
      // So that the copy has clicks and changes.
      await system.rest();
      await stopStores(system, ["nats"], () => {
        putBack = copyAside(storeDir(system, "nats"), join(system.dir, "nats-copy"));
      });
      await system.rest();
      await system.followed.delete();
      await stopStores(system, ["nats"], () => putBack?.());
      await system.hold();
    },
  },
  {
    subject: "NATS",
    condition: "empty",
    promise: "As from an older copy.",
    async inject(system) {
      await emptyNats(system);
      await system.hold();
    },
  },
  {
    subject: "NATS",
    condition: "disk full",
    promise:
      "Redirects go on, clicks wait in journals, changes in the outbox. When there is room, NATS has to be started again.",
    named: NAMED,
    inject: fillDisk("nats", {
      // A server of 2.9 does not respond any more then, also not to SIGTERM.
      end: (system) => stopStores(system, ["nats"], () => undefined),
    }),
  },
  {
    subject: "NATS",
    condition: "read-only",
    promise: "As a full disk; NATS is started again when the disk is mended.",
    named: NAMED,
    inject: breakDisk("nats"),
  },
  {
    subject: "NATS",
    condition: "one bit flipped",
    promise:
      "An alert and `doctor` say that NATS accepts messages and returns none. By their remedy within 150 s no click is lost, and the links log goes on.",
    named: /api: alert ShorthopStreamDamaged/,
    async inject(system) {
      await flipIn(system, [LINK_LOG_STREAM, CLICKS_STREAM]);
      await system.hold(NOTICED_MS);
      await deleteClicks(system);
      await stopStores(system, ["nats"], () => undefined);
      await system.rest();
    },
  },
  {
    subject: "NATS",
    condition: "away longer than every retention",
    promise:
      "Longer than redirectors retain what was acknowledged: redirects go on, clicks wait in journals, and none is lost.",
    named: /does not respond|links_feed|clicks|ShorthopFeedStale/,
    inject: (system) => stopStores(system, ["nats"], () => system.hold(AWAY_MS)),
  },
];

/** The remedy that `doctor` names. */
const deleteClicks = (system: TwoHosts): Promise<boolean> =>
  withJetStream(system.connectNats(), ({ streams }) => streams.delete(CLICKS_STREAM));

/** Flips a bit in the middle of the first block of streams. */
async function flipIn(system: TwoHosts, streams: readonly string[]): Promise<void> {
  await system.rest();
  await stopStores(system, ["nats"], () => {
    for (const stream of streams) {
      const dir = join(storeDir(system, "nats"), "jetstream/$G/streams", stream, "msgs");
      const block = readdirSync(dir).find((name) => name.endsWith(".blk"));
      if (block === undefined) throw new Error(`${stream} has no block.`);
      flipBit(join(dir, block));
    }
  });
  await system.hold();
}

/** Starts a NATS without any data. */
export const emptyNats = (system: TwoHosts): Promise<void> =>
  stopStores(system, ["nats"], () => rmSync(storeDir(system, "nats"), { recursive: true }));
