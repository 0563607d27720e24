/** The common part of all republishing: links get new versions, batch by batch. */
import type { Uuid } from "../../../shared/ids.ts";
import type { LinkPublisher } from "../../feed/link-publisher.ts";
import type { OutboxEntry } from "../../feed/outbox.ts";
import type { Sql, Transaction } from "../../postgres.ts";
import { lockAliasesAndDrawVersions } from "../alias-locks.ts";
import type { LinkRow } from "../model.ts";
import { feedDomain } from "../record.ts";
import { setVersions } from "./sql.ts";

/** Links per transaction, which holds the locks of their aliases. */
export const BATCH = 200;

export type PublishingDeps = { sql: Sql; feed: Pick<LinkPublisher, "publish"> };

/** Links, and their records to publish after the commit, in order. */
export type Batch = {
  links: readonly LinkRow[];
  parts: (readonly OutboxEntry[])[];
};

type BatchOptions = { size?: number; onPublished?: (links: number) => Promise<void> };

/**
 * Publishes links in id order: `enqueueBatch` adds up to `size` links after `after` to the outbox.
 * Calls `onPublished` with the number of links so far. Returns false when stopped or when the feed
 * was unreachable; the caller must then repeat it.
 */
export async function publishBatches(
  { sql, feed }: PublishingDeps,
  isStopped: () => boolean,
  enqueueBatch: (transaction: Transaction, after: Uuid | null) => Promise<Batch>,
  { size = BATCH, onPublished = () => Promise.resolve() }: BatchOptions = {},
): Promise<boolean> {
  let after: Uuid | null = null;
  let published = 0;
  while (!isStopped()) {
    const last: Uuid | null = after;
    const { links, parts }: Batch = await sql.begin((transaction) =>
      enqueueBatch(transaction, last),
    );
    for (const part of parts) if (!(await feed.publish(part))) return false;
    published += links.length;
    await onPublished(published);
    if (links.length < size) return true;
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
    [link.alias, link.alias.toLowerCase()].map((alias) => ({ domain: feedDomain(link), alias })),
  );
  const versions = await lockAliasesAndDrawVersions(transaction, names, links.length);
  const renewed = links.map((link, i) => ({ ...link, version: versions[i] ?? 0 }));
  await setVersions(transaction, renewed);
  return renewed;
}
