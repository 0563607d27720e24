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
import type { LeaseConditions } from "./continuity.ts";
import {
  type ClickOutcome,
  hasLeasedClick,
  type Holding,
  Holdings,
  recentRejection,
} from "./holdings.ts";
import { LedgerChanges } from "./ledger-changes.ts";
import type { LedgerStore } from "./ledgers.ts";
import type { UsesFile } from "./uses-file.ts";

/** Maximum wait of a request for a click. */
const WAIT_MS = 2_000;

/** Maximum waiting requests: each holds a copy of its head, of 16 KiB at most. */
const WAITING_MAX = 2_000;

/** Interval at which a waiting request checks whether clicks may be leased. */
const POLL_MS = 50;

/** Interval at which leases are checked whose used clicks must be reported. */
const SWEEP_MS = 50;

/** Maximum concurrent reports. */
const REPORTS_MAX = 64;

/** Where requests take clicks of limits. */
export interface ClickSource {
  /** Consumes a click, synchronously while a lease has clicks left. */
  take(limit: ClickLimit): ClickOutcome | Promise<ClickOutcome>;
  isExhausted(limit: ClickLimit): boolean;
  /**
   * Whether the limit is reached, for requests that consume no click. Reads the ledger unless that
   * was done recently.
   */
  look(limit: ClickLimit): boolean | Promise<boolean>;
}

export class ClickLimits implements ClickSource {
  readonly #conditions: LeaseConditions;
  readonly #clock = () => performance.now();
  readonly #holdings: Holdings;
  readonly #changes: LedgerChanges;
  readonly #timer: Timer;
  readonly #outcomes: Record<ClickOutcome, number> = { taken: 0, spent: 0, busy: 0 };
  #waiting = 0;
  #reporting = 0;

  constructor(ledgers: LedgerStore, file: UsesFile, conditions: LeaseConditions, log: Log) {
    const clock = this.#clock;
    this.#conditions = conditions;
    this.#holdings = new Holdings(file, log, clock);
    const { holder } = file;
    this.#changes = new LedgerChanges(ledgers, this.#holdings, conditions, { holder, log, clock });
    this.#timer = setInterval(() => this.#report(clock()), SWEEP_MS);
  }

  take(limit: ClickLimit): ClickOutcome | Promise<ClickOutcome> {
    const holding = this.#holdings.get(limit.id);
    if (hasLeasedClick(holding)) return this.#count(this.#holdings.use(holding));
    const rejection = recentRejection(holding, limit, this.#clock);
    if (rejection !== undefined) return this.#count(rejection);
    if (this.#waiting >= WAITING_MAX) return this.#count("busy");
    return this.#waitForClick(holding, limit).then((taken) => this.#count(taken));
  }

  isExhausted(limit: ClickLimit): boolean {
    const holding = this.#holdings.find(limit.id);
    return holding !== undefined && recentRejection(holding, limit, this.#clock) === "spent";
  }

  look(limit: ClickLimit): boolean | Promise<boolean> {
    const holding = this.#holdings.get(limit.id);
    if (recentRejection(holding, limit, this.#clock) === "spent") return true;
    if (holding.upTo > holding.used || this.#clock() < holding.leftUntil) return false;
    if (this.#waiting >= WAITING_MAX || !this.#conditions.isReady()) return false;
    this.#waiting++;
    holding.reading ??= this.#changes
      .readExhausted(holding, limit)
      .finally(() => (holding.reading = undefined));
    return holding.reading.finally(() => this.#waiting--);
  }

  /** Reports the used clicks of every limit again, after the stream was rolled back. */
  restore(): void {
    // The most recently used first: their ledgers are the most likely to have been rolled back.
    for (const holding of this.#holdings.all().toReversed()) {
      if (holding.used === 0) continue;
      holding.reportAt = 0;
      this.#holdings.open.add(holding);
    }
  }

  /**
   * Requests by outcome since the start; `open`: limits of which clicks are leased; `known`: limits
   * that were requested, or used before.
   */
  stats(): { outcomes: Readonly<Record<ClickOutcome, number>>; open: number; known: number } {
    const { open, size } = this.#holdings;
    return { outcomes: this.#outcomes, open: open.size, known: size };
  }

  /** Reports used clicks and returns all leases, for at most `withinMs`. */
  async stop(withinMs: number): Promise<void> {
    clearInterval(this.#timer);
    const { open } = this.#holdings;
    const deadline = this.#clock() + withinMs;
    while (open.size > 0 && this.#conditions.isReady() && this.#clock() < deadline) {
      this.#report(Infinity);
      await Bun.sleep(SWEEP_MS / 5);
    }
  }

  #count(taken: ClickOutcome): ClickOutcome {
    this.#outcomes[taken]++;
    return taken;
  }

  async #waitForClick(holding: Holding, limit: ClickLimit): Promise<ClickOutcome> {
    const deadline = this.#clock() + WAIT_MS;
    holding.waiting++;
    this.#waiting++;
    try {
      while (this.#clock() < deadline) {
        if (hasLeasedClick(holding)) return this.#holdings.use(holding);
        const rejection = recentRejection(holding, limit, this.#clock);
        if (rejection !== undefined) return rejection;
        if (!this.#conditions.isReady()) return "busy";
        if (this.#conditions.isOpen()) await this.#changes.acquire(holding, limit);
        else await Bun.sleep(POLL_MS);
      }
      return "busy";
    } finally {
      holding.waiting--;
      this.#waiting--;
    }
  }

  /**
   * Reports the used clicks of leases that are due, and returns the rest. Without NATS, leases stay
   * as they are.
   */
  #report(now: number): void {
    if (!this.#conditions.isReady()) return;
    for (const holding of this.#holdings.open) {
      if (this.#reporting >= REPORTS_MAX) return;
      if (holding.changing !== undefined || holding.reportAt > now) continue;
      this.#reporting++;
      void this.#changes.report(holding).finally(() => this.#reporting--);
    }
  }
}
