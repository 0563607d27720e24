/** What an account has in a mode: its number, for lists and maxima, and what it lacks there. */
import type { Uuid } from "../shared/ids.ts";
import { ApiError, notFound } from "./http/errors.ts";
import type { ListStart } from "./http/pagination.ts";
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

/**
 * The end of a statement that lists rows which meet a condition, newest first, from an offset or
 * after a position.
 */
export function newestFirst(sql: Sql, limit: number, start: ListStart) {
  const after = "after" in start ? start.after : null;
  const isOlder =
    after === null
      ? sql``
      : sql`and (created_at, id) < (${new Date(after.key)}::timestamptz, ${after.id}::uuid)`;
  return sql`
    ${isOlder} order by created_at desc, id desc
    limit ${limit} offset ${"offset" in start ? start.offset : 0}`;
}

/** What the tables hold, as messages name it. */
const KINDS = {
  api_keys: "key",
  domains: "domain",
  links: "link",
  reports: "report",
  shares: "share",
  webhooks: "webhook",
} as const satisfies Record<OwnedTable | "links", string>;

/**
 * The 404s for ids that the owner does not have, by id: says of those that the account has in the
 * other mode that they are there.
 */
export async function describeMissing(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  table: keyof typeof KINDS,
  ids: readonly (Uuid | undefined)[],
): Promise<(id: Uuid | undefined) => ApiError> {
  const known = ids.flatMap((id) => id ?? []);
  const rows =
    known.length === 0
      ? []
      : await sql<{ id: Uuid }[]>`
          select id from ${sql(table)}
           where id = any (${known}::uuid[]) and account_id = ${accountId} and mode <> ${mode}`;
  const elsewhere = new Set(rows.map(({ id }) => id));
  const other = mode === "live" ? "test" : "live";
  return (id) =>
    id !== undefined && elsewhere.has(id)
      ? new ApiError(
          "not_found",
          `The ${KINDS[table]} does not exist in ${mode} mode. It is in ${other} mode: use a ${other} key.`,
        )
      : notFound(KINDS[table]);
}

/** As {@link describeMissing}, for one id. */
export const missing = async (
  sql: Sql | Transaction,
  owner: AccountScope,
  table: keyof typeof KINDS,
  id: Uuid | undefined,
): Promise<ApiError> => (await describeMissing(sql, owner, table, [id]))(id);

/** Returns a row that was found for an id; throws what {@link missing} says if none was. */
export async function requireFound<Row>(
  row: Row | undefined,
  sql: Sql | Transaction,
  owner: AccountScope,
  { table, id }: { table: keyof typeof KINDS; id: Uuid | undefined },
): Promise<Row> {
  if (row === undefined) throw await missing(sql, owner, table, id);
  return row;
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
