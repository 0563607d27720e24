/**
 * The consistency check: once an hour, and when an operator requests a repair, the owner of the
 * clicks compares rollups with their clicks. Clicks are stored meanwhile, so each difference is
 * only suspected; it is compared again between two inserts, and then rebuilt (repairs.ts).
 */
import {
  type ClickHouse,
  findDifferences,
  readRequests,
  type RepairRequest,
  reportRepair,
} from "../shared/clicks/rollups.ts";
import { rememberRetention } from "../shared/clicks/whole-clicks.ts";
import { HOUR_MS, HOUR_SECONDS } from "../shared/durations.ts";
import type { Log } from "../shared/log.ts";
import { repeatEvery, type Repetition } from "../shared/repeat.ts";
import type { Context } from "./context.ts";
import type { Repairs } from "./repairs.ts";

const INTERVAL_MS = HOUR_MS;

/** Time between two reads of the requests for repairs. */
const REQUESTS_INTERVAL_MS = 5_000;

/** How far back each run compares: a day, and another day in case no worker ran. */
const CHECKED_HOURS = 48;

/** Youngest clicks that are compared: younger ones may not be stored yet. */
const CLICK_AGE_SECONDS_MIN = HOUR_SECONDS;

/** Who the owner of the clicks is, as far as this worker is concerned. */
export interface Ownership {
  /** Undefined while this worker is not the owner. */
  owner: { epoch: number } | undefined;
}

export class ConsistencyCheck {
  readonly #clickhouse: ClickHouse;
  readonly #log: Log;
  readonly #repairs: Repairs;
  readonly #ownership: Ownership;
  readonly #rounds: Repetition;
  #checkAt: number;
  #differences = 0;
  /** Requests that this worker has started, as the owner with this epoch. */
  readonly #started = new Set<string>();
  #epoch: number | undefined;

  /** Begins to check, at first after `intervalMs`. */
  constructor(
    { comparing, log }: Context,
    repairs: Repairs,
    ownership: Ownership,
    intervalMs = INTERVAL_MS,
  ) {
    this.#clickhouse = comparing;
    this.#log = log;
    this.#repairs = repairs;
    this.#ownership = ownership;
    this.#checkAt = performance.now() + intervalMs;
    const roundMs = Math.min(intervalMs, REQUESTS_INTERVAL_MS);
    this.#rounds = repeatEvery(roundMs, () => this.#work(intervalMs), {
      log,
      failure: "consistency_check_failed",
      firstMs: roundMs,
    });
  }

  /** Buckets found to differ since the process started. */
  get differences(): number {
    return this.#differences;
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  /** Does what is due, if this worker is the owner. */
  async #work(intervalMs: number): Promise<void> {
    const isCheckDue = performance.now() >= this.#checkAt;
    if (isCheckDue) this.#checkAt = performance.now() + intervalMs;
    if (this.#ownership.owner === undefined) return;
    if (isCheckDue) await this.#check();
    await this.#startRequests();
  }

  async #check(): Promise<void> {
    await rememberRetention(this.#clickhouse);
    const to = Math.floor(Date.now() / 1_000) - CLICK_AGE_SECONDS_MIN;
    const from = to - CHECKED_HOURS * HOUR_SECONDS;
    const suspected = await findDifferences(this.#clickhouse, { from, to });
    if (suspected.length === 0) return;
    this.#repairs.suspect(suspected, ({ length }) => {
      this.#differences += length;
      if (length > 0) this.#log.error({ differences: length }, "rollups_differ");
    });
  }

  async #startRequests(): Promise<void> {
    const epoch = this.#ownership.owner?.epoch;
    if (this.#epoch !== epoch) this.#started.clear();
    this.#epoch = epoch;
    for (const request of await readRequests(this.#clickhouse)) {
      if (this.#started.has(request.id)) continue;
      await this.#startRequest(request);
      this.#started.add(request.id);
    }
  }

  async #startRequest(request: RepairRequest): Promise<void> {
    const { id, range } = request;
    await reportRepair(this.#clickhouse, request, { state: "started" });
    this.#log.info({ id, ...range }, "rollup_repair_started");
    const suspected = await findDifferences(this.#clickhouse, range);
    this.#repairs.suspect(suspected, ({ length: rebuilt }) => {
      this.#log.info({ id, rebuilt }, "rollup_repair_done");
      reportRepair(this.#clickhouse, request, { state: "done", rebuilt }).catch((error: unknown) =>
        this.#log.warn({ error }, "rollup_repair_not_reported"),
      );
    });
  }
}
