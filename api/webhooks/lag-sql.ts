import type { Sql } from "../postgres.ts";

/**
 * For how many seconds the event has waited that waits longest for an active webhook: to get its
 * position, for its delivery to be made, or for an attempt that is due; 0 without any. Webhooks
 * that fail or are slow do not count, nor do events for which there is no room yet. It asks
 * PostgreSQL alone, so it is also right when no worker delivers.
 */
export async function selectLag(sql: Sql): Promise<number> {
  const [row] = await sql<[{ seconds: number }]>`
    select coalesce(extract(epoch from clock_timestamp() - min(least(unnumbered.since, next.since, due.since))), 0)::float8 as seconds
      from webhooks webhook
      left join lateral (
        select occurred_at as since from events
         where account_id = webhook.account_id and mode = webhook.mode and position is null
         order by sequence limit 1) unnumbered on true
      left join lateral (
        select occurred_at as since from events
         where account_id = webhook.account_id and mode = webhook.mode and position > webhook.position
           and not webhook.is_full
         order by position limit 1) next on true
      left join lateral (
        select next_attempt_at as since from webhook_deliveries
         where webhook_id = webhook.id and status = 'pending'
         order by position limit 1) due on true
     where status = 'active' and failing_since is null and not is_slow`;
  return Math.max(0, row.seconds);
}
