/** The statements on links. */
import type { LinkRecord, Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { LinkRow } from "./model.ts";

export type NewLink = Omit<
  LinkRow,
  "domain_host" | "version" | "updated_at" | "clicks" | "unique_clicks"
>;

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
      insert into links (id, account_id, mode, alias, original_url, target_url, title, password_hash,
                         expires_at, utm_source, utm_medium, utm_campaign, utm_term, utm_content,
                         forward_query, version, created_at, updated_at)
      select ${link.id}, ${link.account_id}, ${link.mode}, ${link.alias}, ${link.original_url},
             ${link.target_url}, ${link.title}, ${link.password_hash}, ${link.expires_at},
             ${link.utm_source}, ${link.utm_medium}, ${link.utm_campaign}, ${link.utm_term},
             ${link.utm_content}, ${link.forward_query}, drawn.version, ${link.created_at},
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

/** Finds a link of the account and mode, by the primary keys of `links` and `link_counters`. */
export async function findLink(
  sql: Sql,
  owner: { accountId: Uuid; mode: Mode },
  id: Uuid,
): Promise<LinkRow | undefined> {
  const [row] = await sql<LinkRow[]>`
    select link.id, link.account_id, link.mode, domain.host as domain_host, link.alias,
           link.original_url, link.target_url, link.title, link.password_hash, link.expires_at,
           link.utm_source, link.utm_medium, link.utm_campaign, link.utm_term, link.utm_content,
           link.forward_query, link.version::float8 as version, link.created_at, link.updated_at,
           counters.clicks::float8 as clicks, counters.unique_clicks::float8 as unique_clicks
      from links link
      join link_counters counters on counters.link_id = link.id
      left join domains domain on domain.id = link.domain_id
     where link.id = ${id} and link.account_id = ${owner.accountId} and link.mode = ${owner.mode}`;
  return row;
}
