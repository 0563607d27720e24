/** Requests that wait for the ledger of a limit, within a bound. */
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import type { Continuity } from "./continuity.ts";
import {
  type ClickOutcome,
  hasLeasedClick,
  type Holding,
  type Holdings,
  recentRejection,
} from "./holdings.ts";
import type { LedgerChanges } from "./ledger-changes.ts";

/** Maximum wait of a request for a click. */
const WAIT_MS = 2_000;

/** Maximum waiting requests: each holds a copy of its head, of 16 KiB at most. */
const WAITING_MAX = 2_000;

/** Interval at which a waiting request checks whether clicks may be leased. */
const POLL_MS = 50;

type WaitingDeps = {
  holdings: Pick<Holdings, "use">;
  changes: Pick<LedgerChanges, "acquire" | "readExhausted">;
  continuity: Pick<Continuity, "isReady" | "isOpen">;
  clock: () => number;
};

export function createWaiting({ holdings, changes, continuity, clock }: WaitingDeps) {
  let waiting = 0;

  async function waitForClick(holding: Holding, limit: ClickLimit): Promise<ClickOutcome> {
    const deadline = clock() + WAIT_MS;
    holding.waiting++;
    waiting++;
    try {
      while (clock() < deadline) {
        if (hasLeasedClick(holding)) return holdings.use(holding);
        const rejection = recentRejection(holding, limit, clock);
        if (rejection !== undefined) return rejection;
        if (!continuity.isReady()) return "busy";
        if (continuity.isOpen()) await changes.acquire(holding, limit);
        else await Bun.sleep(POLL_MS);
      }
      return "busy";
    } finally {
      holding.waiting--;
      waiting--;
    }
  }

  return {
    /** Waits for a click of a limit; `busy` when too many requests wait. */
    takeClick: (holding: Holding, limit: ClickLimit): ClickOutcome | Promise<ClickOutcome> =>
      waiting >= WAITING_MAX ? "busy" : waitForClick(holding, limit),
    /**
     * Reads whether a limit is reached; false when too many requests wait, or when that is unknown.
     */
    readExhausted(holding: Holding, limit: ClickLimit): boolean | Promise<boolean> {
      if (waiting >= WAITING_MAX || !continuity.isReady()) return false;
      waiting++;
      holding.reading ??= changes
        .readExhausted(holding, limit)
        .finally(() => (holding.reading = undefined));
      return holding.reading.finally(() => waiting--);
    },
  };
}
