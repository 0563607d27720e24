/** Removes rate-limit windows that have long closed. */
import type { Log } from "../../shared/log.ts";
import type { Sql } from "../postgres.ts";

const INTERVAL_MS = 60_000;

/** Longer than the longest window. */
const AGE_HOURS = 25;

/** Starts cleaning in the background; gives what stops it. Several processes may clean at once. */
export function startCleaning(sql: Sql, log: Log): () => void {
  const timer = setInterval(() => {
    sql`delete from rate_windows where opened_at < clock_timestamp() - make_interval(hours => ${AGE_HOURS})`.catch(
      (error: unknown) => log.warn({ error }, "rate_windows_not_cleaned"),
    );
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}
