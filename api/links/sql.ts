/**
 * SQL statements on links, for one link as for many. Each that writes takes the locks of its short
 * links before it draws versions and adds to the outbox. So the log has the states of a short link
 * in the order of its changes, and the later one has the higher version.
 */

import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { keyOf, type ShortLink } from "../../shared/contracts/short-link.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Consumption } from "../limits/quotas.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type LinkRow, type NewLink, TEXT_COLUMNS } from "./model.ts";

/** The columns that an update can change. */
const CHANGED_COLUMNS = [
  "domain_id",
  "folded",
  "alias",
  "original_url",
  "target_url",
  ...TEXT_COLUMNS,
  "password_hash",
  "expires_at",
  "forward_query",
  "tags",
  "extras",
  "archived",
  "updated_at",
] as const satisfies readonly (keyof LinkRow)[];

/** The columns of a new link, but for its version. */
const COLUMNS = [
  "id",
  "account_id",
  "mode",
  "created_by",
  "created_at",
  ...CHANGED_COLUMNS,
] as const satisfies readonly (keyof LinkRow)[];

/** The same of the rows that are inserted. */
const FIELDS = COLUMNS.map((name) => `fields.${name}`);

/** A list of columns. A statement of its own, because the library guesses by the text before it. */
const listColumns = (sql: Sql | Transaction, columns: readonly string[]) => sql`${sql(columns)}`;

/**
 * The SELECT and FROM clauses that read a whole {@link LinkRow}. Columns are written out, because
 * the library would quote each one again for each statement.
 */
export const selectLinks = (sql: Sql | Transaction) => sql`
    select link.id, link.account_id, link.mode, link.created_by, link.created_at, link.updated_at, link.domain_id,
           link.alias, link.original_url, link.target_url, link.title, link.notes, link.external_id, link.utm_source,
           link.utm_medium, link.utm_campaign, link.utm_term, link.utm_content, link.password_hash, link.expires_at,
           link.forward_query, link.tags, link.extras, domain.host as domain_host, link.archived is true as archived,
           link.taken_down is true as taken_down, link.folded is true as folded,
           (link.domain_id is null or domain.verified_at is not null) as served, link.version::float8 as version,
           counters.clicks::float8 as clicks, counters.unique_clicks::float8 as unique_clicks,
           nullif(counters.last_click_at, 'epoch') as last_click_at
      from links link
      join link_counters counters on counters.link_id = link.id
      left join domains domain on domain.id = link.domain_id`;

/** Finds one of the owner's links by the primary keys of `links` and `link_counters`. */
export async function findLink(
  sql: Sql | Transaction,
  owner: AccountScope,
  id: Uuid,
): Promise<LinkRow | undefined> {
  const [row] = await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = ${id} and link.account_id = ${owner.accountId} and link.mode = ${owner.mode}`;
  return row;
}

/** Reads links by their primary keys, in the order of `ids`. */
export async function findLinksInOrder(
  sql: Sql | Transaction,
  ids: readonly Uuid[],
): Promise<LinkRow[]> {
  return await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = any (${[...ids]}::uuid[])
     order by array_position(${[...ids]}::uuid[], link.id)`;
}

/**
 * Takes the advisory locks of short links, in their order, until the transaction ends. Waits for
 * those that others hold, or says that they are not held.
 */
const selectLocks = (sql: Sql | Transaction, shortLinks: readonly ShortLink[], waits = true) => sql`
  select name, ${waits ? sql`pg_advisory_xact_lock(hashtextextended(name, 1)) is not null` : sql`pg_try_advisory_xact_lock(hashtextextended(name, 1))`} as held
    from (select name from unnest(${lockNamesOf(shortLinks)}::text[]) with ordinality as sorted (name, place) order by place) names`;

/**
 * Names of locks: each once and sorted, so that no two transactions wait for each other. A link at
 * the first segment of an alias may forward its path (`refuse_foreign_path`).
 */
