/** The owner's insert loop: stores one batch after the other. */
import type { Collector, HeldSegment } from "../batches/collector.ts";
import { isLost, type OwnerDeps } from "../batches/deps.ts";
import type { LogPlace } from "../batches/entries.ts";
import type { Owner, RejectedSegment } from "../batches/owner.ts";
import type { Repairs } from "../batches/repair.ts";
import type { ClickedLink } from "../pending-links.ts";
import type { Acknowledger } from "./acknowledger.ts";

type InsertLoopDeps = {
  owner: Owner;
  collector: Collector;
  acknowledger: Acknowledger;
  repair: Repairs["repair"];
  retry: OwnerDeps["retry"];
  /** Called with the links of stored segments: they have new clicks. */
  onStored: (links: Iterable<ClickedLink>) => void;
  /**
   * Called with the rows of stored segments, and the place in the log up to which all are stored.
   */
  onRows: (rows: readonly Buffer[], place: LogPlace) => void;
  /** Called with the age of a batch's first click in seconds, when it is stored. */
  onBatch: (ageSeconds: number) => void;
};

/**
 * Stores the collector's batches until it is closed. Throws when another worker has taken over, or
 * this one stops.
 */
export async function runInsertLoop(deps: InsertLoopDeps): Promise<void> {
  const { owner, collector, repair, retry } = deps;
  for (;;) {
    const batch = await collector.take();
    if (collector.isClosed()) break;
    // Without traffic nothing else would show that another worker has taken over.
    if (batch.length === 0) await retry(owner.confirm, isLost);
    const rejected = await owner.renewWhile(async () => {
      // Between two inserts, when clicks and rollups are equal.
      await repair(owner.confirm);
      return await owner.store(batch);
    });
    await finishBatch(deps, batch, rejected);
    collector.drop(batch);
  }
  await owner.release();
}

async function finishBatch(
  { owner, acknowledger, onStored, onRows, onBatch }: InsertLoopDeps,
  batch: readonly HeldSegment[],
  rejected: readonly RejectedSegment<HeldSegment>[],
): Promise<void> {
  const reasons = new Map(rejected.map(({ segment, reason }) => [segment, reason]));
  const stored = batch.filter((segment) => !reasons.has(segment));
  for (const { links, messages, whole, clicks } of stored) {
    onStored(links);
    acknowledger.acknowledge([...messages.values()], whole, clicks);
  }
  for (const [segment, reason] of reasons) {
    const { clicks, messages } = segment;
    await acknowledger.deadLetter([...messages.values()], { id: segment, clicks, reason });
  }
  if (stored.length === 0) return;
  onRows(
    stored.map(({ rows }) => rows),
    { epoch: owner.epoch, batch: owner.batch() },
  );
  onBatch((Date.now() - Math.min(...stored.map(({ firstClick }) => firstClick))) / 1_000);
}
