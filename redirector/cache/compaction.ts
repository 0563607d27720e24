/**
 * Compaction of the link cache: live records of the oldest blocks are copied to the newest block,
 * and the old blocks become free. When the cache is full, compaction also evicts.
 */
import { isReferenced, setReferenced, sizeAt } from "../../shared/links-store/record.ts";
import { BLOCK_BYTES, type Blocks, offsetInBlock } from "./blocks.ts";
import type { KeyIndex } from "./key-index.ts";
import type { LiveRecords } from "./live-records.ts";

/** Blocks compacted for each new one: on average compacting a block frees half of it. */
const COMPACTIONS_PER_BLOCK = 2;

/**
 * Maximum share of the memory for live records. Beyond it, a full cache evicts, and does not store
 * links that nobody has requested. Compaction can free the rest: the smaller it is, the more often
 * compaction runs.
 */
const LIVE_RATIO_MAX = 3 / 4;

/** Blocks compacted in one run before live records are evicted anyway. */
const COMPACTIONS_MAX = 8;

type CompactionDeps = {
  blocks: Blocks;
  index: KeyIndex;
  records: Pick<LiveRecords, "bytes" | "remove">;
  blocksMax: number;
  entriesMax: number;
  /** Called with each record that was copied. */
  onCopied: (bytes: Buffer, at: number) => void;
};

/** Returns a function that frees space for another block and another index entry. */
export function createCompaction(deps: CompactionDeps): () => void {
  const { blocks, index, records, blocksMax, entriesMax, onCopied } = deps;

  const isFull = (): boolean => blocks.used.size >= blocksMax || index.size() >= entriesMax;

  const hasRoom = (): boolean =>
    records.bytes() < blocksMax * BLOCK_BYTES * LIVE_RATIO_MAX &&
    index.size() < entriesMax * LIVE_RATIO_MAX;

  /**
   * Copies the live records of the oldest block to the newest and frees the oldest. When
   * `evicting`, keeps only referenced records and clears their bit (second chance), up to half a
   * block, so that memory is freed.
   */
  function compact(evicting: boolean): void {
    const oldest = blocks.takeOldest();
    let secondChanceBudget = BLOCK_BYTES / 2;
    const { bytes, end } = oldest;
    for (let at = 0, size = 0; at < end; at += size) {
      size = sizeAt(bytes, at);
      const slot = index.findRecord(oldest, at);
      if (slot < 0) continue;
      if (evicting) {
        if (!isReferenced(bytes, at) || secondChanceBudget < size) {
          records.remove(slot);
          continue;
        }
        secondChanceBudget -= size;
        setReferenced(bytes, at, false);
      }
      const offset = blocks.reserve(size);
      const target = blocks.bytesAt(offset);
      bytes.copy(target, offsetInBlock(offset), at, at + size);
      onCopied(target, offsetInBlock(offset));
      index.move(slot, offset);
    }
    blocks.free(oldest);
  }

  return () => {
    for (let compactions = 0; blocks.used.size > 2; compactions++) {
      const total = blocks.used.size * BLOCK_BYTES;
      const full = isFull();
      if (!full && (records.bytes() >= total / 2 || compactions >= COMPACTIONS_PER_BLOCK)) return;
      compact(full && (!hasRoom() || compactions >= COMPACTIONS_MAX));
    }
  };
}
