/**
 * Consumes clicks of links with a click limit: from this redirector's lease in memory, or from a
 * new lease from the limit's ledger. All redirectors together never exceed the limit, whatever
 * fails (docs/decisions/0021).
 * A lease lasts two seconds. Then its used clicks are reported and the rest is returned. For each
 * limit only one change of the ledger is in progress at a time. Meanwhile there is no usable lease,
 * and requests wait for one.
 */
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import type { Log } from "../../shared/log.ts";
import type { Continuity } from "./continuity.ts";
import { type ClickOutcome, createHoldings, hasLeasedClick, recentRejection } from "./holdings.ts";
import { createLedgerChanges } from "./ledger-changes.ts";
import type { Ledgers } from "./ledgers.ts";
import { startReports } from "./reports.ts";
import type { UsesFile } from "./uses-file.ts";
import { createWaiting } from "./waiting.ts";

export type ClickLimits = {
  /** Consumes a click, synchronously while a lease has clicks left. */
  take(limit: ClickLimit): ClickOutcome | Promise<ClickOutcome>;
  /** Whether the limit is known to be reached. */
  isExhausted(limit: ClickLimit): boolean;
  /**
   * Whether the limit is reached, for requests that consume no click. Reads the ledger unless that
   * was done recently.
   */
  look(limit: ClickLimit): boolean | Promise<boolean>;
  /** Reports used clicks and returns all leases, for at most `withinMs`. */
  stop(withinMs: number): Promise<void>;
  /** `known`: limits that were requested, or used before. */
  stats(): { outcomes: Readonly<Record<ClickOutcome, number>>; open: number; known: number };
};

type ClickLimitsDeps = {
  ledgers: Pick<Ledgers, "read" | "replace">;
  file: Pick<UsesFile, "holder" | "loaded" | "write" | "size" | "compact">;
  continuity: Pick<Continuity, "isReady" | "isOpen" | "known" | "accepts">;
  log: Log;
  clock?: () => number;
};

/**
 * Creates the limits. `restore` reports the used clicks of every limit again, after the stream was
 * rolled back.
 */
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
  const outcomes: Record<ClickOutcome, number> = { taken: 0, spent: 0, busy: 0 };

  function count(taken: ClickOutcome): ClickOutcome {
    outcomes[taken]++;
    return taken;
  }

  return {
    take(limit) {
      const holding = holdings.get(limit.id);
      if (hasLeasedClick(holding)) return count(holdings.use(holding));
      const taken = recentRejection(holding, limit, clock) ?? waiting.takeClick(holding, limit);
      return taken instanceof Promise ? taken.then(count) : count(taken);
    },
    isExhausted(limit) {
      const holding = holdings.find(limit.id);
      return holding !== undefined && recentRejection(holding, limit, clock) === "spent";
    },
    look(limit) {
      const holding = holdings.get(limit.id);
      if (recentRejection(holding, limit, clock) === "spent") return true;
      if (holding.upTo > holding.used || clock() < holding.leftUntil) return false;
      return waiting.readExhausted(holding, limit);
    },
    restore() {
      // The most recently used first: their ledgers are the most likely to have been rolled back.
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
