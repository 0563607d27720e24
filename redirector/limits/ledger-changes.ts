/**
 * Changes the ledgers of limits: leases clicks and reports used ones. Each change is a
 * compare-and-set, repeated while other redirectors are faster. For each limit, one change is in
 * progress at a time.
 */
import type { ClickLimit, LeaseEntry, Ledger } from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Continuity } from "./continuity.ts";
import type { ClickOutcome, Holding, Holdings } from "./holdings.ts";
import { lease, type LeaseStep, settle, usedAtMost } from "./lease.ts";
import type { Ledgers } from "./ledgers.ts";

/** Lifetime of a lease: for this long, its unused clicks are unavailable to other redirectors. */
const LEASE_MS = 2_000;

/** How soon used clicks are reported again after a failed change. */
const RETRY_MS = 1_000;

/** Maximum attempts while other redirectors replace the same ledger. */
const RACES_MAX = 30;

/** How long a rejection is reused without reading the ledger again. */
const EXHAUSTED_MS = 1_000;
const BUSY_MS = 100;

type ChangesDeps = {
  ledgers: Pick<Ledgers, "read" | "replace">;
  holdings: Pick<Holdings, "open" | "write" | "close">;
  continuity: Pick<Continuity, "isOpen" | "known" | "accepts">;
  /** The id of this redirector in ledgers. */
  holder: Uuid;
  log: Log;
  clock: () => number;
};

export type LedgerChanges = {
  /** Leases clicks of a limit; caches a rejection. */
  acquire(holding: Holding, limit: ClickLimit): Promise<LeaseStep["outcome"]>;
  /** Reports used clicks and returns the rest of the lease. */
  report(holding: Holding): Promise<void>;
  /** Whether the ledger has no clicks left; changes nothing. False when it cannot be read. */
  readExhausted(holding: Holding, limit: ClickLimit): Promise<boolean>;
};

export function createLedgerChanges(deps: ChangesDeps): LedgerChanges {
  const { ledgers, continuity, holder, log, clock } = deps;
  const change = createChange(deps);
  const toHolder = ({ used }: Holding) => ({ id: holder, used });

  function recordRejection(
    holding: Holding,
    { max }: ClickLimit,
    outcome: ClickOutcome,
    forMs: number,
  ): void {
    holding.rejection = { outcome, max, until: clock() + forMs };
  }

  async function acquire(holding: Holding, limit: ClickLimit): Promise<LeaseStep["outcome"]> {
    let outcome: LeaseStep["outcome"] = "busy";
    try {
      if (continuity.isOpen())
        outcome = await change(holding, (ledger) => {
          const { waiting } = holding;
          return lease(ledger, limit, toHolder(holding), { now: unixSeconds(), waiting });
        });
    } catch (error) {
      log.debug({ error }, "click_lease_failed");
    }
    if (outcome !== "leased")
      recordRejection(holding, limit, outcome, outcome === "spent" ? EXHAUSTED_MS : BUSY_MS);
    return outcome;
  }

  async function report(holding: Holding): Promise<"busy"> {
    try {
      await change(holding, (ledger) => {
        const settled = settle(ledger, toHolder(holding), unixSeconds());
        return { ledger: settled, upTo: holding.used, outcome: "busy" };
      });
    } catch (error) {
      log.debug({ error }, "click_lease_not_returned");
    }
    return "busy";
  }

  return {
    acquire: (holding, limit) => runAlone(holding, () => acquire(holding, limit)),
    report: async (holding) => void (await runAlone(holding, () => report(holding))),
    async readExhausted(holding, limit) {
      try {
        const { ledger } = await ledgers.read(limit.id);
        const now = unixSeconds();
        const { outcome } = lease(ledger, limit, toHolder(holding), { now, waiting: 0 });
        if (outcome === "spent") recordRejection(holding, limit, outcome, EXHAUSTED_MS);
        else holding.leftUntil = clock() + EXHAUSTED_MS;
        return outcome === "spent";
      } catch (error) {
        log.debug({ error }, "click_limit_not_read");
        return false;
      }
    },
  };
}

/** Runs a change of a ledger, or joins the one in progress. */
const runAlone = (
  holding: Holding,
  run: () => Promise<LeaseStep["outcome"]>,
): Promise<LeaseStep["outcome"]> =>
  (holding.changing ??= run().finally(() => (holding.changing = undefined)));

/** Returns the function that reads a ledger and replaces it by the result of `step`. */
function createChange({ ledgers, holdings, continuity, holder, clock }: ChangesDeps) {
  /**
   * Assumes that all clicks which the ledger leases to this redirector are used, unless the file
   * has the exact count.
   */
  function correct(holding: Holding, entry: LeaseEntry | undefined): void {
    const mayHaveUsed = holding.state === "open" ? (entry?.used ?? 0) : usedAtMost(entry);
    const used = Math.max(holding.used, mayHaveUsed);
    if (holding.state !== "open" || used !== holding.used) holdings.write(holding, used, "open");
    holding.upTo = holding.used;
  }

  /**
   * Returns "accepted", "replaced" when another redirector was faster, or "rolled back" when the
   * stream has lost messages.
   */
  async function replace(
    holding: Holding,
    ledger: Ledger,
    sequence: number,
  ): Promise<"accepted" | "replaced" | "rolled back"> {
    const known = continuity.known();
    holding.uncertain = true;
    const replaced = await ledgers.replace(holding.id, ledger, sequence);
    // If another redirector was faster, this write and earlier ones can no longer arrive.
    holding.uncertain = false;
    if (replaced === undefined) return "replaced";
    return continuity.accepts(replaced, known) ? "accepted" : "rolled back";
  }

  return async (
    holding: Holding,
    step: (ledger: Ledger) => LeaseStep,
  ): Promise<LeaseStep["outcome"]> => {
    // The change returns the current lease, so its clicks must not be used meanwhile.
    holding.upTo = holding.used;
    holdings.open.add(holding);
    holding.reportAt = clock() + RETRY_MS;
    for (let race = 0; race < RACES_MAX; race++) {
      const { ledger, sequence } = await ledgers.read(holding.id);
      correct(holding, ledger.entries[holder]);
      const next = step(ledger);
      if (next.ledger !== ledger || holding.uncertain) {
        const outcome = await replace(holding, next.ledger, sequence);
        if (outcome === "rolled back") return "busy";
        if (outcome === "replaced") {
          await Bun.sleep(Math.random() * Math.min(race, 10));
          continue;
        }
      }
      holding.upTo = next.upTo;
      if (next.outcome === "leased") holding.reportAt = clock() + LEASE_MS;
      else holdings.close(holding);
      return next.outcome;
    }
    return "busy";
  };
}

const unixSeconds = (): number => Math.floor(Date.now() / 1_000);
