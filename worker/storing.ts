/** Stores one batch after the other. */
import type { Uuid } from "../shared/ids.ts";
import type { Collector, HeldSegment } from "./batches/collector.ts";
import { isLost, type OwnerDeps } from "./batches/deps.ts";
import type { Owner, Refused } from "./batches/owner.ts";
import type { Outcomes } from "./outcomes.ts";

type StoringDeps<Rows> = {
  owner: Owner<Rows>;
  collector: Collector<Rows>;
  outcomes: Outcomes;
  repair: OwnerDeps<Rows>["repair"];
  retry: OwnerDeps<Rows>["retry"];
  /** Called with the links of stored segments: their figures have changed. */
  onStored: (linkIds: Iterable<Uuid>) => void;
  /** Called with the age of a batch's first click in seconds, when it is stored. */
  onBatch: (ageSeconds: number) => void;
};

/** Stores what the collector gives until it is closed. Throws when another worker has taken over, or this one stops. */
export async function storeBatches<Rows>(deps: StoringDeps<Rows>): Promise<void> {
  const { owner, collector, repair, retry } = deps;
  for (;;) {
    const batch = await collector.take();
    if (collector.isClosed()) break;
    // Without traffic nothing else would show that another worker has taken over.
    if (batch.length === 0) await retry(owner.confirm, isLost);
    const refused = await owner.renewWhile(async () => {
      // Between two inserts, when clicks and rollups are equal.
      await repair(owner.confirm);
      return await owner.store(batch);
    });
    await finishBatch(deps, batch, refused);
    collector.drop(batch);
  }
  await owner.release();
}

async function finishBatch<Rows>(
  { outcomes, onStored, onBatch }: StoringDeps<Rows>,
  batch: readonly HeldSegment<Rows>[],
  refused: readonly Refused<HeldSegment<Rows>>[],
): Promise<void> {
  const reasons = new Map(refused.map(({ segment, reason }) => [segment, reason]));
  const stored = batch.filter((segment) => !reasons.has(segment));
  for (const { links, messages, whole, clicks } of stored) {
    onStored(links);
    outcomes.stored([...messages.values()], whole, clicks);
  }
  for (const [segment, reason] of reasons) {
    const { clicks, messages } = segment;
    await outcomes.refused([...messages.values()], { id: segment, clicks, reason });
  }
  if (stored.length === 0) return;
  onBatch((Date.now() - Math.min(...stored.map(({ firstClick }) => firstClick))) / 1_000);
}
