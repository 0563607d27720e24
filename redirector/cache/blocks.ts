/** The memory of the link cache: blocks to which records are appended. */
import { ALIGNMENT } from "../../shared/links-store/record.ts";

/**
 * The maximum size of a record is that of its state in the log. Compacting one block takes about
 * 0.1 ms.
 */
export const BLOCK_BYTES = 64 * 1024;

/** An offset is a block's number and a position in the block, in units of the alignment. */
const OFFSET_BITS = Math.log2(BLOCK_BYTES / ALIGNMENT);
const OFFSET_MASK = 2 ** OFFSET_BITS - 1;
export const toOffset = (number: number, at: number): number =>
  (number << OFFSET_BITS) | (at / ALIGNMENT);
export const offsetInBlock = (offset: number): number => (offset & OFFSET_MASK) * ALIGNMENT;

/** Maximum bytes that offsets can address. */
export const CACHE_BYTES_LIMIT = 2 ** 31 * ALIGNMENT;

/** A block of memory, written up to `end`. */
export type Block = { number: number; bytes: Buffer; end: number };

export type Blocks = ReturnType<typeof createBlocks>;

export function createBlocks() {
  /** The memory of all blocks by number, in use or free. */
  const memory: Buffer[] = [];
  const free: number[] = [];
  /** Blocks in use, the oldest first; the newest is being written. */
  const used = new Set<Block>();
  let newest = add();

  function add(): Block {
    const number = free.pop() ?? memory.length;
    const bytes = (memory[number] ??= Buffer.allocUnsafeSlow(BLOCK_BYTES));
    const block = { number, bytes, end: 0 };
    used.add(block);
    return block;
  }

  return {
    used: used as ReadonlySet<Block>,
    /** The memory that an offset points into. */
    bytesAt: (offset: number): Buffer => memory[offset >>> OFFSET_BITS] ?? newest.bytes,
    /** Whether the newest block has space for a record. */
    hasRoom: (size: number): boolean => newest.end + size <= BLOCK_BYTES,
    /** Reserves space for a record, in another block if needed; returns its offset. */
    reserve(size: number): number {
      if (newest.end + size > BLOCK_BYTES) newest = add();
      const { number, end } = newest;
      newest.end += size;
      return toOffset(number, end);
    },
    /** Releases the space that was reserved last. */
    giveBack: (size: number): void => void (newest.end -= size),
    /** Removes the oldest block from use; its memory stays until it is freed. */
    takeOldest(): Block {
      const [oldest = newest] = used;
      used.delete(oldest);
      return oldest;
    },
    free: ({ number }: Block): void => void free.push(number),
    /**
     * Removes all blocks. Their memory is not used again: settings are remembered by their place in
     * it, and another history can have other settings there under the same version.
     */
    clear(): void {
      memory.length = 0;
      free.length = 0;
      used.clear();
      newest = add();
    },
    /** Bytes of memory, in use or free. */
    bytes: (): number => memory.length * BLOCK_BYTES,
  };
}
