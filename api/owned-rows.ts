/** Statements on rows that accounts own in each mode, and the errors of rows that are missing. */
import type { PendingQuery, Row } from "postgres";

import type { Uuid } from "../shared/ids.ts";
import { ApiError, notFound } from "./http/errors.ts";
import { type ListPart, type ListRequest, type ListStart, readPart } from "./http/pagination.ts";
import type { AccountScope } from "./http/principal.ts";
import type { Sql, Transaction } from "./postgres.ts";

/** Tables whose rows belong to an account in a mode. */
type OwnedTable = "api_keys" | "domains" | "reports" | "shares" | "webhooks";

/** The rows of a table. Every statement takes the owner, so it finds no other account's rows. */
export class OwnedRows<Found extends { id: Uuid; created_at: Date }> {
  readonly #table: OwnedTable;
  readonly #columns: (sql: Sql | Transaction) => PendingQuery<Row[]>;

  /** `columns` are those of a row that is found. */
  constructor(table: OwnedTable, columns: (sql: Sql | Transaction) => PendingQuery<Row[]>) {
    this.#table = table;
    this.#columns = columns;
  }

  /** Finds a row by its id; throws as {@link missing}. */
  async get(sql: Sql | Transaction, owner: AccountScope, id: Uuid | undefined): Promise<Found> {
    const row = id === undefined ? undefined : await this.find(sql, owner, id);
    return await this.require(row, sql, owner, id);
  }

  /** As `get`, and locks the row until the transaction ends. */
  async lock(sql: Transaction, owner: AccountScope, id: Uuid | undefined): Promise<Found> {
    const row = id === undefined ? undefined : await this.find(sql, owner, id, true);
    return await this.require(row, sql, owner, id);
  }

  /** Finds a row by its id; undefined when there is none. */
  async find(
    sql: Sql | Transaction,
    { accountId, mode }: AccountScope,
    id: Uuid,
    isLocked = false,
  ): Promise<Found | undefined> {
    const [row] = await sql<Found[]>`
      select ${this.#columns(sql)} from ${sql(this.#table)}
       where id = ${id} and account_id = ${accountId} and mode = ${mode} ${isLocked ? sql`for update` : sql``}`;
    return row;
  }

  /** Returns a row that a statement has found; throws as {@link missing} if it found none. */
  async require(
    row: Found | undefined,
    sql: Sql | Transaction,
    owner: AccountScope,
    id: Uuid | undefined,
  ): Promise<Found> {
    return await requireFound(row, sql, owner, { table: this.#table, id });
  }

  /** Reads the requested part of the rows, newest first; counts them only by page. */
  list(sql: Sql, owner: AccountScope, request: ListRequest): Promise<ListPart<Found>> {
    return readPart(
      request,
      (limit, start) => this.listFrom(sql, owner, limit, start),
      () => this.#count(sql, owner),
    );
  }

  /** Lists at most `limit` rows, newest first, from an offset or after a position. */
  async listFrom(
    sql: Sql,
    { accountId, mode }: AccountScope,
    limit: number,
    start: ListStart,
  ): Promise<Found[]> {
    return await sql<Found[]>`
      select ${this.#columns(sql)} from ${sql(this.#table)}
       where account_id = ${accountId} and mode = ${mode} ${newestFirst(sql, limit, start)}`;
  }

  /** Deletes a row, and returns it; throws as {@link missing}. */
  async delete(sql: Transaction, owner: AccountScope, id: Uuid | undefined): Promise<Found> {
    const { accountId, mode } = owner;
    const [row] = await sql<Found[]>`
      delete from ${sql(this.#table)}
       where id = ${id ?? null} and account_id = ${accountId} and mode = ${mode}
      returning ${this.#columns(sql)}`;
    return await this.require(row, sql, owner, id);
  }

  /**
   * Lets one transaction at a time add a row, until it ends; throws `quota_exceeded` when the owner
   * has `max` of them. The message advises the `remedy`.
   */
  async requireRoom(
    sql: Transaction,
    owner: AccountScope,
    max: number,
    remedy: "Delete" | "Revoke" = "Delete",
  ): Promise<void> {
    await lockOwned(sql, owner, this.#table);
    if ((await this.#count(sql, owner)) < max) return;
    const kind = `${KINDS[this.#table]}s`;
    throw new ApiError(
      "quota_exceeded",
      `The account has ${max} ${kind} already. ${remedy} one of them first.`,
    );
  }

  async #count(sql: Sql | Transaction, { accountId, mode }: AccountScope): Promise<number> {
    const [{ total }] = await sql<[{ total: number }]>`
      select count(*)::integer as total from ${sql(this.#table)}
       where account_id = ${accountId} and mode = ${mode}`;
    return total;
  }
}

/** What callers read of rows that they own, in the same way of each kind. */
export abstract class OwnedService<Found extends { id: Uuid; created_at: Date }> {
  readonly #sql: Sql;
  readonly #rows: OwnedRows<Found>;

  constructor(sql: Sql, rows: OwnedRows<Found>) {
    this.#sql = sql;
    this.#rows = rows;
  }

  /** Finds one of the owner's; throws `not_found`. */
  get(owner: AccountScope, id: Uuid | undefined): Promise<Found> {
    return this.#rows.get(this.#sql, owner, id);
  }

  /** Lists the owner's, newest first. */
  list(owner: AccountScope, request: ListRequest): Promise<ListPart<Found>> {
    return this.#rows.list(this.#sql, owner, request);
  }
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

/** Names of the tables' rows in messages. */
const KINDS = {
  api_keys: "key",
  domains: "domain",
  links: "link",
  reports: "report",
  shares: "share",
  webhooks: "webhook",
} as const satisfies Record<OwnedTable | "links", string>;

/**
 * Returns a function from an id that the owner does not have to its 404, which says so if the
 * account has it in the other mode.
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
const missing = async (
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
