/**
 * The link cache: link records in memory, within a bound of bytes. The newest version of a link wins. Records are
 * appended to blocks of memory, and a hash index holds the offset of each: a log-structured memory (Rumble et al.,
 * FAST 2014). The garbage collector does not see the records, and a redirect reads two places of memory.
 *
 * Blocks are compacted, the oldest first: live records are copied to the newest block, and the old block becomes
 * free. When the cache is full, compaction also evicts. Eviction is CLOCK (Corbató, 1968), which approximates LRU:
 * a hit only sets the record's REFERENCED bit, and eviction keeps only records whose bit is set.
 */
import { randomInt } from "node:crypto";
import { setImmediate } from "node:timers/promises";

import type { ByteRange } from "../../shared/bytes.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  ALIGNMENT,
  type CachedState,
  emptyLink,
  isReferenced,
  KEY,
  keyEnd,
  keyOf,
  readFacts,
  readLink,
  setReferenced,
  setTakenDown,
  sizeAt,
  sizeOf,
  versionAt,
  writeRecord,
} from "../../shared/links-store/record.ts";
import type { LinkFacts } from "../../shared/takedowns/covers.ts";
import { createHashIndex, entriesThatFit } from "./hash-index.ts";

export type LinkCache = {
  /**
   * The link at a path such as `/abc`; null when it is known to be deleted, `taken_down` when takedowns cover it, undefined
   * when it is not cached. The result is valid until the cache is next used; `copyLink` makes a copy that stays valid.
   */
  get(domain: string, bytes: Buffer, path: ByteRange): CachedState | undefined;
  /** Stores a record unless the cache has the same or a newer version. */
  put(record: LinkRecord): void;
  /** Whether a link is cached, or known to be deleted. */
  has(domain: string, alias: string): boolean;
  /** Removes a link. */
  forget(domain: string, alias: string): void;
  /** Removes all links. */
  clear(): void;
  /** Asks again of each link whether takedowns cover it, in small parts beside requests. */
  remark(): Promise<void>;
  /** Number of records, and the bytes of blocks and index. */
  stats(): { entries: number; bytes: number };
};

/** No record is longer than its message in the feed. Compacting one block takes about 0.1 ms. */
const BLOCK_BYTES = 64 * 1024;

/** An offset is a block's number and a position in the block, in units of the alignment. */
const OFFSET_BITS = Math.log2(BLOCK_BYTES / ALIGNMENT);
const OFFSET_MASK = 2 ** OFFSET_BITS - 1;
const toOffset = (number: number, at: number): number => (number << OFFSET_BITS) | (at / ALIGNMENT);
const offsetInBlock = (offset: number): number => (offset & OFFSET_MASK) * ALIGNMENT;

/** The most bytes that offsets can address. */
export const CACHE_BYTES_LIMIT = 2 ** 31 * ALIGNMENT;

/** Blocks that stay free when the cache is full, for compaction to write to. */
const RESERVED_BLOCKS = 1;

/** The share of the bound that the index may take: enough for blocks full of the smallest records. */
const INDEX_SHARE = 1 / 8;

/** Blocks compacted for a new one: on average compacting a block frees half of it. */
const COMPACTIONS_PER_BLOCK = 2;

/**
 * The share of the memory that live records may take. Beyond it, a full cache evicts, and links that nobody has
 * requested are not stored. The rest is what compaction can free: the less of it, the more often compaction runs.
 */
const LIVE_RATIO_MAX = 3 / 4;

/** Blocks compacted at a time before live records are evicted nevertheless. */
const COMPACTIONS_MAX = 8;

/** A domain name has 253 characters at most (RFC 1035), an alias 64. */
const KEY_BYTES_MAX = 512;

/** A block of memory, written up to `end`. */
type Block = { number: number; bytes: Buffer; end: number };

/** How long blocks are marked in one turn of the event loop. One takes some milliseconds where links have many rules. */
const MARKING_MS = 5;

