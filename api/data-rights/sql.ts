/** SQL statements on everything that belongs to an account, as the owner of all tables. */
import type { JSONValue, ReservedSql } from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import { INSTALLATION } from "../events/record.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type OwnedTable, type Owner, SECRET_COLUMNS } from "./tables.ts";

/** Rows that one statement deletes, and that one part of an export has. */
const DELETED_AT_ONCE = 5_000;
const READ_AT_ONCE = 500;

export async function hasAccount(sql: Sql, account: Uuid): Promise<boolean> {
  return (await sql`select from accounts where id = ${account}`).length > 0;
}

/** The own users of an account: its members who are in no other. */
export async function findOwnUsers(sql: Sql, account: Uuid): Promise<Uuid[]> {
  const rows = await sql<{ user_id: Uuid }[]>`
    select user_id from members member
     where account_id = ${account}
       and not exists (select from members other
                        where other.user_id = member.user_id and other.account_id <> ${account})`;
  return rows.map(({ user_id }) => user_id);
}

/** How many rows of a table belong to an account. */
export async function countRows(
  sql: Sql | Transaction,
  { table, where }: OwnedTable,
  owner: Owner,
): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::float8 as count from ${sql(table)} where ${where(sql, owner)}`;
  return row.count;
}

/** Deletes some rows of a table; returns how many, 0 when none is left. */
export async function deleteRows(
  sql: Sql | Transaction,
  { table, where }: OwnedTable,
  owner: Owner,
): Promise<number> {
  const { count } = await sql`
    delete from ${sql(table)} where ctid = any (array(
      select ctid from ${sql(table)} where ${where(sql, owner)} limit ${DELETED_AT_ONCE}))`;
  return count;
}

/** A connection that sees the database as it was when it was opened. */
export class Snapshot implements AsyncDisposable {
  readonly sql: ReservedSql;

  private constructor(sql: ReservedSql) {
    this.sql = sql;
  }

  static async open(sql: Sql): Promise<Snapshot> {
    const connection = await sql.reserve();
    await connection`begin isolation level repeatable read read only`;
    return new Snapshot(connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql`rollback`;
    this.sql.release();
  }
}

/** The rows of a table as JSON without secrets, some at a time; members with who they are. */
export function readRows(
  sql: Sql,
  { table, where }: OwnedTable,
  owner: Owner,
): AsyncIterable<{ row: Record<string, unknown> }[]> {
  const who =
    table === "members"
      ? sql`|| (select jsonb_build_object('email', email, 'name', name) from users where id = owned.user_id)`
      : sql``;
  return sql<{ row: Record<string, unknown> }[]>`
    select to_jsonb(owned) - ${SECRET_COLUMNS}::text[] ${who} as row
      from ${sql(table)} owned where ${where(sql, owner)}`.cursor(READ_AT_ONCE);
}

/** Lifts takedowns of single links, which could not be deleted otherwise. */
export async function liftTakedowns(sql: Sql, account: Uuid): Promise<void> {
  await sql`update links set taken_down = null where account_id = ${account} and taken_down`;
}

/**
 * The domains that an account has proven, as another one may have the others; and the ledgers of
 * click limits of its links.
 */
export async function findOutside(
  sql: Sql,
  account: Uuid,
): Promise<{ hosts: string[]; ledgers: Uuid[] }> {
  const [row] = await sql<[{ hosts: string[]; ledgers: Uuid[] }]>`
    select array(select host from domains
                  where account_id = ${account} and verified_at is not null) as hosts,
           array(select extras ->> 'ledger' from links
                  where account_id = ${account} and extras ? 'ledger') as ledgers`;
  return row;
}

/** The e-mail addresses of users. */
export async function findEmails(sql: Sql, users: readonly Uuid[]): Promise<string[]> {
  const rows = await sql<{ email: string }[]>`
    select email from users where id = any (${[...users]}::uuid[])`;
  return rows.map(({ email }) => email);
}

/** Those of these ids that are the account, its users, links, imports, keys and domains. */
export async function findOwnedIds(
  sql: Sql | Transaction,
  { account, users }: Owner,
  ids: readonly Uuid[],
): Promise<Set<Uuid>> {
  const rows = await sql<{ id: Uuid }[]>`
    select wanted.id from unnest(${[...ids]}::uuid[]) wanted (id)
     where wanted.id = ${account} or wanted.id = any (${[...users]}::uuid[])
        or exists (select from links where links.id = wanted.id and account_id = ${account})
        or exists (select from imports where imports.id = wanted.id and account_id = ${account})
        or exists (select from api_keys where api_keys.id = wanted.id and account_id = ${account})
        or exists (select from domains where domains.id = wanted.id and account_id = ${account})`;
  return new Set(rows.map(({ id }) => id));
}

/** The entries of the installation's ledger but proofs of erasures, some at a time. */
export const readInstallation = (sql: Sql): AsyncIterable<{ id: Uuid; text: string }[]> =>
  sql<{ id: Uuid; text: string }[]>`
    select id, data::text as text from events
     where account_id = ${INSTALLATION.accountId} and position is not null
       and data ->> 'command' is distinct from 'accounts erase'
     order by position`.cursor(READ_AT_ONCE);

/** The first proof that an account is gone; undefined when retention has deleted it. */
export async function findProof(sql: Sql, account: string): Promise<JSONValue | undefined> {
  const [entry] = await sql<{ data: JSONValue }[]>`
    select data from events
     where account_id = ${INSTALLATION.accountId}
       and data ->> 'command' = 'accounts erase' and data ->> 'account' = ${account}
     order by id limit 1`;
  return entry?.data;
}

/** The ids of the first entries of a feed. */
export async function listFirst(
  sql: Transaction,
  { accountId, mode }: AccountScope,
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select id from events where account_id = ${accountId} and mode = ${mode} and position is not null
     order by position limit ${DELETED_AT_ONCE}`;
  return rows.map(({ id }) => id);
}

