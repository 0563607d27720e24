/** Takes down and restores single links, on an operator's command. */
import { DEFAULT_DOMAIN, toMessage } from "../../shared/contracts/link-record.ts";
import type { Sql } from "../postgres.ts";
import { nameOf, shortLinkOf, toRecord } from "./record.ts";
import {
  insertOutboxEntry,
  listTakenDown,
  lockAliases,
  lockLinkByName,
  setTakenDown,
} from "./sql.ts";

/**
 * Takes down or restores the link with an alias on a domain ({@link DEFAULT_DOMAIN} or a host).
 * Returns the link's name and the id of its outbox record, which every relay publishes at its next
 * poll; undefined when there is no such link.
 */
export async function takeLinkDown(
  sql: Sql,
  { domain, alias }: { domain: string; alias: string },
  down: boolean,
): Promise<{ name: string; outboxId: string } | undefined> {
  return await sql.begin(async (transaction) => {
    const host = domain === DEFAULT_DOMAIN ? null : domain;
    const link = await lockLinkByName(transaction, host, alias);
    if (link === undefined) return undefined;
    const row = { ...link, taken_down: down };
    await lockAliases(transaction, [shortLinkOf(row)]);
    const version = await setTakenDown(transaction, row.id, down);
    const message = toMessage({ ...toRecord(row), version });
    const outboxId = await insertOutboxEntry(transaction, message, "due");
    return { name: nameOf(row), outboxId: String(outboxId) };
  });
}

/**
 * Links that were taken down individually, of all accounts; `host` is null on the service's own
 * domain.
 */
export const findTakenDown = async (sql: Sql): Promise<{ alias: string; host: string | null }[]> =>
  await listTakenDown(sql);