/** Creates a cache of at most `bytesMax` bytes. `covers` says of a link whether it is taken down. */
export function createLinkCache(
  bytesMax: number,
  covers: (link: LinkFacts) => boolean = () => false,
): LinkCache {
  const blocksMax =
    Math.max(4, Math.floor((bytesMax * (1 - INDEX_SHARE)) / BLOCK_BYTES)) - RESERVED_BLOCKS;
  const entriesMax = entriesThatFit(bytesMax * INDEX_SHARE);
  const index = createHashIndex();
  /** The memory of all blocks by number, in use or free. */
  const memory: Buffer[] = [];
  const freeBlocks: number[] = [];
  /** Blocks in use, the oldest first; the newest is being written. */
  const blocks = new Set<Block>();
  let newest = addBlock();
  /** Bytes of the records that the index points to. */
  let liveBytes = 0;
  /** How often marking has begun, and whether it is going on. */
  let markings = 0;
  let isMarking = false;
  const link = emptyLink();
  const key = Buffer.alloc(KEY_BYTES_MAX);

  function addBlock(): Block {
    const number = freeBlocks.pop() ?? memory.length;
    const bytes = (memory[number] ??= Buffer.allocUnsafeSlow(BLOCK_BYTES));
    const block = { number, bytes, end: 0 };
    blocks.add(block);
    return block;
  }

  const bytesAt = (offset: number): Buffer => memory[offset >>> OFFSET_BITS] ?? newest.bytes;

  /** Finds the slot of a key, which is `domain` followed by the bytes from `start` to `end`; -1 when there is none. */
  function findSlot(domain: string, bytes: Buffer, start: number, end: number): number {
    const hash = hashOf(domain, bytes, start, end);
    let slot = index.find(hash);
    while (slot >= 0 && !hasKey(index.offsetAt(slot), domain, bytes, start, end)) {
      slot = index.findNext(slot);
    }
    return slot;
  }

  function hasKey(
    offset: number,
    domain: string,
    bytes: Buffer,
    start: number,
    end: number,
  ): boolean {
    const block = bytesAt(offset);
    let at = offsetInBlock(offset);
    const storedEnd = keyEnd(block, at);
    at += KEY;
    if (storedEnd - at !== domain.length + end - start) return false;
    for (let i = 0; i < domain.length; i++) if (block[at++] !== domain.charCodeAt(i)) return false;
    for (let i = start; i < end; i++) if (block[at++] !== bytes[i]) return false;
    return true;
  }

  const findKey = (text: string): number => findSlot("", key, 0, key.write(text));

  function forget(domain: string, alias: string): void {
    const slot = findKey(keyOf({ domain, alias }));
    if (slot < 0) return;
    const offset = index.offsetAt(slot);
    liveBytes -= sizeAt(bytesAt(offset), offsetInBlock(offset));
    index.remove(slot);
  }

  const isFull = (): boolean => blocks.size >= blocksMax || index.size() >= entriesMax;

  const hasRoom = (): boolean =>
    liveBytes < blocksMax * BLOCK_BYTES * LIVE_RATIO_MAX &&
    index.size() < entriesMax * LIVE_RATIO_MAX;

  /** Makes room for another block and another entry of the index. */
  function reclaim(): void {
    for (let compactions = 0; blocks.size > 2; compactions++) {
      const total = blocks.size * BLOCK_BYTES;
      const full = isFull();
      if (!full && (liveBytes >= total / 2 || compactions >= COMPACTIONS_PER_BLOCK)) return;
      compact(full && (!hasRoom() || compactions >= COMPACTIONS_MAX));
    }
  }

  /**
   * Copies the live records of the oldest block to the newest and frees the oldest. When `evicting`, keeps only
   * referenced records and clears their bit (second chance), up to half a block, so that room is gained.
   */
  function compact(evicting: boolean): void {
    const [oldest = newest] = blocks;
    blocks.delete(oldest);
    let secondChanceBudget = BLOCK_BYTES / 2;
    const { bytes, end } = oldest;
    for (let at = 0, size = 0; at < end; at += size) {
      size = sizeAt(bytes, at);
      const slot = findSlotAt(oldest, at);
      if (slot < 0) continue;
      if (evicting) {
        if (!isReferenced(bytes, at) || secondChanceBudget < size) {
          index.remove(slot);
          liveBytes -= size;
          continue;
        }
        secondChanceBudget -= size;
        setReferenced(bytes, at, false);
      }
      const offset = reserve(size);
      bytes.copy(bytesAt(offset), offsetInBlock(offset), at, at + size);
      // It may have moved behind the place where marking is.
      if (isMarking) mark(bytesAt(offset), offsetInBlock(offset));
      index.move(slot, offset);
    }
    freeBlocks.push(oldest.number);
  }

  function mark(bytes: Buffer, at: number): void {
    const facts = readFacts(bytes, at);
    if (facts !== undefined) setTakenDown(bytes, at, covers(facts));
  }

  async function remark(): Promise<void> {
    const marking = ++markings;
    isMarking = true;
    let turnEnd = performance.now() + MARKING_MS;
    for (const { bytes, end } of blocks) {
      for (let at = 0; at < end; at += sizeAt(bytes, at)) mark(bytes, at);
      if (performance.now() >= turnEnd) {
        await setImmediate();
        turnEnd = performance.now() + MARKING_MS;
      }
      // The next one has begun at the start.
      if (marking !== markings) return;
    }
    isMarking = false;
  }

  /** Finds the slot that points to the record at `at`; -1 when the record is not live. */
  function findSlotAt({ number, bytes }: Block, at: number): number {
    const offset = toOffset(number, at);
    let slot = index.find(hashAt(bytes, at));
    while (slot >= 0 && index.offsetAt(slot) !== offset) slot = index.findNext(slot);
    return slot;
  }

  function reserve(size: number): number {
    if (newest.end + size > BLOCK_BYTES) newest = addBlock();
    const { number, end } = newest;
    newest.end += size;
    return toOffset(number, end);
  }

  function put(record: LinkRecord): void {
    const size = sizeOf(record);
    if (size > BLOCK_BYTES || keyOf(record).length > KEY_BYTES_MAX) return;
    if (newest.end + size > BLOCK_BYTES || index.size() >= entriesMax) reclaim();
    const slot = findKey(keyOf(record));
    const present = slot < 0 ? undefined : index.offsetAt(slot);
    if (
      present !== undefined &&
      versionAt(bytesAt(present), offsetInBlock(present)) >= record.version
    )
      return;
    const isCovered = record.state === "active" && covers(record);
    const offset = reserve(size);
    const [bytes, at] = [bytesAt(offset), offsetInBlock(offset)];
    try {
      writeRecord(bytes, at, record, isCovered);
    } catch (error) {
      newest.end -= size;
      throw error;
    }
    liveBytes += size;
    if (present === undefined) {
      index.insert(hashAt(bytes, at), offset);
      return;
    }
    setReferenced(bytes, at, isReferenced(bytesAt(present), offsetInBlock(present)));
    liveBytes -= sizeAt(bytesAt(present), offsetInBlock(present));
    index.move(slot, offset);
  }

  return {
    get(domain, bytes, { start, end }) {
      if (domain.length + end - start > KEY_BYTES_MAX) return undefined;
      const slot = findSlot(domain, bytes, start, end);
      if (slot < 0) return undefined;
      const offset = index.offsetAt(slot);
      const block = bytesAt(offset);
      const at = offsetInBlock(offset);
      setReferenced(block, at, true);
      return readLink(block, at, link);
    },
    put,
    has: (domain, alias) => findKey(keyOf({ domain, alias })) >= 0,
    forget,
    clear() {
      index.clear();
      for (const { number } of blocks) freeBlocks.push(number);
      blocks.clear();
      newest = addBlock();
      liveBytes = 0;
    },
    remark,
    stats: () => ({
      entries: index.size(),
      bytes: memory.length * BLOCK_BYTES + index.bytes(),
    }),
  };
}

/** Random, so that nobody can choose aliases that all collide. */
const SEED = randomInt(2 ** 32 - 1) | 0;

/** FNV-1a (Fowler, Noll, Vo), then MurmurHash3's last step (Appleby) to mix the high bits into the low ones. */
function hashOf(domain: string, bytes: Buffer, start: number, end: number): number {
  let hash = SEED;
  for (let i = 0; i < domain.length; i++) {
    hash = Math.imul(hash ^ domain.charCodeAt(i), 0x01000193);
  }
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Hashes the key of the record at `at`. */
const hashAt = (bytes: Buffer, at: number): number =>
  hashOf("", bytes, at + KEY, keyEnd(bytes, at));
