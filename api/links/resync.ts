/** Tells the redirectors of every link anew, for when the links feed was lost or set back. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import { toRecord } from "./record.ts";
import { insertOutboxes, listLinksAfter } from "./sql.ts";

const BATCH = 1_000;

/**
 * Puts the state of every link into the outbox, from where any API process publishes it; what the feed
 * holds already stays. Gives how many there were; `onProgress` hears of each batch.
 */
export async function resyncLinks(
  sql: Sql,
  onProgress: (queued: number) => void = () => undefined,
): Promise<number> {
  let queued = 0;
  let after: Uuid | null = null;
  for (;;) {
    const rows = await listLinksAfter(sql, after, BATCH);
    if (rows.length === 0) return queued;
    await insertOutboxes(
      sql,
      rows.map((row) => ({ ...toRecord(row), version: row.version })),
    );
    queued += rows.length;
    after = rows.at(-1)?.id ?? null;
    onProgress(queued);
  }
}
