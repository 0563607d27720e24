/**
 * The link cache: link records in memory, within a bound of bytes, as the store has them. Records
 * are appended to blocks of memory, and a hash index holds the offset of each: a log-structured
 * memory (Rumble et al., FAST 2014). The garbage collector does not see the records, and a redirect
 * reads memory in two locations.
 *
 * Compaction copies the live records of the oldest block to the newest, which frees the oldest.
 * When the cache is full, it also evicts, by CLOCK (Corbató, 1968), which approximates LRU: a hit
 * only sets the record's REFERENCED bit, and eviction keeps only records whose bit is set.
 */
import type { ByteRange } from "../../shared/bytes.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import {
  type CachedState,
  emptyLink,
  isReferenced,
  readLink,
  readTakedownFields,
  setReferenced,
  setTakenDown,
  sizeAt,
  sizeOf,
  writeRecord,
} from "../../shared/links-store/record.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import { BLOCK_BYTES, Blocks, offsetInBlock } from "./blocks.ts";
import { entriesThatFit, KEY_BYTES_MAX, KeyIndex } from "./hash-index.ts";
import { Takedowns } from "./takedowns.ts";

/** Blocks that stay free when the cache is full, for compaction to write to. */
const RESERVED_BLOCKS = 1;

/**
 * The share of the bound that the index may take: enough for blocks full of the smallest records.
 */
const INDEX_SHARE = 1 / 8;

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

export class LinkCache {
  readonly #takedowns: Takedowns;
  readonly #blocksMax: number;
  readonly #entriesMax: number;
  readonly #blocks = new Blocks();
  readonly #index = new KeyIndex(this.#blocks);
  readonly #link = emptyLink();
  /** Bytes of the records that the index points to. */
  #liveBytes = 0;
  /** Number of runs of marking that began, which identifies the current one. */
  #markings = 0;
  #isMarking = false;

  /** A cache of at most `bytesMax` bytes, in which the links that takedowns cover are marked. */
  constructor(bytesMax: number, takedowns = new Takedowns()) {
    const blockBytes = bytesMax * (1 - INDEX_SHARE);
    this.#blocksMax = Math.max(4, Math.floor(blockBytes / BLOCK_BYTES)) - RESERVED_BLOCKS;
    this.#entriesMax = entriesThatFit(bytesMax * INDEX_SHARE);
    this.#takedowns = takedowns;
  }

