/** Takes down and restores single links, on an operator's command or by lists of hosts. */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { ShortLink } from "../../shared/contracts/short-link.ts";
import type { Uuid } from "../../shared/ids.ts";
import { recordEvents } from "../events/record.ts";
import { type Actor, OPERATOR } from "../http/principal.ts";
import { addToOutbox } from "../links-log/log.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { takedownEvent } from "./events.ts";
import type { LinkRow } from "./model.ts";
import { shortLinkOf, toRecord } from "./record.ts";
import { lockAliasesAndDrawVersions, selectLinks } from "./sql.ts";

/**
 * Takes down or restores the link with an alias on a domain ({@link DEFAULT_DOMAIN} or a host).
 * Returns false when there is no such link.
 */
export async function takeLinkDown(
  sql: Sql,
  name: ShortLink,
  down: boolean,
  actor: Actor = OPERATOR,
): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    const link = await lockLinkByName(transaction, name);
    if (link === undefined) return false;
    const [version = 0] = await lockAliasesAndDrawVersions(transaction, [shortLinkOf(link)], 1);
    const row = { ...link, taken_down: down, version };
    await transaction`
      update links set taken_down = ${down}, version = ${version} where id = ${row.id}`;
    if (down !== link.taken_down) {
      const author = { accountId: row.account_id, mode: row.mode, actor };
      await recordEvents(transaction, author, [takedownEvent(row)]);
    }
    await addToOutbox(transaction, [toRecord(row)]);
    return true;
  });
}

/** Finds and locks the link with an alias on a domain, of any account. */
async function lockLinkByName(
  transaction: Transaction,
  name: ShortLink,
): Promise<LinkRow | undefined> {
  const [found] = await transaction<{ id: Uuid }[]>`
    ${selectByName(transaction, name)} for update of link`;
  if (found === undefined) return undefined;
  const [row] = await transaction<
    LinkRow[]
  >`${selectLinks(transaction)} where link.id = ${found.id}`;
  return row;
}

/** The id of the link with an alias on a domain, of any account; undefined for none. */
export async function findLinkByName(
  sql: Sql | Transaction,
  name: ShortLink,
): Promise<Uuid | undefined> {
  const [found] = await sql<{ id: Uuid }[]>`${selectByName(sql, name)}`;
  return found?.id;
}

/**
 * Names a domain before its aliases, as the indexes of these begin with it: strangers look links
 * up. Of two links with one alias in two cases, while a domain switches, the one as written counts.
 */
const selectByName = (sql: Sql | Transaction, { domain, alias }: ShortLink) =>
  domain === DEFAULT_DOMAIN
    ? sql`select link.id from links link where link.domain_id is null and link.alias = ${alias}`
    : sql`
        select link.id from links link
         where link.domain_id = (select id from domains where host = ${domain} and verified_at is not null)
           and (link.alias = ${alias} or link.folded and fold_alias(link.alias) = fold_alias(${alias}))
         order by link.alias <> ${alias} limit 1`;

/**
 * Links that were taken down individually, of all accounts; `host` is null on the service's own
 * domain.
 */
export const findTakenDown = async (sql: Sql): Promise<{ alias: string; host: string | null }[]> =>
  await sql<{ alias: string; host: string | null }[]>`
    select link.alias, domain.host
      from links link left join domains domain on domain.id = link.domain_id
     where link.taken_down order by domain.host nulls first, link.alias`;