/** Clicks of a link of an account, of whole days (UTC), or both; the day `to` is not of them. */
export type ClickRange = {
  link: Uuid | undefined;
  from: Date | undefined;
  to: Date | undefined;
};

/** The entries of a feed that have such clicks; `link` is the public id. */
export async function findClickEvents(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  link: string | undefined,
  { from, to }: ClickRange,
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select id from events
     where account_id = ${accountId} and mode = ${mode} and type = 'clicks.recorded' and position is not null
       and exists (
         select from jsonb_array_elements(data -> 'clicks') click
          where (${link ?? null}::text is null or click ->> 'link_id' = ${link ?? null})
            and (click ->> 'time')::timestamptz >= coalesce(${from ?? null}::timestamptz, '-infinity')
            and (click ->> 'time')::timestamptz < coalesce(${to ?? null}::timestamptz, 'infinity'))`;
  return rows.map(({ id }) => id);
}

/** Finds reports that were made with such clicks: of the link, or of days among these. */
export async function findRuns(
  sql: Sql | Transaction,
  account: Uuid,
  { link, from, to }: ClickRange,
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select run.id from report_runs run join reports report on report.id = run.report_id
     where report.account_id = ${account} and (${link ?? null}::uuid is null or report.link_id = ${link ?? null})
       and run.last_day >= coalesce(${from ?? null}::timestamptz, '-infinity')
       and run.first_day < coalesce(${to ?? null}::timestamptz, 'infinity')`;
  return rows.map(({ id }) => id);
}

export async function deleteRuns(sql: Transaction, ids: readonly Uuid[]): Promise<void> {
  await sql`delete from report_runs where id = any (${[...ids]}::uuid[])`;
}

/** Entries of the links log up to a position. */
export async function countEntries(sql: Sql, position: number): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::float8 as count from link_log where position <= ${position}`;
  return row.count;
}

/** Forgets those that the tail has acknowledged, but the last one. */
export async function forgetEntries(sql: Sql, position: number): Promise<void> {
  await sql`
    delete from link_log using link_log_head head
     where link_log.position <= ${position} and link_log.position < head.acknowledged_position`;
}
