/** SQL statements that find what has happened by itself: links that expired or used up a limit. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/**
 * Lets one process at a time notice things, until the transaction ends. Returns whether it is this
 * one.
 */
export async function lockNotices(transaction: Transaction): Promise<boolean> {
  const [row] = await transaction<[{ locked: boolean }]>`
    select pg_try_advisory_xact_lock(hashtextextended('notices', 3)) as locked`;
  return row.locked;
}

/**
 * Links that have expired since the last call, the earliest first, at most `max`, and locks them. A
 * link counts as expired `delaySeconds` late: one that is being written just before its expiry is
 * committed by then.
 */
export async function findExpired(
  transaction: Transaction,
  delaySeconds: number,
  max: number,
): Promise<{ id: Uuid; expires_at: Date }[]> {
  return await transaction<{ id: Uuid; expires_at: Date }[]>`
    with progress as materialized (
      select reached_at, coalesce(link_id, '00000000-0000-0000-0000-000000000000') as link_id
        from event_progress where name = 'expiry' for update
    )
    select id, expires_at from links
     where expires_at is not null
       and (expires_at, id) > ((select reached_at from progress), (select link_id from progress))
       and expires_at <= clock_timestamp() - make_interval(secs => ${delaySeconds})
     order by expires_at, id limit ${max}`;
}

/** Records up to which link expiries have been noticed. */
export async function recordExpired(
  transaction: Transaction,
  last: { id: Uuid; expires_at: Date },
): Promise<void> {
  await transaction`
    update event_progress set reached_at = ${last.expires_at}, link_id = ${last.id} where name = 'expiry'`;
}

/** A link whose limit may be reached, and since when its clicks have not changed, in seconds. */
export type LimitCheck = { link_id: Uuid; changed_at: Date; age: number };

/** Links whose limits are to be checked, those that have waited longest first. */
export const findLimitChecks = async (sql: Sql, max: number): Promise<LimitCheck[]> =>
  await sql<LimitCheck[]>`
    select link_id, changed_at, extract(epoch from clock_timestamp() - changed_at)::float8 as age
      from limit_checks where changed_at is not null
     order by changed_at limit ${max}`;

/** Ends checks of limits, unless clicks have changed since; forgets links that are gone. */
export async function endLimitChecks(sql: Sql, checks: readonly LimitCheck[]): Promise<void> {
  if (checks.length === 0) return;
  const ids = checks.map(({ link_id }) => link_id);
  await sql`
    update limit_checks due set changed_at = null
      from unnest(${ids}::uuid[], ${checks.map(({ changed_at }) => changed_at.toISOString())}::timestamptz[]) seen (link_id, changed_at)
     where due.link_id = seen.link_id and due.changed_at = seen.changed_at`;
  await sql`
    delete from limit_checks due where link_id = any (${ids}::uuid[])
       and not exists (select from links where id = due.link_id)`;
}

/**
 * Notes that a limit is reached. Returns false when that has been noted of this limit before, or
 * the link is gone.
 */
export async function noteLimit(
  transaction: Transaction,
  linkId: Uuid,
  limit: { ledger: Uuid; max: number },
): Promise<boolean> {
  const { count } = await transaction`
    update limit_checks set noticed_ledger = ${limit.ledger}, noticed_max = ${limit.max}
     where link_id = ${linkId}
       and (noticed_ledger, noticed_max) is distinct from (${limit.ledger}::uuid, ${limit.max}::bigint)`;
  return count > 0;
}
