/** Removes what time has made useless: closed rate-limit windows, remembered requests, sessions. */
import type { Log } from "../../shared/log.ts";
import { forgetRequests } from "../idempotency/once.ts";
import type { Sql } from "../postgres.ts";
import { forgetAttempts } from "../sessions/attempts.ts";

const INTERVAL_MS = 60_000;

/** Longer than the longest window. */
const AGE_HOURS = 25;

/** Starts cleaning in the background; gives what stops it. Several processes may clean at once. */
export function startCleaning(sql: Sql, log: Log): () => void {
  const timer = setInterval(() => {
    clean(sql).catch((error: unknown) => log.warn({ error }, "cleaning_failed"));
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}

async function clean(sql: Sql): Promise<void> {
  await sql`
    delete from plan_windows
     where greatest(day_opened_at, refused_opened_at) < clock_timestamp() - make_interval(hours => ${AGE_HOURS})`;
  await sql`
    delete from endpoint_windows where opened_at < clock_timestamp() - make_interval(hours => ${AGE_HOURS})`;
  await forgetRequests(sql);
  await forgetAttempts(sql);
  await sql`delete from sessions where expires_at < now()`;
}
