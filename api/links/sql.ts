/** The statements on links. */
import type { LinkRecord, Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { LinkRow } from "./model.ts";

/** Whose links a statement may see. */
export type Owner = { accountId: Uuid; mode: Mode };

export type NewLink = Omit<LinkRow, "version" | "updated_at" | "clicks" | "unique_clicks">;

/** What the links feed is to be told, but for the version, which the statement draws. */
export type RecordDraft = Omit<Extract<LinkRecord, { state: "active" }>, "version">;

/**
 * Inserts a link with its counters and its outbox row; returns the version and the outbox row's id.
 * The alias is locked before the version is drawn, so that of two links that follow each other under
 * one alias the later has the higher version. A taken alias violates `links_alias_key`.
 */
export async function insertLink(
  sql: Sql,
  link: NewLink,
  draft: RecordDraft,
): Promise<{ version: number; outboxId: number }> {
  const [row] = await sql<[{ version: string; outbox_id: string }]>`
    with alias_lock as materialized (
      select pg_advisory_xact_lock(hashtextextended(${draft.domain + "/" + link.alias}, 1)) is null as held
    ), drawn as materialized (
      select nextval('link_version') as version from alias_lock
    ), link as (
      insert into links (id, account_id, mode, domain_id, alias, original_url, target_url, title, password_hash,
                         expires_at, utm_source, utm_medium, utm_campaign, utm_term, utm_content,
                         forward_query, tags, version, created_at, updated_at)
      select ${link.id}, ${link.account_id}, ${link.mode}, ${link.domain_id}, ${link.alias},
             ${link.original_url}, ${link.target_url}, ${link.title}, ${link.password_hash}, ${link.expires_at},
             ${link.utm_source}, ${link.utm_medium}, ${link.utm_campaign}, ${link.utm_term},
             ${link.utm_content}, ${link.forward_query}, ${link.tags}, drawn.version, ${link.created_at},
             ${link.created_at}
        from drawn
    ), counters as (
      insert into link_counters (link_id, account_id, mode)
      values (${link.id}, ${link.account_id}, ${link.mode})
    )
    insert into link_outbox (version, record)
    select drawn.version, ${sql.json(draft)}::jsonb || jsonb_build_object('version', drawn.version)
      from drawn
    returning version, id as outbox_id`;
  return { version: Number(row.version), outboxId: Number(row.outbox_id) };
}

/** The beginning of every statement that reads whole links: columns of a {@link LinkRow}, and tables. */
export const selectLinks = (sql: Sql | Transaction) => sql`
    select link.id, link.account_id, link.mode, link.domain_id, domain.host as domain_host, link.alias,
           link.original_url, link.target_url, link.title, link.password_hash, link.expires_at,
           link.utm_source, link.utm_medium, link.utm_campaign, link.utm_term, link.utm_content,
           link.forward_query, link.tags, link.version::float8 as version, link.created_at, link.updated_at,
           counters.clicks::float8 as clicks, counters.unique_clicks::float8 as unique_clicks
      from links link
      join link_counters counters on counters.link_id = link.id
      left join domains domain on domain.id = link.domain_id`;

/** Finds a link of the account and mode, by the primary keys of `links` and `link_counters`. */
export async function findLink(
  sql: Sql | Transaction,
  owner: Owner,
  id: Uuid,
): Promise<LinkRow | undefined> {
  const [row] = await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = ${id} and link.account_id = ${owner.accountId} and link.mode = ${owner.mode}`;
  return row;
}

/** As {@link findLink}, and keeps everyone else from changing the link until the transaction ends. */
export async function lockLink(
  transaction: Transaction,
  owner: Owner,
  id: Uuid,
): Promise<LinkRow | undefined> {
  await transaction`
    select from links where id = ${id} and account_id = ${owner.accountId} and mode = ${owner.mode} for update`;
  // A second statement, so that it sees what the lock was waited for.
  return await findLink(transaction, owner, id);
}

/**
 * Locks short links by domain and alias, in one order for all, before versions of them are drawn: see
 * {@link insertLink}.
 */
export async function lockAliases(
  transaction: Transaction,
  shortLinks: readonly { domain: string; alias: string }[],
): Promise<void> {
  const names = shortLinks.map(({ domain, alias }) => `${domain}/${alias}`).toSorted();
  for (const name of names) {
    await transaction`select pg_advisory_xact_lock(hashtextextended(${name}, 1))`;
  }
}

/** Writes the changed link under a new version, which it returns. A taken alias violates `links_alias_key`. */
export async function updateLink(transaction: Transaction, link: LinkRow): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    update links
       set alias = ${link.alias}, original_url = ${link.original_url}, target_url = ${link.target_url},
           title = ${link.title}, password_hash = ${link.password_hash}, expires_at = ${link.expires_at},
           utm_source = ${link.utm_source}, utm_medium = ${link.utm_medium},
           utm_campaign = ${link.utm_campaign}, utm_term = ${link.utm_term},
           utm_content = ${link.utm_content}, forward_query = ${link.forward_query},
           tags = ${link.tags},
           version = nextval('link_version'), updated_at = ${link.updated_at}
     where id = ${link.id}
    returning version`;
  return Number(row.version);
}

/** Deletes a link with its counters, and returns the version of its being gone. */
export async function deleteLink(transaction: Transaction, id: Uuid): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    with gone as (delete from links where id = ${id} returning id)
    select nextval('link_version') as version from gone`;
  return Number(row.version);
}

/** Adds a change to the outbox, and returns the row's id. */
export async function insertOutbox(transaction: Transaction, record: LinkRecord): Promise<number> {
  const [row] = await transaction<[{ id: string }]>`
    insert into link_outbox (version, record)
    values (${record.version}, ${transaction.json(record)}) returning id`;
  return Number(row.id);
}

/** Links of all accounts in the order of their ids, from behind `after` on. */
export async function listLinksAfter(
  sql: Sql,
  after: Uuid | null,
  limit: number,
): Promise<LinkRow[]> {
  return await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where ${after}::uuid is null or link.id > ${after}
     order by link.id limit ${limit}`;
}

/** Adds states of links to the outbox, where they wait for whoever publishes next. */
export async function insertOutboxes(sql: Sql, records: readonly LinkRecord[]): Promise<void> {
  const rows = records.map((record) => ({ version: record.version, record: sql.json(record) }));
  await sql`insert into link_outbox ${sql(rows, "version", "record")}`;
}

/** Those of the links that are the owner's, by their primary key. */
export async function findCreationTimes(
  sql: Sql,
  owner: Owner,
  ids: readonly Uuid[],
): Promise<{ id: Uuid; created_at: Date }[]> {
  return await sql<{ id: Uuid; created_at: Date }[]>`
    select id, created_at from links
     where id = any (${[...ids]}::uuid[]) and account_id = ${owner.accountId} and mode = ${owner.mode}`;
}

/** When the owner's oldest link was made; from the index by account and time. */
export async function findFirstCreation(sql: Sql, owner: Owner): Promise<Date | undefined> {
  const [row] = await sql<{ created_at: Date }[]>`
    select created_at from links
     where account_id = ${owner.accountId} and mode = ${owner.mode}
     order by created_at
     limit 1`;
  return row?.created_at;
}
