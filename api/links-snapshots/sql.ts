/** SQL statements on snapshots of the links. */
import type { Sql, Transaction } from "../postgres.ts";

/** How often hosts that ask for a snapshot are answered at most, by all processes together. */
const ANSWERED_EVERY = "1 minute";

/** Whether a host that asks for a snapshot may be answered now; then no other one for a while. */
export async function claimAnswer(sql: Sql): Promise<boolean> {
  const { count } = await sql`
    update link_log_head set answered_at = now()
     where answered_at is null or answered_at not between now() - ${ANSWERED_EVERY}::interval and now()`;
  return count > 0;
}

/** Bounds of the number of links that every host has. */
export type ServedLinks = { least: number; most: number };

/**
 * Counts the links that redirect; those of a domain that changes hands are on their way. Takes
 * milliseconds, because totals are kept per account, and few domains are unverified or newly
 * verified.
 */
export async function countServedLinks(sql: Sql): Promise<ServedLinks> {
  const [row] = await sql<[ServedLinks]>`
    select (total - waiting - moving)::float8 as least, (total - waiting)::float8 as most
      from (select coalesce(sum(links), 0) as total from link_totals) totals,
           (select count(*) filter (where not domain.republishing) as waiting,
                   count(*) filter (where domain.republishing) as moving
              from links link join domains domain on domain.id = link.domain_id
             where domain.verified_at is null or domain.republishing) others`;
  return row;
}

/**
 * PostgreSQL's advisory lock for making a snapshot. It has two numbers, as locks with one are those
 * of aliases.
 */
const SNAPSHOT_LOCK = 7_302_117;

/** Takes the lock for a snapshot until the transaction ends; false when another process has it. */
export async function lockSnapshot(transaction: Transaction): Promise<boolean> {
  const [row] = await transaction<[{ locked: boolean }]>`
    select pg_try_advisory_xact_lock(${SNAPSHOT_LOCK}::integer, 0) as locked`;
  return row.locked;
}
