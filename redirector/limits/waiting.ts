/** Requests that wait for the ledger of a limit, within a bound. */
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import type { Continuity } from "./continuity.ts";
import { type Holding, type Holdings, isInHand, refusalOf, type Taken } from "./holdings.ts";
import type { LedgerChanges } from "./ledger-changes.ts";

/** How long a request waits for a click. */
const WAIT_MS = 2_000;

/** Requests that wait: each holds a copy of its head, of 16 KiB at most. */
const WAITING_MAX = 2_000;

/** How often a request looks whether clicks may be leased. */
const POLL_MS = 50;

type WaitingDeps = {
  holdings: Pick<Holdings, "use">;
  changes: Pick<LedgerChanges, "acquire" | "readSpent">;
  continuity: Pick<Continuity, "isReady" | "isOpen">;
  clock: () => number;
};

export function createWaiting({ holdings, changes, continuity, clock }: WaitingDeps) {
  let waiting = 0;

  async function waitForClick(holding: Holding, limit: ClickLimit): Promise<Taken> {
    const deadline = clock() + WAIT_MS;
    holding.waiting++;
    waiting++;
    try {
      while (clock() < deadline) {
        if (isInHand(holding)) return holdings.use(holding);
        const refused = refusalOf(holding, limit, clock);
        if (refused !== undefined) return refused;
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
    takeClick: (holding: Holding, limit: ClickLimit): Taken | Promise<Taken> =>
      waiting >= WAITING_MAX ? "busy" : waitForClick(holding, limit),
    /** Reads whether a limit is spent; false when too many requests wait, or that cannot be known. */
    readSpent(holding: Holding, limit: ClickLimit): boolean | Promise<boolean> {
      if (waiting >= WAITING_MAX || !continuity.isReady()) return false;
      waiting++;
      holding.looking ??= changes
        .readSpent(holding, limit)
        .finally(() => (holding.looking = undefined));
      return holding.looking.finally(() => waiting--);
    },
  };
}
