/**
 * Consumes clicks of links with a click limit: from this redirector's lease in memory, or from a
 * new lease from the limit's ledger. All redirectors together never exceed the limit, whatever
 * fails (docs/decisions/0021).
 * A lease lasts two seconds. Then its used clicks are reported and the rest is returned. Each
 * change of a ledger is a compare-and-set, repeated while other redirectors are faster. For each
 * limit only one is in progress at a time. Meanwhile there is no usable lease, and requests wait.
 */
import type { ClickLimit, LeaseEntry, Ledger } from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { LeaseConditions } from "./continuity.ts";
import { type ClickOutcome, type Holding, Holdings } from "./holdings.ts";
import { type Holder, lease, type LeaseStep, settle, usedAtMost } from "./lease.ts";
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

const REPORTS_MAX = 64;

/** Lifetime of a lease: for this long, its unused clicks are unavailable to other redirectors. */
const LEASE_MS = 2_000;

/** How soon used clicks are reported again after a failed change. */
const RETRY_MS = 1_000;

/** Maximum attempts while other redirectors replace the same ledger. */
const RACES_MAX = 30;

/** How long a rejection is reused without reading the ledger again. */
const EXHAUSTED_MS = 1_000;
const BUSY_MS = 100;

/** Where requests take clicks of limits. */
export interface ClickSource {
  /** Consumes a click, synchronously while a lease has clicks left. */
  take(limit: ClickLimit): ClickOutcome | Promise<ClickOutcome>;
  isExhausted(limit: ClickLimit): boolean;
  /** Whether the limit is reached, without a click; reads the ledger unless it did recently. */
  look(limit: ClickLimit): boolean | Promise<boolean>;
}

export class ClickLimits implements ClickSource {
  readonly #ledgers: LedgerStore;
  readonly #conditions: LeaseConditions;
  readonly #log: Log;
  /** The id of this redirector in ledgers. */
  readonly #holder: Uuid;
  readonly #clock = () => performance.now();
  readonly #holdings: Holdings;
  readonly #timer: Timer;
  readonly #outcomes: Record<ClickOutcome, number> = { taken: 0, spent: 0, busy: 0 };
  #waiting = 0;
  #reporting = 0;

  constructor(ledgers: LedgerStore, file: UsesFile, conditions: LeaseConditions, log: Log) {
    this.#ledgers = ledgers;
    this.#conditions = conditions;
    this.#log = log;
    this.#holder = file.holder;
    this.#holdings = new Holdings(file, log, this.#clock);
    this.#timer = setInterval(() => this.#reportDue(this.#clock()), SWEEP_MS);
  }

  take(limit: ClickLimit): ClickOutcome | Promise<ClickOutcome> {
    const holding = this.#holdings.get(limit.id);
    if (holding.hasLeasedClick) return this.#count(this.#holdings.use(holding));
    const rejection = holding.recentRejection(limit, this.#clock);
    if (rejection !== undefined) return this.#count(rejection);
    if (this.#waiting >= WAITING_MAX) return this.#count("busy");
    return this.#waitForClick(holding, limit).then((taken) => this.#count(taken));
  }

  isExhausted(limit: ClickLimit): boolean {
    const holding = this.#holdings.find(limit.id);
    return holding !== undefined && holding.recentRejection(limit, this.#clock) === "spent";
  }

  look(limit: ClickLimit): boolean | Promise<boolean> {
    const holding = this.#holdings.get(limit.id);
    if (holding.recentRejection(limit, this.#clock) === "spent") return true;
    if (holding.upTo > holding.used || this.#clock() < holding.leftUntil) return false;
    if (this.#waiting >= WAITING_MAX || !this.#conditions.isReady()) return false;
    this.#waiting++;
    holding.reading ??= this.#readExhausted(holding, limit).finally(
      () => (holding.reading = undefined),
    );
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
      this.#reportDue(Infinity);
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
        if (holding.hasLeasedClick) return this.#holdings.use(holding);
        const rejection = holding.recentRejection(limit, this.#clock);
        if (rejection !== undefined) return rejection;
        if (!this.#conditions.isReady()) return "busy";
        if (this.#conditions.isOpen())
          await changeAlone(holding, () => this.#acquire(holding, limit));
        else await Bun.sleep(POLL_MS);
      }
      return "busy";
    } finally {
      holding.waiting--;
      this.#waiting--;
    }
  }

  /** Leases clicks of a limit; remembers a rejection. */
  async #acquire(holding: Holding, limit: ClickLimit): Promise<LeaseStep["outcome"]> {
    let outcome: LeaseStep["outcome"] = "busy";
    try {
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

  /** Whether the ledger has no clicks left; changes nothing. False when it cannot be read. */
  async #readExhausted(holding: Holding, limit: ClickLimit): Promise<boolean> {
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

  #remember(holding: Holding, { max }: ClickLimit, outcome: ClickOutcome, forMs: number): void {
    holding.rejection = { outcome, max, until: this.#clock() + forMs };
  }

  /** Reports the leases that are due, and returns the rest; without NATS they stay. */
  #reportDue(now: number): void {
    if (!this.#conditions.isReady()) return;
    for (const holding of this.#holdings.open) {
      if (this.#reporting >= REPORTS_MAX) return;
      if (holding.changing !== undefined || holding.reportAt > now) continue;
      this.#reporting++;
      void changeAlone(holding, () => this.#report(holding)).finally(() => this.#reporting--);
    }
  }

  /** Reports used clicks and returns the rest of the lease. */
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

  /** Unless the file has the exact count, all clicks leased in the ledger count as used. */
  #correct(holding: Holding, entry: LeaseEntry | undefined): void {
    const mayHaveUsed = holding.state === "open" ? (entry?.used ?? 0) : usedAtMost(entry);
    const used = Math.max(holding.used, mayHaveUsed);
    if (holding.state !== "open" || used !== holding.used)
      this.#holdings.write(holding, used, "open");
    holding.upTo = holding.used;
  }

  /** "replaced": another redirector was faster; "rolled back": the stream has lost messages. */
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
}

/** Runs a change of a ledger, or joins the one in progress. */
const changeAlone = (
  holding: Holding,
  run: () => Promise<LeaseStep["outcome"]>,
): Promise<LeaseStep["outcome"]> =>
  (holding.changing ??= run().finally(() => (holding.changing = undefined)));

const unixSeconds = (): number => Math.floor(Date.now() / 1_000);
