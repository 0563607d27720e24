/** SQL statements on takedowns of accounts and hosts. */
import type { TakedownList } from "../../shared/contracts/notices.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Kinds of takedowns that cover many links. */
export type TakedownKind = "account" | "host";

/**
 * A takedown, and when it was created. The subject of an account is its UUID, that of a host the
 * host in lower case.
 */
export type Takedown = { kind: TakedownKind; subject: string; created_at: Date };

/** Reads all takedowns. */
export async function selectTakedowns(sql: Sql | Transaction): Promise<TakedownList> {
  const [row] = await sql<[{ accounts: string[]; hosts: string[] }]>`
    select coalesce(array_agg(subject order by subject) filter (where kind = 'account'), '{}') as accounts,
           coalesce(array_agg(subject order by subject) filter (where kind = 'host'), '{}') as hosts
      from takedowns`;
  return row;
}

/** Lists takedowns with their times, the newest first. */
export const listTakedowns = async (sql: Sql): Promise<Takedown[]> =>
  await sql<Takedown[]>`
    select kind, subject, created_at from takedowns order by created_at desc, kind, subject`;

/** Blocks other changes of the list until the transaction ends. */
export async function lockTakedowns(transaction: Transaction): Promise<void> {
  await transaction`lock table takedowns in share row exclusive mode`;
}

/** Adds a takedown, and returns whether it was added; an existing one stays unchanged. */
export async function insertTakedown(
  transaction: Transaction,
  kind: TakedownKind,
  subject: string,
): Promise<boolean> {
  const { count } = await transaction`
    insert into takedowns (kind, subject) values (${kind}, ${subject}) on conflict do nothing`;
  return count > 0;
}

/** Removes a takedown; returns whether there was one. */
export async function deleteTakedown(
  transaction: Transaction,
  kind: TakedownKind,
  subject: string,
): Promise<boolean> {
  const { count } = await transaction`
    delete from takedowns where kind = ${kind} and subject = ${subject}`;
  return count > 0;
}

/** Whether an account exists. */
export async function hasAccount(sql: Sql | Transaction, id: string): Promise<boolean> {
  const rows = await sql`select from accounts where id = ${id}`;
  return rows.length > 0;
}
