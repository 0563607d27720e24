/**
 * The consistency check: once an hour, and when an operator requests a repair, the owner of the
 * clicks compares rollups with their clicks. Clicks are stored meanwhile, so each difference is
 * only suspected; it is compared again between two inserts, and then rebuilt (batches/repair.ts).
 */
import {
  readRequests,
  type RepairRequest,
  reportRepair,
} from "../shared/clicks/repair-requests.ts";
import { type ClickHouse, findDifferences } from "../shared/clicks/rollups.ts";
import { rememberRetention } from "../shared/clicks/whole-clicks.ts";
import { HOUR_MS, HOUR_SECONDS } from "../shared/durations.ts";
import type { Log } from "../shared/log.ts";
import type { Repairs } from "./batches/repair.ts";

const INTERVAL_MS = HOUR_MS;

/** Time between two reads of the requests for repairs. */
const REQUESTS_INTERVAL_MS = 5_000;

/** How far back each run compares: a day, and another day in case no worker ran. */
const CHECKED_HOURS = 48;

/** Youngest clicks that are compared: younger ones may not be stored yet. */
const CLICK_AGE_SECONDS_MIN = HOUR_SECONDS;

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
  /** Requests that this worker has started, as the owner with this epoch. */
  const started = new Set<string>();
  let epoch: number | undefined;

  async function check(): Promise<void> {
    await rememberRetention(clickhouse);
    const to = Math.floor(Date.now() / 1_000) - CLICK_AGE_SECONDS_MIN;
    const from = to - CHECKED_HOURS * HOUR_SECONDS;
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

  /** Queues work, which is skipped if this worker is not the owner when its turn comes. */
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
