/** Reports the used clicks of leases in time, and returns the rest. */
import type { Continuity } from "./continuity.ts";
import type { Holdings } from "./holdings.ts";
import type { LedgerChanges } from "./ledger-changes.ts";

/** Interval at which leases are checked. */
const SWEEP_MS = 50;

/** Maximum concurrent reports. */
const REPORTS_MAX = 64;

type ReportsDeps = {
  holdings: Pick<Holdings, "open">;
  changes: Pick<LedgerChanges, "report">;
  continuity: Pick<Continuity, "isReady">;
  clock: () => number;
};

/** Starts reporting; without NATS, leases stay as they are. */
export function startReports({ holdings, changes, continuity, clock }: ReportsDeps) {
  const { open } = holdings;
  let reporting = 0;

  function sweep(now: number): void {
    if (!continuity.isReady()) return;
    for (const holding of open) {
      if (reporting >= REPORTS_MAX) return;
      if (holding.changing !== undefined || holding.reportAt > now) continue;
      reporting++;
      void changes.report(holding).finally(() => reporting--);
    }
  }

  const timer = setInterval(() => sweep(clock()), SWEEP_MS);
  return {
    /** Reports used clicks and returns all leases, for at most `withinMs`. */
    async stop(withinMs: number): Promise<void> {
      clearInterval(timer);
      const deadline = clock() + withinMs;
      while (open.size > 0 && continuity.isReady() && clock() < deadline) {
        sweep(Infinity);
        await Bun.sleep(SWEEP_MS / 5);
      }
    },
  };
}