export const lockNamesOf = (shortLinks: readonly ShortLink[]): string[] => {
  const links = shortLinks.flatMap(({ domain, alias }) => {
    const first = domain === DEFAULT_DOMAIN ? alias.split("/", 1).join("") : alias;
    return [alias, first].map((name) => keyOf({ domain, alias: name }));
  });
  return [...new Set(links)].toSorted();
};

/** Locks short links until the transaction ends. */
export async function lockAliases(
  transaction: Transaction,
  shortLinks: readonly ShortLink[],
): Promise<void> {
  await selectLocks(transaction, shortLinks);
}

/** Locks short links until the transaction ends, and then draws `count` versions. */
export async function lockAliasesAndDrawVersions(
  transaction: Transaction,
  shortLinks: readonly ShortLink[],
  count: number,
): Promise<number[]> {
  const rows = await transaction<{ version: string }[]>`
    with locked as materialized (${selectLocks(transaction, shortLinks)})
    select version from (select count(held) from locked) locks
     cross join lateral next_link_versions(case when locks.count >= 0 then ${count}::integer end) as version`;
  return rows.map(({ version }) => Number(version));
}

/**
 * Whether the id of a link is one of these. A single id is compared, so that its plan is reused.
 */
const isOneOf = (sql: Sql | Transaction, ids: readonly Uuid[]) =>
  ids.length === 1 ? sql`link.id = ${ids[0] ?? ""}` : sql`link.id = any (${[...ids]}::uuid[])`;

/**
 * A new link, the state that publishes its short link, as JSON without its version and what closes
 * it, and the event that records it, with parts as JSON. PostgreSQL assigns the version of the
 * first two.
 */
export type Insertion = ShortLink & {
  row: NewLink & { updated_at: Date };
  state: string;
  event: { id: Uuid; data: string; actor: string; origin: string | null };
};

/** The SQLSTATE of a link whose domain has changed since it was looked up. */
export const DOMAIN_CHANGED = "57P03";

/** What was inserted; nothing if the quota was not granted. */
type Inserted = {
  consumption: Consumption;
  /** The bytes of their events, which the account pays for. */
  ledgerBytes: number;
  /** Of the links, in their order; undefined if the quota was not granted. */
  versions: number[] | undefined;
};

/** Consumes the quota once all locks are held; has no row otherwise. */
const consumeQuota = (sql: Sql, { accountId, mode }: AccountScope, links: number) => sql`
  select consumed.*
    from (select bool_and(held) as held from locked) locks
   cross join lateral consume_quota(
     ${accountId}, ${mode}, 'links_per_day', case when locks.held then ${links}::integer end
   ) consumed
   where locks.held`;

/** As {@link consumeQuota}, where nothing is consumed. The locks are taken all the same. */
const grantAll = (sql: Sql) => sql`
  select true as granted, 0 as allowed, 0 as seconds, 0 as used, 0::float8 as resets_ms, 0::float8 as now_ms
    from (select bool_and(held) as held from locked) locks
   where locks.held`;

/**
 * Inserts the owner's links with their counters, outbox entries and events. If it `consumes` of the
 * daily quota, each link takes one; if that does not suffice, inserts none. A taken name or path
 * violates `links_alias_key`, `links_folded_alias_key` or `links_external_id_key`; then nothing is
 * written or consumed. Locks the short links first and the quota second, so that all creations lock
 * in the same order. Unless it `waits`, `locked` are the names of locks that others hold, if any:
 * then it has inserted nothing.
 */
