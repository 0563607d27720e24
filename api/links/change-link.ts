/** The transaction that updates and deletions share: lock the link, change it, enqueue and publish the change. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Transaction } from "../postgres.ts";
import type { LinkServiceDeps } from "./deps.ts";
import type { LinkRow } from "./model.ts";
import { insertOutboxEntry, lockLink } from "./sql.ts";

/** A change in the outbox that still has to be published. */
type OutboxEntry = { record: LinkRecord; outboxId: number };

/**
 * Runs `change` on a locked link, adds the records it returns to the outbox in the same transaction, and
 * publishes them after the commit. `propagated` is false when the feed was unreachable. Throws `not_found`.
 */
export async function changeLink<Result>(
  { sql, feed }: Pick<LinkServiceDeps, "sql" | "feed">,
  owner: AccountScope,
  id: Uuid | undefined,
  change: (
    transaction: Transaction,
    link: LinkRow,
  ) => Promise<{ result: Result; records: readonly LinkRecord[] }>,
): Promise<{ result: Result; propagated: boolean }> {
  const committed = await sql.begin(async (transaction) => {
    const link = id === undefined ? undefined : await lockLink(transaction, owner, id);
    if (link === undefined) throw notFound("link");
    const { result, records } = await change(transaction, link);
    return { result, entries: await enqueueOutbox(transaction, records) };
  });
  const published = await Promise.all(
    committed.entries.map(({ record, outboxId }) => feed.publish(record, outboxId)),
  );
  return { result: committed.result, propagated: published.every(Boolean) };
}

async function enqueueOutbox(
  transaction: Transaction,
  records: readonly LinkRecord[],
): Promise<OutboxEntry[]> {
  const entries: OutboxEntry[] = [];
  for (const record of records) {
    entries.push({ record, outboxId: await insertOutboxEntry(transaction, record) });
  }
  return entries;
}
