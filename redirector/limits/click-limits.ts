/**
 * Takes clicks of limited links: from this redirector's lease in memory, or from a new one of the limit's ledger. All
 * redirectors together never take more than the limit, whatever fails (docs/decisions/0021).
 *
 * A lease lives two seconds: then what was used is reported, and the rest is given back. Of one limit only one change
 * of the ledger is in progress at a time; meanwhile no lease is in hand, and requests wait for it.
 */
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import type { Log } from "../../shared/log.ts";
import type { Continuity } from "./continuity.ts";
import { createHoldings, isInHand, refusalOf, type Taken } from "./holdings.ts";
import { createLedgerChanges } from "./ledger-changes.ts";
import type { Ledgers } from "./ledgers.ts";
import { startReports } from "./reports.ts";
import type { UsesFile } from "./uses-file.ts";
import { createWaiting } from "./waiting.ts";

export type ClickLimits = {
  /** Takes a click: at once while there is a lease in hand. */
  take(limit: ClickLimit): Taken | Promise<Taken>;
  /** Whether the limit is known to be spent. */
  isSpent(limit: ClickLimit): boolean;
  /** Whether the limit is spent, for what takes no click: reads the ledger unless that was done lately. */
  look(limit: ClickLimit): boolean | Promise<boolean>;
  /** Reports what is used and gives back all leases, for `withinMs` at most. */
  stop(withinMs: number): Promise<void>;
  /** `known`: limits that were asked for, or used before. */
  stats(): { outcomes: Readonly<Record<Taken, number>>; open: number; known: number };
};

type ClickLimitsDeps = {
  ledgers: Pick<Ledgers, "read" | "replace">;
  file: Pick<UsesFile, "holder" | "loaded" | "write" | "size" | "compact">;
  continuity: Pick<Continuity, "isReady" | "isOpen" | "known" | "accepts">;
  log: Log;
  clock?: () => number;
};

/** Creates the limits. `restore` reports again what was used of every limit, after the stream was rolled back. */
export function createClickLimits({
  clock = () => performance.now(),
  ...given
}: ClickLimitsDeps): ClickLimits & { restore(): void } {
  const deps = { ...given, clock };
  const { continuity, file } = deps;
  const holdings = createHoldings(deps);
  const changes = createLedgerChanges({ ...deps, holdings, holder: file.holder });
  const reports = startReports({ holdings, changes, continuity, clock });
  const waiting = createWaiting({ holdings, changes, continuity, clock });
  const outcomes: Record<Taken, number> = { taken: 0, spent: 0, busy: 0 };

  function count(taken: Taken): Taken {
    outcomes[taken]++;
    return taken;
  }

  return {
    take(limit) {
      const holding = holdings.get(limit.id);
      if (isInHand(holding)) return count(holdings.use(holding));
      const taken = refusalOf(holding, limit, clock) ?? waiting.takeClick(holding, limit);
      return taken instanceof Promise ? taken.then(count) : count(taken);
    },
    isSpent(limit) {
      const holding = holdings.find(limit.id);
      return holding !== undefined && refusalOf(holding, limit, clock) === "spent";
    },
    look(limit) {
      const holding = holdings.get(limit.id);
      if (refusalOf(holding, limit, clock) === "spent") return true;
      if (holding.upTo > holding.used || clock() < holding.leftUntil) return false;
      return waiting.readSpent(holding, limit);
    },
    restore() {
      // The most recently used first: their ledgers are the likeliest to have been rolled back.
      for (const holding of holdings.all().toReversed()) {
        if (holding.used === 0) continue;
        holding.reportAt = 0;
        holdings.open.add(holding);
      }
    },
    stop: reports.stop,
    stats: () => ({ outcomes, open: holdings.open.size, known: holdings.size() }),
  };
}
