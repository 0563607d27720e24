/** The consistency check: once an hour, one worker compares rollups with their clicks and rebuilds what differs. */
import type postgres from "postgres";

import {
  type ClickHouse,
  findDifferences,
  linksOf,
  rebuildBuckets,
} from "../shared/clicks/rollups.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";
import { AnotherRepairError, takeRepairLock } from "./repair-lock.ts";

const INTERVAL_MS = 3_600_000;

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
  sql: postgres.Sql;
  clickhouse: ClickHouse;
  log: Log;
  /** Called with the links whose rollups were rebuilt: their figures have changed. */
  onRebuilt: (linkIds: Iterable<Uuid>) => void;
};

export function startConsistencyCheck({
  sql,
  clickhouse,
  log,
  onRebuilt,
}: ConsistencyCheckDeps): ConsistencyCheck {
  let differencesFound = 0;
  let running = Promise.resolve();

  async function check(): Promise<void> {
    const lock = await takeRepairLock(sql);
    try {
      const to = Math.floor(Date.now() / 1_000) - CLICK_AGE_SECONDS_MIN;
      const from = to - CHECKED_HOURS * 3_600;
      const differences = await findDifferences(clickhouse, { from, to });
      if (differences.length === 0) return;
      lock.confirm();
      differencesFound += differences.length;
      log.error({ differences: differences.length }, "rollups_differ");
      await rebuildBuckets(clickhouse, differences);
      onRebuilt(linksOf(differences));
    } finally {
      lock.release();
    }
  }

  const timer = setInterval(() => {
    running = running.then(check).catch((error: unknown) => {
      // One worker is enough.
      if (!(error instanceof AnotherRepairError)) log.warn({ error }, "consistency_check_failed");
    });
  }, INTERVAL_MS);
  return {
    differences: () => differencesFound,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
