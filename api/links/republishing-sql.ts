/** SQL statements that publish links again. */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { LinkRow } from "./model.ts";
import { findLinksInOrder, selectLinks } from "./sql.ts";

type Selection = {
  /** The last link of the previous batch; null for the first batch. */
  after: Uuid | null;
  limit: number;
  /** All links, or only those whose aliases contain upper-case letters. */
  only: "any" | "with_case";
};

/** Locks links of a domain, in id order. */
export async function lockDomainLinks(
  transaction: Transaction,
  domainId: Uuid,
  { after, limit, only }: Selection,
): Promise<LinkRow[]> {
  const condition = only === "any" ? transaction`` : transaction`and alias <> fold_alias(alias)`;
  const locked = await transaction<{ id: Uuid }[]>`
    select id from links
     where domain_id = ${domainId} ${condition} and (${after}::uuid is null or id > ${after})
     order by id limit ${limit} for update`;
  const ids = locked.map(({ id }) => id);
  return ids.length === 0 ? [] : await findLinksInOrder(transaction, ids);
}

/** Selects the verified domains of all accounts, by their hosts. */
export async function findServedDomains(sql: Sql): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select id from domains where verified_at is not null order by host collate "C"`;
  return rows.map(({ id }) => id);
}

/**
 * Reads the next redirecting links of a domain, or of the service's own, in the order of their
 * aliases. They are chosen before they are joined with their counters: PostgreSQL would otherwise
 * read the counters of all links before them as well.
 */
export async function findServedLinksOf(
  sql: Sql,
  domainId: Uuid | null,
  after: string,
  limit: number,
): Promise<LinkRow[]> {
  const owned = domainId === null ? sql`link.domain_id is null` : sql`link.domain_id = ${domainId}`;
  // An index has this order; PostgreSQL does not see that it is also that of the aliases alone.
  const order = sql`link.domain_id, link.alias`;
  return await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = any (array(
       select link.id from links link left join domains domain on domain.id = link.domain_id
        where ${owned} and link.alias > ${after} and (link.domain_id is null or domain.verified_at is not null)
        order by ${order} limit ${limit}))
     order by ${order}`;
}

/** Returns the aliases that links of a domain have, with exact case. */
export async function findTakenAliases(
  transaction: Transaction,
  domainId: Uuid,
  aliases: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await transaction<{ alias: string }[]>`
    select alias from links where domain_id = ${domainId} and alias = any (${[...aliases]}::text[])`;
  return new Set(rows.map(({ alias }) => alias));
}

/**
 * Returns the aliases (as the log names them) that belong to links on a domain of the log: the
 * verified domain of a host, or the service's own.
 */
export async function findServedAliases(
  sql: Sql | Transaction,
  domain: string,
  aliases: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows =
    domain === DEFAULT_DOMAIN
      ? await sql<{ alias: string }[]>`
          select alias from links where domain_id is null and alias = any (${[...aliases]}::text[])`
      : await sql<{ alias: string }[]>`
          select case when link.folded then fold_alias(link.alias) else link.alias end as alias
            from domains domain join links link on link.domain_id = domain.id
           where domain.host = ${domain} and domain.verified_at is not null
             and (link.alias = any (${[...aliases]}::text[]) or link.folded and fold_alias(link.alias) = any (${[...aliases]}::text[]))`;
  return new Set(rows.map(({ alias }) => alias));
}
