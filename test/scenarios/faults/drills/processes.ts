/** Processes that are away for longer than anything waits for them. */
import { decodeSegment } from "../../../../shared/contracts/click-segment.ts";
import { CLICKS_STREAM, CLICKS_WORKER } from "../../../../shared/contracts/streams.ts";
import { runSql } from "../../../harness/admin.ts";
import { waitForOwner } from "../../../harness/services.ts";
import { restartStores } from "../../topologies/stores.ts";
import { withJetStream } from "../../topologies/topology.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Drills } from "./drill.ts";

/** Longer than entries of the log of batches live in ClickHouse. */
const BATCHES_DAYS = 31;

/** Longer than a heartbeat of the links log may be missing. */
const AWAY_MS = 45_000;

const TAKEOVER_MS = 20_000;

/**
 * What 72 hours do to the stream of clicks: all of it expires, or all of it that is stored. Returns
 * how many clicks were stored nowhere.
 */
export const expireStream = (system: TwoHosts, what: "all" | "stored"): Promise<number> =>
  withJetStream(system.connectNats(), async ({ streams, consumers }) => {
    const { state } = await streams.info(CLICKS_STREAM);
    const { ack_floor } = await consumers.info(CLICKS_STREAM, CLICKS_WORKER);
    const last = what === "all" ? state.last_seq : ack_floor.stream_seq;
    let unstored = 0;
    for (let seq = ack_floor.stream_seq + 1; seq <= last; seq++) {
      const { data } = await streams.getMessage(CLICKS_STREAM, { seq });
      unstored += decodeSegment(Buffer.from(data))?.clicks.length ?? 0;
    }
    // One after the other, as they expire: a purge does more to consumers (clicks-stream.ts).
    for (let { first_seq: seq } = state; seq <= last; seq++)
      await streams.deleteMessage(CLICKS_STREAM, seq);
    return unstored;
  });

/** What a month without workers does to the log of batches: ClickHouse deletes all of it. */
async function expireBatches(hosts: TwoHosts): Promise<void> {
  await runSql(
    hosts.clickhouseUrl(),
    `ALTER TABLE batches UPDATE at = at - INTERVAL ${BATCHES_DAYS} DAY WHERE 1 SETTINGS mutations_sync = 2`,
  );
  await runSql(hosts.clickhouseUrl(), "OPTIMIZE TABLE batches FINAL");
}

/**
 * What a month does to the log of a worker that runs: there is its daily checkpoint, which it also
 * writes when it takes over.
 */
async function expireManifests(system: TwoHosts): Promise<void> {
  await system.restartProcess("worker");
  await waitForOwner(() => system.stack.info().worker_metrics_url, TAKEOVER_MS);
  await runSql(
    system.clickhouseUrl(),
    `ALTER TABLE batches DELETE WHERE kind IN ('manifest', 'settled') SETTINGS mutations_sync = 2`,
  );
}

export const API_DRILLS = {
  "away longer than every retention": {
    promise: "Redirects and clicks go on; redirectors say that changes do not reach them.",
    named: /api: does not respond|ShorthopFeedStale/,
    inject: (system) => system.stopProcess("api", () => system.hold(AWAY_MS)),
  },
} satisfies Drills;

export const REDIRECTOR_DRILLS = {
  "away longer than every retention": {
    promise:
      "Clicks of its journal that were never delivered are stored, those that were count once, and it has all changes.",
    named: /other redirector: does not respond/,
    async inject(system) {
      await system.stopOther(async () => {
        await system.hold();
        await expireManifests(system);
        await system.followed.delete();
        await expireStream(system, "stored");
        // It forgets what it has seen.
        await restartStores(system, ["nats"]);
      });
      await system.rest();
    },
  },
} satisfies Drills;

export const WORKER_DRILLS = {
  "away longer than every retention": {
    promise:
      "Lost: clicks that have waited for 72 hours in `CLICKS`, and no others. An alert tells of the lag after a minute.",
    named: /ShorthopClicksLag|worker: does not respond/,
    async inject(system) {
      const lost = await system.stopProcess("worker", async () => {
        await system.hold();
        const expired = await expireStream(system, "all");
        await expireBatches(system);
        return expired;
      });
      await system.rest();
      return lost;
    },
  },
} satisfies Drills;
