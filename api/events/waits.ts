/**
 * Requests that wait for events. They hold no connection to PostgreSQL: one query for all of them,
 * at a time, asks for whom there is something.
 */
import type { Log } from "../../shared/log.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { findNews, type Waiting } from "./sql.ts";

/** Maximum requests of an account that wait in this process. */
const WAITS_PER_ACCOUNT = 10;

/** Maximum requests that wait in this process. */
const WAITS_MAX = 1_000;

/** Pause between two queries. */
const POLL_MS = 250;

type Wait = Waiting & { resolve: () => void };

type WaitsDeps = { sql: Sql; log: Log; pollMs?: number };

export type EventWaits = ReturnType<typeof createEventWaits>;

export function createEventWaits({ sql, log, pollMs = POLL_MS }: WaitsDeps) {
  const waits = new Set<Wait>();
  let polling = false;
  let stopped = false;

  /** Asks until nobody waits. */
  async function poll(): Promise<void> {
    polling = true;
    let failing = false;
    while (waits.size > 0) {
      const asked = [...waits];
      try {
        for (const index of await findNews(sql, asked)) asked[index]?.resolve();
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ error }, "events_not_polled");
        failing = true;
      }
      await Bun.sleep(pollMs);
    }
    polling = false;
  }

  function requireRoom({ accountId }: AccountScope): void {
    if (waits.size >= WAITS_MAX) throw unavailable("Too many requests wait for events.");
    const own = [...waits].filter((wait) => wait.accountId === accountId).length;
    if (own < WAITS_PER_ACCOUNT) return;
    throw new ApiError(
      "rate_limited",
      `At most ${WAITS_PER_ACCOUNT} requests of an account wait for events at a time.`,
      { retryAfterSeconds: 1 },
    );
  }

  return {
    /**
     * Waits until there are events of the owner after a position, the time is over, the client is
     * gone, or the process stops. Throws `rate_limited` and `unavailable` when too many wait.
     */
    async wait(
      owner: AccountScope,
      position: number,
      ms: number,
      signal: AbortSignal,
    ): Promise<void> {
      if (stopped || signal.aborted) return;
      requireRoom(owner);
      const { promise, resolve } = Promise.withResolvers<void>();
      const wait = { accountId: owner.accountId, mode: owner.mode, position, resolve };
      waits.add(wait);
      const end = () => resolve();
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end, { once: true });
      if (!polling) void poll();
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        waits.delete(wait);
      }
    },
    count: (): number => waits.size,
    isStopped: (): boolean => stopped,
    /** Ends all waits, and those to come. */
    stop(): void {
      stopped = true;
      for (const wait of waits) wait.resolve();
    },
  };
}
