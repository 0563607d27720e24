/**
 * The consistency check: once an hour, and when an operator asks for a repair, the owner of the clicks compares rollups
 * with their clicks. That runs while clicks are stored, so what it finds is only suspected; between two inserts it is
 * compared again, and rebuilt (batches/repair.ts).
 */
import {
  readRequests,
  type RepairRequest,
  reportRepair,
} from "../shared/clicks/repair-requests.ts";
import { type ClickHouse, findDifferences } from "../shared/clicks/rollups.ts";
import { rememberRetention } from "../shared/clicks/whole-clicks.ts";
import type { Log } from "../shared/log.ts";
import type { Repairs } from "./batches/repair.ts";

const INTERVAL_MS = 3_600_000;

/** How often the owner looks whether a repair is asked for. */
const REQUESTS_INTERVAL_MS = 5_000;

/** How far back each run looks: a day, and as much again in case no worker ran. */
const CHECKED_HOURS = 48;

/** Age from which clicks are compared: younger ones can still be on their way. */
const CLICK_AGE_SECONDS_MIN = 3_600;

export type ConsistencyCheck = {
  /** Buckets found to differ since the process started. */
  differences(): number;
  stop(): Promise<void>;
};

type ConsistencyCheckDeps = {
  clickhouse: ClickHouse;
  log: Log;
  repairs: Pick<Repairs, "suspect">;
  /** The epoch of this worker if it is the owner of the clicks; the others check nothing. */
  ownerEpoch: () => number | undefined;
  /** Time between two checks. */
  intervalMs?: number;
};

export function startConsistencyCheck({
  clickhouse,
  log,
  repairs,
  ownerEpoch,
  intervalMs = INTERVAL_MS,
}: ConsistencyCheckDeps): ConsistencyCheck {
  let differencesFound = 0;
  let running = Promise.resolve();
  /** Requests that this worker works on, as the owner with this epoch. */
  const started = new Set<string>();
  let epoch: number | undefined;

  async function check(): Promise<void> {
    await rememberRetention(clickhouse);
    const to = Math.floor(Date.now() / 1_000) - CLICK_AGE_SECONDS_MIN;
    const from = to - CHECKED_HOURS * 3_600;
    const suspected = await findDifferences(clickhouse, { from, to });
    if (suspected.length === 0) return;
    repairs.suspect(suspected, ({ length }) => {
      differencesFound += length;
      if (length > 0) log.error({ differences: length }, "rollups_differ");
    });
  }

  async function startRequests(): Promise<void> {
    if (epoch !== ownerEpoch()) started.clear();
    epoch = ownerEpoch();
    for (const request of await readRequests(clickhouse)) {
      if (started.has(request.id)) continue;
      await startRequest(request);
      started.add(request.id);
    }
  }

  async function startRequest(request: RepairRequest): Promise<void> {
    await reportRepair(clickhouse, request, { state: "started" });
    log.info({ id: request.id, ...request.range }, "rollup_repair_started");
    const suspected = await findDifferences(clickhouse, request.range);
    repairs.suspect(suspected, ({ length: rebuilt }) => {
      log.info({ id: request.id, rebuilt }, "rollup_repair_done");
      reportRepair(clickhouse, request, { state: "done", rebuilt }).catch((error: unknown) =>
        log.warn({ error }, "rollup_repair_not_reported"),
      );
    });
  }

  /** Does it after what is being done, if this worker is the owner then. */
  const enqueue = (work: () => Promise<void>) => (): void => {
    running = running
      .then(() => (ownerEpoch() === undefined ? undefined : work()))
      .catch((error: unknown) => log.warn({ error }, "consistency_check_failed"));
  };
  const timers = [
    setInterval(enqueue(check), intervalMs),
    setInterval(enqueue(startRequests), REQUESTS_INTERVAL_MS),
  ];
  return {
    differences: () => differencesFound,
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await running;
    },
  };
}
