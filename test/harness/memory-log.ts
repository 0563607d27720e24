/**
 * A log of batches in memory, for tests of what uses it; the real one is tested on whole stacks.
 */
import type { BatchEntry, BatchLog, Checkpoint, Claim } from "../../worker/batches/batch-log.ts";

export class MemoryLog implements BatchLog {
  readonly #claims: Claim[] = [];
  #state: { checkpoint: Checkpoint; entries: BatchEntry[] } | undefined;

  async claim(claim: Claim) {
    this.#claims.push(claim);
  }

  async readHighestClaim() {
    return this.#claims.toSorted((a, b) => a.epoch - b.epoch).at(-1);
  }

  async readClaimSight() {
    return undefined;
  }

  async append(_: Claim, entry: BatchEntry) {
    this.#state?.entries.push(entry);
  }

  async appendCheckpoint(_: Claim, checkpoint: Checkpoint) {
    this.#state = { checkpoint: structuredClone(checkpoint), entries: [] };
  }

  async read() {
    return structuredClone(this.#state);
  }
}
