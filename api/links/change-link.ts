/**
 * The transaction that updates and deletions share: lock the link, change it, enqueue and publish
 * the change.
 */
import {
  type LinkMessage,
  type LinkRecord,
  toMessage,
} from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { notFound } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Transaction } from "../postgres.ts";
import type { LinkServiceDeps } from "./deps.ts";
import type { LinkRow } from "./model.ts";
import { insertOutboxEntry, lockLink } from "./sql.ts";

/** A change in the outbox that is not yet published. */
type OutboxEntry = { message: LinkMessage; outboxId: number };

/**
 * Runs `change` on a locked link, adds the records it returns to the outbox in the same
 * transaction, and publishes them after the commit. `propagated` is false when the feed was
 * unreachable. Throws `not_found`, and what `requireVersion` throws for the locked link.
 */
export async function changeLink<Result>(
  { sql, feed }: Pick<LinkServiceDeps, "sql" | "feed">,
  owner: AccountScope,
  id: Uuid | undefined,
  change: (
    transaction: Transaction,
    link: LinkRow,
  ) => Promise<{ result: Result; records: readonly LinkRecord[] }>,
  requireVersion: RequireVersion = () => undefined,
): Promise<{ result: Result; propagated: boolean }> {
  const committed = await sql.begin(async (transaction) => {
    const link = id === undefined ? undefined : await lockLink(transaction, owner, id);
    if (link === undefined) throw notFound("link");
    requireVersion(link.version);
    const { result, records } = await change(transaction, link);
    // Another account may own the domain by now.
    return { result, entries: await enqueueOutbox(transaction, link.served ? records : []) };
  });
  const published = await Promise.all(
    committed.entries.map(({ message, outboxId }) => feed.publish(message, outboxId)),
  );
  return { result: committed.result, propagated: published.every(Boolean) };
}

async function enqueueOutbox(
  transaction: Transaction,
  records: readonly LinkRecord[],
): Promise<OutboxEntry[]> {
  const entries: OutboxEntry[] = [];
  for (const record of records) {
    const message = toMessage(record);
    entries.push({ message, outboxId: await insertOutboxEntry(transaction, message) });
  }
  return entries;
}
