/** An upgrade from the program that inserted each segment by itself, with clicks in flight. */
import { eventually } from "../../harness/eventually.ts";
import { startLossyClickHouse } from "../../harness/lossy-clickhouse.ts";
import { startWorker } from "../../harness/processes.ts";
import { pidOf } from "../../harness/services.ts";
import { countWaiting } from "../checks/stream.ts";
import type { Traffic } from "../loads/traffic.ts";
import type { Fault } from "../parts.ts";
import type { UpgradedStack } from "../topologies/upgraded-stack.ts";
import { breakInserts, mendInserts } from "./batches.ts";

/** Segments that wait in the stream when the new program starts. */
const WAITING_MIN = 20;

const TIMEOUT_MS = 30_000;

/** The old program's insert of a segment. */
const OLD_INSERT = /^INSERT INTO clicks /;

export const UPGRADES: readonly Fault<UpgradedStack, Traffic>[] = [
  {
    name: "upgrade",
    async inject({ topology, load, settings }) {
      await killOldWorkers(topology);
      await eventually(async () => {
        const waiting = await countWaiting(topology);
        if (waiting < WAITING_MIN) throw new Error(`${waiting} segments wait.`);
      }, TIMEOUT_MS);
      settings.log(`${load.redirects.sent} requests to the old program`);
      await load.redirects.whileRestarting(() => topology.upgrade());
    },
  },
];

/**
 * Ends the old program's workers with one segment that is stored and not acknowledged, one whose
 * insert never arrived, and one that is in `clicks`, but not in the rollups.
 */
async function killOldWorkers(topology: UpgradedStack): Promise<void> {
  const { stack } = topology;
  const lossy = startLossyClickHouse(topology.clickhouseUrl);
  try {
    const worker = await startWorker(stack, { CLICKHOUSE_URL: lossy.url });
    // It stays asleep until it is killed with the stack.
    process.kill(pidOf(stack, "worker"), "SIGSTOP");
    const stored = lossy.hold(OLD_INSERT, "after");
    await stored.reached;
    const lost = lossy.hold(OLD_INSERT, "before");
    await lost.reached;
    await breakInserts(topology);
    const half = lossy.hold(OLD_INSERT, "after");
    await half.reached;
    process.kill(worker.pid, "SIGKILL");
    for (const hold of [stored, lost, half]) hold.drop();
    await mendInserts(topology);
  } finally {
    await lossy.stop();
  }
}
