/** Takes down and restores single links, on an operator's command or by lists of hosts. */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { ShortLink } from "../../shared/contracts/short-link.ts";
import { recordEvents } from "../events/record.ts";
import { type Actor, OPERATOR } from "../http/principal.ts";
import { addToOutbox } from "../links-log/log.ts";
import type { Sql } from "../postgres.ts";
import { takedownEvent } from "./events.ts";
import { shortLinkOf, toRecord } from "./record.ts";
import { listTakenDown, lockAliasesAndDrawVersions, lockLinkByName, setTakenDown } from "./sql.ts";

/**
 * Takes down or restores the link with an alias on a domain ({@link DEFAULT_DOMAIN} or a host).
 * Returns false when there is no such link.
 */
export async function takeLinkDown(
  sql: Sql,
  { domain, alias }: ShortLink,
  down: boolean,
  actor: Actor = OPERATOR,
): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    const host = domain === DEFAULT_DOMAIN ? null : domain;
    const link = await lockLinkByName(transaction, host, alias);
    if (link === undefined) return false;
    const [version = 0] = await lockAliasesAndDrawVersions(transaction, [shortLinkOf(link)], 1);
    const row = { ...link, taken_down: down, version };
    await setTakenDown(transaction, row);
    if (down !== link.taken_down) {
      const author = { accountId: row.account_id, mode: row.mode, actor };
      await recordEvents(transaction, author, [takedownEvent(row)]);
    }
    await addToOutbox(transaction, [toRecord(row)]);
    return true;
  });
}

/**
 * Links that were taken down individually, of all accounts; `host` is null on the service's own
 * domain.
 */
export const findTakenDown = async (sql: Sql): Promise<{ alias: string; host: string | null }[]> =>
  await listTakenDown(sql);
