/**
 * Requests that wait for events. They hold no connection to PostgreSQL: one query at a time asks
 * which of them have something to read.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";

/** Maximum requests of an account that wait in this process. */
const WAITS_PER_ACCOUNT = 10;

/** Maximum requests that wait in this process. */
const WAITS_MAX = 1_000;

/** Pause between two queries. */
const POLL_MS = 250;

/** Somebody who waits for events of an account and mode after a position. */
type Waiting = AccountScope & { position: number };

type Wait = Waiting & { resolve: () => void };

export class EventWaits {
  readonly #sql: Sql;
  readonly #log: Log;
  readonly #pollMs: number;
  readonly #waits = new Set<Wait>();
  #isPolling = false;
  #isStopped = false;

  constructor(sql: Sql, log: Log, pollMs = POLL_MS) {
    this.#sql = sql;
    this.#log = log;
    this.#pollMs = pollMs;
  }

  get count(): number {
    return this.#waits.size;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /**
   * Waits until there are events of the owner after a position, the time is over, the client is
   * gone, or the process stops. Throws `rate_limited` and `unavailable` when too many wait.
   */
  async wait(
    { accountId, mode }: AccountScope,
    position: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#isStopped || signal.aborted) return;
    this.#requireRoom(accountId);
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = { accountId, mode, position, resolve };
    this.#waits.add(wait);
    const end = () => resolve();
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    if (!this.#isPolling) void this.#poll();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      this.#waits.delete(wait);
    }
  }

  /** Ends all waits, and those to come. */
  stop(): void {
    this.#isStopped = true;
    for (const wait of this.#waits) wait.resolve();
  }

  #requireRoom(accountId: Uuid): void {
    if (this.#waits.size >= WAITS_MAX) throw unavailable("Too many requests wait for events.");
    const own = [...this.#waits].filter((wait) => wait.accountId === accountId).length;
    if (own < WAITS_PER_ACCOUNT) return;
    throw new ApiError(
      "rate_limited",
      `At most ${WAITS_PER_ACCOUNT} requests of an account wait for events at a time.`,
      { retryAfterSeconds: 1 },
    );
  }

  /** Asks until nobody waits. */
  async #poll(): Promise<void> {
    this.#isPolling = true;
    let isFailing = false;
    while (this.#waits.size > 0) {
      const asked = [...this.#waits];
      try {
        for (const index of await findNews(this.#sql, asked)) asked[index]?.resolve();
        isFailing = false;
      } catch (error) {
        if (!isFailing) this.#log.warn({ error }, "events_not_polled");
        isFailing = true;
      }
      await Bun.sleep(this.#pollMs);
    }
    this.#isPolling = false;
  }
}

/** Returns the indexes of those for whom there are events, with or without a position yet. */
async function findNews(sql: Sql, waiting: readonly Waiting[]): Promise<number[]> {
  const rows = await sql<{ index: number }[]>`
    select (place - 1)::integer as index
      from unnest(${waiting.map(({ accountId }) => accountId)}::uuid[], ${waiting.map(({ mode }) => mode)}::text[],
                  ${waiting.map(({ position }) => position)}::bigint[])
           with ordinality as waiting (account_id, mode, after, place)
     where exists (select from events event
                    where event.account_id = waiting.account_id and event.mode = waiting.mode and position is null)
        or exists (select from events event
                    where event.account_id = waiting.account_id and event.mode = waiting.mode
                      and position > waiting.after)`;
  return rows.map(({ index }) => index);
}
