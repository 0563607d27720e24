/** Republishes every link to the redirectors, for when the links feed was lost or rolled back. */
import { toMessage } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { resyncDomainNotices } from "../domains/notices.ts";
import type { Sql } from "../postgres.ts";
import { resyncTakedowns } from "../takedowns/service.ts";
import { toRecord } from "./record.ts";
import { insertOutboxEntries, listLinksAfter } from "./sql.ts";

const BATCH = 1_000;

/**
 * Adds the current state of every link to the outbox, from which any API process publishes it; states that
 * the feed already holds stay untouched. Returns how many links there were, and calls `onProgress` after
 * each batch with the total so far.
 */
export async function resyncLinks(
  sql: Sql,
  onProgress: (queued: number) => void = () => undefined,
): Promise<number> {
  // First, so that no redirector follows what is taken down.
  await resyncTakedowns(sql);
  await resyncDomainNotices(sql);
  let queued = 0;
  let after: Uuid | null = null;
  for (;;) {
    const rows = await listLinksAfter(sql, after, BATCH);
    if (rows.length === 0) return queued;
    // Another account may have the domain of others by now.
    const served = rows.filter((row) => row.served);
    const records = served.map((row) => toMessage({ ...toRecord(row), version: row.version }));
    if (records.length > 0) await insertOutboxEntries(sql, records);
    queued += rows.length;
    after = rows.at(-1)?.id ?? null;
    onProgress(queued);
  }
}
