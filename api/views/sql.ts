/** SQL statements on saved views, of all kinds. */
import type { ViewKind } from "../../shared/contracts/view-schemas.ts";
import type { AccountScope } from "../http/principal.ts";
import { lockOwned } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { NamedQuery, ViewRow } from "./model.ts";

/** Lists the owner's views by name: at most as many as the owner may have. */
export const listViews = (
  sql: Sql,
  { accountId, mode }: AccountScope,
  kind: ViewKind,
): Promise<ViewRow[]> =>
  sql<ViewRow[]>`
    select name, query, created_at, updated_at from saved_views
     where account_id = ${accountId} and mode = ${mode} and kind = ${kind} order by name`;

/**
 * Counts the owner's views except the named one, and blocks new ones until the transaction ends.
 */
export async function lockAndCountOtherViews(
  transaction: Transaction,
  owner: AccountScope,
  kind: ViewKind,
  name: string,
): Promise<number> {
  await lockOwned(transaction, owner, "views");
  const [{ total }] = await transaction<[{ total: number }]>`
    select count(*)::integer as total from saved_views
     where account_id = ${owner.accountId} and mode = ${owner.mode} and kind = ${kind}
       and name <> ${name}`;
  return total;
}

/** Inserts a view, or replaces the query of the one with its name. */
export async function putView(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  kind: ViewKind,
  { name, query }: NamedQuery,
): Promise<ViewRow> {
  const [row] = await sql<[ViewRow]>`
    insert into saved_views as view (account_id, mode, kind, name, query)
    values (${accountId}, ${mode}, ${kind}, ${name}, ${query})
    on conflict (account_id, mode, kind, name) do update
       set query = excluded.query, updated_at = greatest(now(), view.updated_at)
    returning name, query, created_at, updated_at`;
  return row;
}

/** Deletes one of the owner's views. Returns false when there is no such view. */
export async function deleteView(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  kind: ViewKind,
  name: string,
): Promise<boolean> {
  const rows = await sql`
    delete from saved_views
     where account_id = ${accountId} and mode = ${mode} and kind = ${kind} and name = ${name}
    returning name`;
  return rows.length === 1;
}
