/** The common part of all republishing: links get new versions, batch by batch. */
import type { Uuid } from "../../../shared/ids.ts";
import type { LinksPublisher } from "../../links-log/publisher.ts";
import type { Sql, Transaction } from "../../postgres.ts";
import { lockAliasesAndDrawVersions } from "../alias-locks.ts";
import type { LinkRow } from "../model.ts";
import { recordDomain } from "../record.ts";
import { setVersions } from "./sql.ts";

/** Links per transaction, which holds the locks of their aliases. */
export const BATCH = 200;

export type PublishingDeps = { sql: Sql; publisher: LinksPublisher };

/**
 * Publishes links in id order: `enqueueBatch` adds up to {@link BATCH} links after `after` to the
 * outbox, and returns them. Returns false when stopped or when the tail was unreachable; the caller
 * must then repeat it.
 */
export async function publishBatches(
  { sql, publisher }: PublishingDeps,
  isStopped: () => boolean,
  enqueueBatch: (transaction: Transaction, after: Uuid | null) => Promise<readonly LinkRow[]>,
): Promise<boolean> {
  let after: Uuid | null = null;
  while (!isStopped()) {
    const last: Uuid | null = after;
    const links: readonly LinkRow[] = await sql.begin((transaction) =>
      enqueueBatch(transaction, last),
    );
    if (links.length > 0 && !(await publisher.publish())) return false;
    if (links.length < BATCH) return true;
    after = links.at(-1)?.id ?? null;
  }
  return false;
}

/**
 * Locks the aliases of links in both cases, assigns new versions to the links, and returns them.
 */
export async function renewVersions(
  transaction: Transaction,
  links: readonly LinkRow[],
): Promise<LinkRow[]> {
  const names = links.flatMap((link) =>
    [link.alias, link.alias.toLowerCase()].map((alias) => ({ domain: recordDomain(link), alias })),
  );
  const versions = await lockAliasesAndDrawVersions(transaction, names, links.length);
  const renewed = links.map((link, i) => ({ ...link, version: versions[i] ?? 0 }));
  await setVersions(transaction, renewed);
  return renewed;
}
