/**
 * This redirector's state of each limit: its used clicks, and its current lease. A used click is
 * written to the file before its redirect is sent.
 */
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { LeaseStep } from "./lease.ts";
import { RECORD_BYTES, type Uses, type UsesFile } from "./uses-file.ts";

/**
 * `taken`: one click was consumed, and the visitor may be redirected; `spent`: the limit is
 * reached; `busy`: other redirectors hold the remaining clicks, or the ledger is unknown.
 */
export type ClickOutcome = "taken" | "spent" | "busy";

/** How soon an exhausted lease is reported, unless another one is acquired before. */
const USED_UP_MS = 100;

/** Limits without a lease whose used clicks are kept, in case NATS is rolled back. */
const REMEMBERED_MAX = 100_000;

/** From this size the file is compacted, if most of it is outdated. */
const FILE_BYTES_MIN = 16 * 1024 * 1024;

/** The lease of a limit, and the clicks that were used of it. */
export class Holding implements Uses {
  readonly id: Uuid;
  used: number;
  state: Uses["state"];
  /** Clicks up to this number may be used. */
  upTo: number;
  /** When to report and return the lease, by the clock; while it is open. */
  reportAt = 0;
  changing: Promise<LeaseStep["outcome"]> | undefined;
  /** An earlier write may still arrive, so only another one makes the ledger certain. */
  uncertain = false;
  /** Requests that wait for a lease. */
  waiting = 0;
  reading: Promise<boolean> | undefined;
  /** Until when the ledger is assumed to have clicks left. */
  leftUntil = 0;
  rejection: { outcome: ClickOutcome; max: number; until: number } | undefined;

  constructor(id: Uuid, { used, state }: Uses) {
    this.id = id;
    this.used = used;
    this.state = state;
    this.upTo = used;
  }

  /** Whether a click can be used at once. */
  get hasLeasedClick(): boolean {
    return this.changing === undefined && this.upTo > this.used;
  }

  /** The outcome of a recent rejection for this limit; undefined when the ledger must be read. */
  recentRejection({ max }: ClickLimit, clock: () => number): ClickOutcome | undefined {
    const { rejection } = this;
    return rejection?.max === max && clock() < rejection.until ? rejection.outcome : undefined;
  }
}

export class Holdings {
  readonly #file: UsesFile;
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #byId: Map<Uuid, Holding>;
  /** Holdings with a lease, or with used clicks that the ledger may lack. */
  readonly open: Set<Holding>;
  #writeFailed = false;

  /** `clock` returns milliseconds, and never goes back. */
  constructor(file: UsesFile, log: Log, clock: () => number) {
    this.#file = file;
    this.#log = log;
    this.#clock = clock;
    this.#byId = new Map([...file.loaded].map(([id, uses]) => [id, new Holding(id, uses)]));
    this.open = new Set([...this.#byId.values()].filter(({ state }) => state !== "settled"));
  }

  /** Returns the holding of a limit; creates one for an unknown limit. */
  get(id: Uuid): Holding {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const holding = new Holding(id, { used: 0, state: "settled" });
    this.#byId.set(id, holding);
    if (this.#byId.size > REMEMBERED_MAX) this.#forgetOldest();
    return holding;
  }

  find(id: Uuid): Holding | undefined {
    return this.#byId.get(id);
  }

  /** All holdings, the least recently used first. */
  all(): Holding[] {
    return [...this.#byId.values()];
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Writes the used clicks of a limit. Throws when it cannot; then no click may be used. */
  write(holding: Holding, used: number, state: Uses["state"]): void {
    const file = this.#file;
    try {
      file.write(holding.id, { used, state });
      this.#writeFailed = false;
    } catch (error) {
      if (!this.#writeFailed) this.#log.error({ error }, "click_limits_not_written");
      this.#writeFailed = true;
      throw error;
    }
    holding.used = used;
    holding.state = state;
    if (file.size < FILE_BYTES_MIN || file.size < 4 * RECORD_BYTES * this.#byId.size) return;
    file.compact(usesOf(this.#byId));
  }

  /** Uses a click of the current lease. */
  use(holding: Holding): ClickOutcome {
    try {
      this.write(holding, holding.used + 1, "open");
    } catch {
      return "busy";
    }
    if (holding.used === holding.upTo) holding.reportAt = this.#clock() + USED_UP_MS;
    return "taken";
  }

  /** Closes a holding without a lease whose used clicks are all in the ledger. */
  close(holding: Holding): void {
    this.open.delete(holding);
    if (holding.state === "settled") return;
    this.write(holding, holding.used, "settled");
    this.#byId.delete(holding.id);
    this.#byId.set(holding.id, holding);
  }

  /** Removes the least recently used holding; one in use is the last in line again. */
  #forgetOldest(): void {
    const [oldest] = this.#byId.values();
    if (oldest === undefined) return;
    this.#byId.delete(oldest.id);
    if (oldest.waiting > 0 || oldest.changing !== undefined || this.open.has(oldest))
      this.#byId.set(oldest.id, oldest);
  }
}

/** The used clicks that the file must keep. */
const usesOf = (holdings: ReadonlyMap<Uuid, Holding>): Map<Uuid, Uses> =>
  new Map(
    [...holdings]
      .filter(([, { used, state }]) => used > 0 || state !== "settled")
      .map(([id, { used, state }]) => [id, { used, state }]),
  );