export async function insertLinks(
  sql: Sql,
  { accountId, mode }: AccountScope,
  insertions: readonly Insertion[],
  { waits, consumes }: { waits: boolean; consumes: boolean },
): Promise<Inserted | { locked: ReadonlySet<string> }> {
  const fields = JSON.stringify(insertions.map(({ row }) => filledColumns(row)));
  // Each value once, and of text only: PostgreSQL copies the parameters of a statement to plan it.
  const ids = insertions.map(({ row }) => row.id);
  const domains = insertions.map(({ domain }) => domain);
  const aliases = insertions.map(({ alias }) => alias);
  const states = insertions.map(({ state }) => state);
  const eventIds = insertions.map(({ event }) => event.id);
  const data = insertions.map(({ event }) => event.data);
  const actors = insertions.map(({ event }) => event.actor);
  const origins = insertions.map(({ event }) => event.origin);
  type Row = Consumption & { versions: number[]; ledger_bytes: number; locked: string[] };
  const [row] = await sql<[Row]>`
    with locked as materialized (${selectLocks(sql, insertions, waits)}
    ), quota as materialized (
      ${consumes ? consumeQuota(sql, { accountId, mode }, insertions.length) : grantAll(sql)}
    ), drawn as materialized (
      select given.*, version
        from quota
       cross join lateral next_link_versions(case when granted then ${insertions.length}::integer else 0 end)
               with ordinality as versions (version, place)
        join unnest(${ids}::uuid[], ${domains}::text[], ${aliases}::text[], ${states}::text[], ${eventIds}::uuid[],
                    ${data}::text[], ${actors}::text[], ${origins}::text[])
               with ordinality as given (link_id, domain, alias, state, event_id, data, actor, origin, place) using (place)
       order by place
    ), link as (
      insert into links (${listColumns(sql, COLUMNS)}, version)
      select ${listColumns(sql, FIELDS)}, drawn.version
        from json_populate_recordset(null::links, ${fields}::text::json) fields
        join drawn on drawn.link_id = fields.id
    ), counters as (
      insert into link_counters (link_id, account_id, mode)
      select link_id, ${accountId}, ${mode} from drawn
    ), recorded as (
      insert into events (id, account_id, mode, type, object_id, link_id, data, actor, origin)
      select event_id, ${accountId}, ${mode}, 'link.created', link_id, link_id, data::jsonb, actor::jsonb, origin::jsonb
        from drawn
      returning bytes
    ), outbox as (
      insert into link_outbox (domain, alias, state)
      select domain, alias, state || ',"version":' || version || '}' from drawn
    )
    select quota.*, array(select version::float8 from drawn order by place) as versions,
           (select coalesce(sum(bytes), 0) + count(*) * ledger_cost(${accountId}, ${mode}, 'link.created', 0)
              from recorded)::float8 as ledger_bytes,
           array(select name from locked where not held) as locked
      from (select) always left join quota on true`;
  const { versions, ledger_bytes: ledgerBytes, locked, ...consumption } = row;
  if (locked.length > 0) return { locked: new Set(locked) };
  return { consumption, ledgerBytes, versions: consumption.granted ? versions : undefined };
}

/** The columns of a row that are not null: a link has few of them. */
const filledColumns = (row: Insertion["row"]) =>
  Object.fromEntries(
    COLUMNS.flatMap((name) => (row[name] === null ? [] : [[name, row[name]] as const])),
  );

/** Locks the owner's links among these ids until the transaction ends, and reads them. */
export async function lockLinks(
  transaction: Transaction,
  owner: AccountScope,
  ids: readonly Uuid[],
): Promise<Map<Uuid, LinkRow>> {
  await transaction`
    select from links link
     where ${isOneOf(transaction, ids)} and account_id = ${owner.accountId} and mode = ${owner.mode}
     order by id for update`;
  // A second statement, so that it sees what the previous holders of the locks committed.
  return await findOwnedLinks(transaction, owner, ids);
}

