/** Once an hour, one worker compares the rollups with the clicks they are made from, and mends them. */
import type postgres from "postgres";

import { REPAIR_LOCK } from "../shared/clicks/lock.ts";
import { type ClickHouse, findDifferences, repair } from "../shared/clicks/rollups.ts";
import type { Log } from "../shared/log.ts";

const INTERVAL_MS = 3_600_000;

/** What is looked at: a day, and what a longer pause left. Younger clicks may still be on their way. */
const HOURS = 48;
const QUIET_SECONDS = 3_600;

export type Audit = {
  /** Buckets that were found to differ, since the start. */
  differences(): number;
  stop(): Promise<void>;
};

type AuditDeps = { sql: postgres.Sql; clickhouse: ClickHouse; log: Log };

export function startAudit({ sql, clickhouse, log }: AuditDeps): Audit {
  let found = 0;
  let running = Promise.resolve();

  async function audit(): Promise<void> {
    await sql.begin(async (locked) => {
      const [row] = await locked<[{ mine: boolean }]>`
        select pg_try_advisory_xact_lock(${REPAIR_LOCK}) as mine`;
      if (!row.mine) return;
      const to = Math.floor(Date.now() / 1_000) - QUIET_SECONDS;
      const differences = await findDifferences(clickhouse, { from: to - HOURS * 3_600, to });
      if (differences.length === 0) return;
      found += differences.length;
      log.error({ differences: differences.length }, "rollups_differ");
      await repair(clickhouse, differences);
    });
  }

  const timer = setInterval(() => {
    running = running.then(audit).catch((error: unknown) => log.warn({ error }, "audit_failed"));
  }, INTERVAL_MS);
  return {
    differences: () => found,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