  /**
   * The link at a path such as `/abc`; null for a deleted link, `taken_down` for one that takedowns
   * cover, undefined for one that is not cached. The result is valid until the cache is next used;
   * `copyLink` makes a copy that stays valid.
   */
  get(domain: string, bytes: Buffer, { start, end }: ByteRange): CachedState | undefined {
    if (domain.length + end - start > KEY_BYTES_MAX) return undefined;
    const slot = this.#index.findKey(domain, bytes, start, end);
    if (slot < 0) return undefined;
    const offset = this.#index.offsetAt(slot);
    const block = this.#blocks.bytesAt(offset);
    const at = offsetInBlock(offset);
    setReferenced(block, at, true);
    return readLink(block, at, this.#link);
  }

  /** As `get`, by alias. */
  find(domain: string, alias: string): CachedState | undefined {
    const { key } = this.#index;
    return this.get("", key, { start: 0, end: key.write(keyOf({ domain, alias })) });
  }

  /** Whether a link, or its deletion, is cached. */
  has(domain: string, alias: string): boolean {
    return this.#index.findText(keyOf({ domain, alias })) >= 0;
  }

  /** Stores a record, whatever the cache has of its link. */
  put(record: LinkRecord): void {
    const key = keyOf(record);
    const size = sizeOf(record);
    if (size > BLOCK_BYTES || key.length > KEY_BYTES_MAX) return;
    if (!this.#blocks.hasRoom(size) || this.#index.size >= this.#entriesMax) this.#reclaim();
    const slot = this.#index.findText(key);
    const offset = this.#append(record, size);
    if (slot < 0) this.#index.add(offset);
    else this.#replace(slot, offset);
  }

  clear(): void {
    this.#index.clear();
    this.#liveBytes = 0;
    this.#blocks.clear();
  }

  /**
   * Evaluates takedowns again for each link, after their list has changed; in later turns of the
   * event loop as well, as a block of links with many rules takes milliseconds.
   */
  async markAgain(): Promise<void> {
    const marking = ++this.#markings;
    this.#isMarking = true;
    const slice = new TimeSlice();
    for (const { bytes, end } of this.#blocks.used) {
      for (let at = 0; at < end; at += sizeAt(bytes, at)) this.#mark(bytes, at);
      if (slice.isOver()) await slice.next();
      // A newer run has started from the beginning.
      if (marking !== this.#markings) return;
    }
    this.#isMarking = false;
  }

  stats(): { entries: number; bytes: number } {
    return { entries: this.#index.size, bytes: this.#blocks.bytes + this.#index.bytes };
  }

  #append(record: LinkRecord, size: number): number {
    const isCovered = record.state === "active" && this.#takedowns.covers(record);
    const offset = this.#blocks.reserve(size);
    try {
      writeRecord(this.#blocks.bytesAt(offset), offsetInBlock(offset), record, isCovered);
    } catch (error) {
      this.#blocks.giveBack(size);
      throw error;
    }
    this.#liveBytes += size;
    return offset;
  }

  /** Replaces the record in a slot by the one at an offset, which is referenced as that was. */
  #replace(slot: number, offset: number): void {
    const former = this.#index.offsetAt(slot);
    const [bytes, at] = [this.#blocks.bytesAt(former), offsetInBlock(former)];
    const referenced = isReferenced(bytes, at);
    setReferenced(this.#blocks.bytesAt(offset), offsetInBlock(offset), referenced);
    this.#liveBytes -= sizeAt(bytes, at);
    this.#index.move(slot, offset);
  }

  /** Removes the record in a slot. Invalidates all slots returned before. */
  #remove(slot: number): void {
    const offset = this.#index.offsetAt(slot);
    this.#liveBytes -= sizeAt(this.#blocks.bytesAt(offset), offsetInBlock(offset));
    this.#index.remove(slot);
  }

  /** Frees space for another block and another entry of the index. */
  #reclaim(): void {
    const { used } = this.#blocks;
    for (let compactions = 0; used.size > 2; compactions++) {
      const isFull = used.size >= this.#blocksMax || this.#index.size >= this.#entriesMax;
      const isDense = this.#liveBytes >= (used.size * BLOCK_BYTES) / 2;
      if (!isFull && (isDense || compactions >= COMPACTIONS_PER_BLOCK)) return;
      this.#compact(isFull && (!this.#hasRoom() || compactions >= COMPACTIONS_MAX));
    }
  }

  #hasRoom(): boolean {
    return (
      this.#liveBytes < this.#blocksMax * BLOCK_BYTES * LIVE_RATIO_MAX &&
      this.#index.size < this.#entriesMax * LIVE_RATIO_MAX
    );
  }

  /**
   * Copies the live records of the oldest block to the newest and frees the oldest. When
   * `evicting`, keeps only referenced records and clears their bit (second chance), up to half a
   * block, so that memory is freed.
   */
  #compact(evicting: boolean): void {
    const oldest = this.#blocks.takeOldest();
    let secondChanceBudget = BLOCK_BYTES / 2;
    const { bytes, end } = oldest;
    for (let at = 0, size = 0; at < end; at += size) {
      size = sizeAt(bytes, at);
      const slot = this.#index.findRecord(oldest, at);
      if (slot < 0) continue;
      if (evicting) {
        if (!isReferenced(bytes, at) || secondChanceBudget < size) {
          this.#remove(slot);
          continue;
        }
        secondChanceBudget -= size;
        setReferenced(bytes, at, false);
      }
      this.#copy(slot, bytes, at, size);
    }
    this.#blocks.free(oldest);
  }

  #copy(slot: number, bytes: Buffer, at: number, size: number): void {
    const offset = this.#blocks.reserve(size);
    const target = this.#blocks.bytesAt(offset);
    bytes.copy(target, offsetInBlock(offset), at, at + size);
    // It may have moved past the position of the current run.
    if (this.#isMarking) this.#mark(target, offsetInBlock(offset));
    this.#index.move(slot, offset);
  }

  #mark(bytes: Buffer, at: number): void {
    const fields = readTakedownFields(bytes, at);
    if (fields !== undefined) setTakenDown(bytes, at, this.#takedowns.covers(fields));
  }
}
