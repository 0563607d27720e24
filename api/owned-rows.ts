/** Counts of what an account has in a mode: for lists, and for the maximum of a kind. */
import type { AccountScope } from "./http/principal.ts";
import type { Sql, Transaction } from "./postgres.ts";

/** Tables whose rows belong to an account in a mode. */
type OwnedTable = "api_keys" | "domains" | "reports" | "shares" | "webhooks";

/** Counts the owner's rows of a table. */
export async function countOwned(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  table: OwnedTable,
): Promise<number> {
  const [{ total }] = await sql<[{ total: number }]>`
    select count(*)::integer as total from ${sql(table)} where account_id = ${accountId} and mode = ${mode}`;
  return total;
}

/** Lets one transaction at a time add to what the owner has of a kind, until it ends. */
export async function lockOwned(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  kind: string,
): Promise<void> {
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`${accountId} ${mode} ${kind}`}, 2))`;
}

/** Counts the owner's rows of a table, and blocks new ones until the transaction ends. */
export async function lockAndCountOwned(
  transaction: Transaction,
  owner: AccountScope,
  table: OwnedTable,
): Promise<number> {
  await lockOwned(transaction, owner, table);
  return await countOwned(transaction, owner, table);
}
