/**
 * A log of batches in memory, for tests of what uses it; the real one is tested on whole stacks.
 */
import type { BatchEntry, BatchLog, Checkpoint, Claim } from "../../worker/batches/entries.ts";

export function createMemoryLog(): BatchLog {
  const claims: Claim[] = [];
  let state: { checkpoint: Checkpoint; entries: BatchEntry[] } | undefined;
  return {
    claim: async (claim) => void claims.push(claim),
    readHighestClaim: async () => claims.toSorted((a, b) => a.epoch - b.epoch).at(-1),
    readClaimSight: async () => undefined,
    append: async (_, entry) => void state?.entries.push(entry),
    appendCheckpoint: async (_, checkpoint) =>
      void (state = { checkpoint: structuredClone(checkpoint), entries: [] }),
    read: async () => structuredClone(state),
  };
}