/** Reads the owner's links among these ids, by primary key. */
export async function findOwnedLinks(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
): Promise<Map<Uuid, LinkRow>> {
  const rows = await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where ${isOneOf(sql, ids)} and link.account_id = ${accountId} and link.mode = ${mode}`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** The names that a link is to have; null for one that it has already, or does not choose. */
export type RequestedNames = {
  id: Uuid;
  domain_id: Uuid | null;
  folded: boolean;
  alias: string | null;
  /** Whether it is to have the paths beneath its alias. */
  forwards: boolean;
  external_id: string | null;
};

/** A reason why a link cannot have its names. */
export type Conflict = {
  id: Uuid;
  alias_taken: boolean;
  external_id_taken: boolean;
  id_taken: boolean;
};

/** The link that has a requested alias, and where it redirects. */
export type AliasHolder = {
  requested: Uuid;
  id: Uuid;
  account_id: Uuid;
  mode: string;
  target_url: string;
};

/** Finds the links that have the aliases that these links are to have, whosever they are. */
export async function findAliasHolders(
  sql: Sql,
  requested: readonly RequestedNames[],
): Promise<Map<Uuid, AliasHolder>> {
  const ids = requested.map(({ id }) => id);
  const domainIds = requested.map(({ domain_id }) => domain_id);
  const folded = requested.map((names) => Number(names.folded));
  const aliases = requested.map(({ alias }) => alias);
  const rows = await sql<AliasHolder[]>`
    select requested.id as requested, holder.*
      from unnest(${ids}::uuid[], ${domainIds}::uuid[], ${folded}::integer[], ${aliases}::text[])
        as requested (id, domain_id, folded, alias)
     cross join lateral (
       select link.id, link.account_id, link.mode, link.target_url from links link
        where link.domain_id = requested.domain_id and link.alias = requested.alias
       union all
       select link.id, link.account_id, link.mode, link.target_url from links link
        where requested.domain_id is null and link.domain_id is null and link.alias = requested.alias
       union all
       select link.id, link.account_id, link.mode, link.target_url from links link
        where requested.folded = 1 and link.domain_id = requested.domain_id
          and fold_alias(link.alias) = fold_alias(requested.alias) and link.folded
     ) holder`;
  return new Map(rows.map((row) => [row.requested, row]));
}

/** Finds the links whose names another link has, or whose ids are taken. */
export async function findConflicts(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  requested: readonly RequestedNames[],
): Promise<Map<Uuid, Conflict>> {
  const rows = await sql<Conflict[]>`
    select requested.id,
           exists (select from links link
                    where link.domain_id = requested.domain_id and link.alias = requested.alias and link.id <> requested.id)
           or requested.domain_id is null
              and exists (select from links link
                           where link.domain_id is null and link.alias = requested.alias and link.id <> requested.id)
           or requested.domain_id is null and is_foreign_path(${accountId}, requested.alias, requested.forwards)
           or requested.folded
              and exists (select from links link
                           where link.domain_id = requested.domain_id and fold_alias(link.alias) = fold_alias(requested.alias)
                             and link.folded and link.id <> requested.id) as alias_taken,
           exists (select from links link
                    where link.account_id = ${accountId} and link.mode = ${mode}
                      and link.external_id = requested.external_id and link.id <> requested.id) as external_id_taken,
           exists (select from links link where link.id = requested.id) as id_taken
      from jsonb_to_recordset(${sql.json([...requested])}::jsonb)
        as requested (id uuid, domain_id uuid, folded boolean, external_id text, alias text, forwards boolean)`;
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Updates links; each row has its new version. A taken external id violates
 * `links_external_id_key`.
 */
export async function updateLinkRows(
  transaction: Transaction,
  rows: readonly LinkRow[],
): Promise<void> {
  const columns = listColumns(transaction, [...CHANGED_COLUMNS, "version"]);
  const ids = rows.map(({ id }) => id);
  // With the ids by themselves, because PostgreSQL takes any array for one of a hundred elements.
  await transaction`
    update links link
       set (${columns}) =
           (select ${columns} from jsonb_populate_record(null::links, changed))
      from jsonb_array_elements(${transaction.json([...rows])}::jsonb) changed
     where ${isOneOf(transaction, ids)} and link.id = (changed ->> 'id')::uuid`;
}

/** Deletes links with their counters and the checks of their limits. */
export async function deleteLinkRows(
  transaction: Transaction,
  ids: readonly Uuid[],
): Promise<void> {
  // In this order, which is that of a worker that counts clicks.
  await Promise.all([
    transaction`delete from links link where ${isOneOf(transaction, ids)}`,
    transaction`delete from limit_checks where link_id = any (${[...ids]}::uuid[])`,
  ]);
}
