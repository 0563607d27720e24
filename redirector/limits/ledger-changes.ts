/**
 * Changes the ledgers of limits: leases clicks and reports used ones. Each change is a
 * compare-and-set, repeated while other redirectors are faster. For each limit, one change is in
 * progress at a time.
 */
import type { ClickLimit, LeaseEntry, Ledger } from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { LeaseConditions } from "./continuity.ts";
import type { ClickOutcome, Holding, Holdings } from "./holdings.ts";
import { type Holder, lease, type LeaseStep, settle, usedAtMost } from "./lease.ts";
import type { LedgerStore } from "./ledgers.ts";

/** Lifetime of a lease: for this long, its unused clicks are unavailable to other redirectors. */
const LEASE_MS = 2_000;

/** How soon used clicks are reported again after a failed change. */
const RETRY_MS = 1_000;

/** Maximum attempts while other redirectors replace the same ledger. */
const RACES_MAX = 30;

/** How long a rejection is reused without reading the ledger again. */
const EXHAUSTED_MS = 1_000;
const BUSY_MS = 100;

export class LedgerChanges {
  readonly #ledgers: LedgerStore;
  readonly #holdings: Holdings;
  readonly #conditions: LeaseConditions;
  readonly #holder: Uuid;
  readonly #log: Log;
  readonly #clock: () => number;

  /** `holder` is the id of this redirector in ledgers. */
  constructor(
    ledgers: LedgerStore,
    holdings: Holdings,
    conditions: LeaseConditions,
    { holder, log, clock }: { holder: Uuid; log: Log; clock: () => number },
  ) {
    this.#ledgers = ledgers;
    this.#holdings = holdings;
    this.#conditions = conditions;
    this.#holder = holder;
    this.#log = log;
    this.#clock = clock;
  }

  /** Leases clicks of a limit, or joins the change in progress; remembers a rejection. */
  acquire(holding: Holding, limit: ClickLimit): Promise<LeaseStep["outcome"]> {
    return changeAlone(holding, () => this.#acquire(holding, limit));
  }

  /** Reports used clicks and returns the rest of the lease, or joins the change in progress. */
  async report(holding: Holding): Promise<void> {
    await changeAlone(holding, () => this.#report(holding));
  }

  /** Whether the ledger has no clicks left; changes nothing. False when it cannot be read. */
  async readExhausted(holding: Holding, limit: ClickLimit): Promise<boolean> {
    try {
      const { ledger } = await this.#ledgers.read(limit.id);
      const now = unixSeconds();
      const { outcome } = lease(ledger, limit, this.#holderOf(holding), { now, waiting: 0 });
      if (outcome === "spent") this.#remember(holding, limit, outcome, EXHAUSTED_MS);
      else holding.leftUntil = this.#clock() + EXHAUSTED_MS;
      return outcome === "spent";
    } catch (error) {
      this.#log.debug({ error }, "click_limit_not_read");
      return false;
    }
  }

  async #acquire(holding: Holding, limit: ClickLimit): Promise<LeaseStep["outcome"]> {
    let outcome: LeaseStep["outcome"] = "busy";
    try {
      if (this.#conditions.isOpen())
        outcome = await this.#change(holding, (ledger) => {
          const { waiting } = holding;
          return lease(ledger, limit, this.#holderOf(holding), { now: unixSeconds(), waiting });
        });
    } catch (error) {
      this.#log.debug({ error }, "click_lease_failed");
    }
    if (outcome !== "leased")
      this.#remember(holding, limit, outcome, outcome === "spent" ? EXHAUSTED_MS : BUSY_MS);
    return outcome;
  }

  async #report(holding: Holding): Promise<"busy"> {
    try {
      await this.#change(holding, (ledger) => {
        const settled = settle(ledger, this.#holderOf(holding), unixSeconds());
        return { ledger: settled, upTo: holding.used, outcome: "busy" };
      });
    } catch (error) {
      this.#log.debug({ error }, "click_lease_not_returned");
    }
    return "busy";
  }

  /** Reads a ledger and replaces it by the result of `step`. */
  async #change(
    holding: Holding,
    step: (ledger: Ledger) => LeaseStep,
  ): Promise<LeaseStep["outcome"]> {
    // The change returns the current lease, so its clicks must not be used meanwhile.
    holding.upTo = holding.used;
    this.#holdings.open.add(holding);
    holding.reportAt = this.#clock() + RETRY_MS;
    for (let race = 0; race < RACES_MAX; race++) {
      const { ledger, sequence } = await this.#ledgers.read(holding.id);
      this.#correct(holding, ledger.entries[this.#holder]);
      const next = step(ledger);
      if (next.ledger !== ledger || holding.uncertain) {
        const outcome = await this.#replace(holding, next.ledger, sequence);
        if (outcome === "rolled back") return "busy";
        if (outcome === "replaced") {
          await Bun.sleep(Math.random() * Math.min(race, 10));
          continue;
        }
      }
      holding.upTo = next.upTo;
      if (next.outcome === "leased") holding.reportAt = this.#clock() + LEASE_MS;
      else this.#holdings.close(holding);
      return next.outcome;
    }
    return "busy";
  }

  /**
   * Assumes that all clicks which the ledger leases to this redirector are used, unless the file
   * has the exact count.
   */
  #correct(holding: Holding, entry: LeaseEntry | undefined): void {
    const mayHaveUsed = holding.state === "open" ? (entry?.used ?? 0) : usedAtMost(entry);
    const used = Math.max(holding.used, mayHaveUsed);
    if (holding.state !== "open" || used !== holding.used)
      this.#holdings.write(holding, used, "open");
    holding.upTo = holding.used;
  }

  /**
   * Returns "accepted", "replaced" when another redirector was faster, or "rolled back" when the
   * stream has lost messages.
   */
  async #replace(
    holding: Holding,
    ledger: Ledger,
    sequence: number,
  ): Promise<"accepted" | "replaced" | "rolled back"> {
    const known = this.#conditions.known();
    holding.uncertain = true;
    const replaced = await this.#ledgers.replace(holding.id, ledger, sequence);
    // If another redirector was faster, this write and earlier ones can no longer arrive.
    holding.uncertain = false;
    if (replaced === undefined) return "replaced";
    return this.#conditions.accepts(replaced, known) ? "accepted" : "rolled back";
  }

  #holderOf({ used }: Holding): Holder {
    return { id: this.#holder, used };
  }

  /** Remembers a rejection for a while. */
  #remember(holding: Holding, { max }: ClickLimit, outcome: ClickOutcome, forMs: number): void {
    holding.rejection = { outcome, max, until: this.#clock() + forMs };
  }
}

/** Runs a change of a ledger, or joins the one in progress. */
const changeAlone = (
  holding: Holding,
  run: () => Promise<LeaseStep["outcome"]>,
): Promise<LeaseStep["outcome"]> =>
  (holding.changing ??= run().finally(() => (holding.changing = undefined)));

const unixSeconds = (): number => Math.floor(Date.now() / 1_000);
