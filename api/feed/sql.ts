/** SQL statements on the outbox of link changes. */
import type { LinkMessage } from "../../shared/contracts/link-record.ts";
import type { Sql, Transaction } from "../postgres.ts";

/**
 * Selects the oldest outbox entries that are at least `ageSeconds` old and locks them until the transaction
 * ends. Skips entries that another relay has locked.
 */
export async function lockPendingEntries(
  transaction: Transaction,
  ageSeconds: number,
  limit: number,
): Promise<{ id: string; record: LinkMessage }[]> {
  return await transaction<{ id: string; record: LinkMessage }[]>`
    select id, record from link_outbox
     where created_at < now() - make_interval(secs => ${ageSeconds})
     order by id limit ${limit}
       for update skip locked`;
}

export async function deleteEntries(sql: Sql | Transaction, ids: readonly string[]): Promise<void> {
  await sql`delete from link_outbox where id = any (${[...ids]}::bigint[])`;
}

/** What is in the outbox: how many changes, and since when the oldest is there, in Unix seconds; null when empty. */
export type OutboxStats = { pending: number; oldest: number | null };

export async function selectOutboxStats(sql: Sql): Promise<OutboxStats> {
  const [row] = await sql<[OutboxStats]>`
    select count(*)::int as pending, extract(epoch from min(created_at))::float8 as oldest
      from link_outbox`;
  return row;
}
