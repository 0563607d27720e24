/** The memory of the link cache: blocks to which records are appended. */
import { ALIGNMENT } from "../../shared/links-store/record.ts";

/** As large as the largest record, a state in the log. To compact one takes about 0.1 ms. */
export const BLOCK_BYTES = 64 * 1024;

/** An offset is a block's number and a position in the block, in units of the alignment. */
const OFFSET_BITS = Math.log2(BLOCK_BYTES / ALIGNMENT);
const OFFSET_MASK = 2 ** OFFSET_BITS - 1;
export const toOffset = (number: number, at: number): number =>
  (number << OFFSET_BITS) | (at / ALIGNMENT);
export const offsetInBlock = (offset: number): number => (offset & OFFSET_MASK) * ALIGNMENT;

/** A block of memory, written up to `end`. */
export type Block = { number: number; bytes: Buffer; end: number };

export class Blocks {
  readonly #memory: Buffer[] = [];
  readonly #free: number[] = [];
  /** Blocks in use, the oldest first; the newest is being written. */
  readonly #used = new Set<Block>();
  #newest = this.#add();

  get used(): ReadonlySet<Block> {
    return this.#used;
  }

  /** Bytes of memory, in use or free. */
  get bytes(): number {
    return this.#memory.length * BLOCK_BYTES;
  }

  /** The bytes of the block that an offset is in. */
  bytesAt(offset: number): Buffer {
    return this.#memory[offset >>> OFFSET_BITS] ?? this.#newest.bytes;
  }

  /** Whether a record fits into the newest block. */
  hasRoom(size: number): boolean {
    return this.#newest.end + size <= BLOCK_BYTES;
  }

  /** Reserves space for a record, in another block if needed; returns its offset. */
  reserve(size: number): number {
    if (!this.hasRoom(size)) this.#newest = this.#add();
    const { number, end } = this.#newest;
    this.#newest.end += size;
    return toOffset(number, end);
  }

  /** Takes back the last reservation. */
  giveBack(size: number): void {
    this.#newest.end -= size;
  }

  /** Removes the oldest block from use; its memory stays until it is freed. */
  takeOldest(): Block {
    const [oldest = this.#newest] = this.#used;
    this.#used.delete(oldest);
    return oldest;
  }

  free({ number }: Block): void {
    this.#free.push(number);
  }

  /**
   * Removes all blocks. Their memory is not used again: the cache of parsed settings knows them by
   * their place in it, where another history can have others under the same version.
   */
  clear(): void {
    this.#memory.length = 0;
    this.#free.length = 0;
    this.#used.clear();
    this.#newest = this.#add();
  }

  #add(): Block {
    const number = this.#free.pop() ?? this.#memory.length;
    const bytes = (this.#memory[number] ??= Buffer.allocUnsafeSlow(BLOCK_BYTES));
    const block = { number, bytes, end: 0 };
    this.#used.add(block);
    return block;
  }
}
