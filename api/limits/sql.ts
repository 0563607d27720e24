/** SQL of rate-limit windows and quotas. */
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import type { QuotaState } from "./quotas.ts";
import type { LimitWindow } from "./windows.ts";

/** Lists every rate-limit window of an account and mode, the plan's first; consumes nothing. */
export async function listWindows(
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<LimitWindow[]> {
  const rows = await sql<
    { name: string; allowed: number; seconds: number; spent: number; resets_ms: number }[]
  >`
    select name, allowed, seconds, spent, resets_ms from plan_limits_of(${accountId}, ${mode})
    union all
    select name, allowed, seconds, spent, resets_ms from endpoint_limits_of(${accountId}, ${mode})`;
  return rows.map(({ name, allowed, seconds, spent, resets_ms }) => ({
    name,
    limit: allowed,
    seconds,
    spent,
    resetsAt: resets_ms,
  }));
}

/** Lists every quota of an account and mode; consumes nothing. */
export const listQuotas = (sql: Sql, { accountId, mode }: AccountScope): Promise<QuotaState[]> =>
  sql<QuotaState[]>`
    select name, allowed as "limit", used, seconds, resets_ms as "resetsAt"
      from quotas_of(${accountId}, ${mode})`;

/** Longer than the longest window of a rate limit or quota. */
const WINDOW_AGE_HOURS = 25;

/** Deletes rate-limit and quota windows that have closed, and leases that have expired. */
export async function deleteExpiredLimits(sql: Sql): Promise<void> {
  await sql`
    delete from plan_windows
     where greatest(day_opened_at, refused_opened_at) < clock_timestamp() - make_interval(hours => ${WINDOW_AGE_HOURS})`;
  await sql`
    delete from endpoint_windows where opened_at < clock_timestamp() - make_interval(hours => ${WINDOW_AGE_HOURS})`;
  await sql`
    delete from quota_windows where opened_at < clock_timestamp() - make_interval(hours => ${WINDOW_AGE_HOURS})`;
  await sql`delete from stream_leases where expires_at < clock_timestamp()`;
}
