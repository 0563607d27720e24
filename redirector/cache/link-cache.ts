/**
 * The link cache: link records in memory, within a bound of bytes, as the store has them. Records
 * are appended to blocks of memory, and a hash index holds the offset of each: a log-structured
 * memory (Rumble et al., FAST 2014). The garbage collector does not see the records, and a redirect
 * reads memory in two locations.
 * Blocks are compacted, the oldest first. Eviction is CLOCK (Corbató, 1968), which approximates
 * LRU: a hit only sets the record's REFERENCED bit, and eviction keeps only records whose bit is
 * set.
 */
import type { ByteRange } from "../../shared/bytes.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import {
  type CachedState,
  emptyLink,
  readLink,
  setReferenced,
  sizeOf,
} from "../../shared/links-store/record.ts";
import type { LinkFacts } from "../../shared/takedowns/covers.ts";
import { BLOCK_BYTES, createBlocks, offsetInBlock } from "./blocks.ts";
import { createCompaction } from "./compaction.ts";
import { entriesThatFit } from "./hash-index.ts";
import { createKeyIndex, KEY_BYTES_MAX } from "./key-index.ts";
import { createLiveRecords } from "./live-records.ts";
import { createTakedownMarks } from "./takedown-marks.ts";

export type LinkCache = {
  /**
   * The link at a path such as `/abc`; null for a deleted link, `taken_down` for one that takedowns
   * cover, undefined for one that is not cached. The result is valid until the cache is next used;
   * `copyLink` makes a copy that stays valid.
   */
  get(domain: string, bytes: Buffer, path: ByteRange): CachedState | undefined;
  /** As `get`, by alias. */
  find(domain: string, alias: string): CachedState | undefined;
  /** Stores a record, whatever the cache has of its link. */
  put(record: LinkRecord): void;
  /** Whether a link, or its deletion, is cached. */
  has(domain: string, alias: string): boolean;
  /** Whether a record of the same version is cached. */
  hasVersion(record: LinkRecord): boolean;
  /** Removes all links. */
  clear(): void;
  /** Evaluates takedowns again for each link, in small parts between requests. */
  markAgain(): Promise<void>;
  /** Number of records, and the bytes of blocks and index. */
  stats(): { entries: number; bytes: number };
};

/** Blocks that stay free when the cache is full, for compaction to write to. */
const RESERVED_BLOCKS = 1;

/**
 * The share of the bound that the index may take: enough for blocks full of the smallest records.
 */
const INDEX_SHARE = 1 / 8;

/** Creates a cache of at most `bytesMax` bytes. `covers` decides whether a link is taken down. */
export function createLinkCache(
  bytesMax: number,
  covers: (link: LinkFacts) => boolean = () => false,
): LinkCache {
  const blocksMax =
    Math.max(4, Math.floor((bytesMax * (1 - INDEX_SHARE)) / BLOCK_BYTES)) - RESERVED_BLOCKS;
  const entriesMax = entriesThatFit(bytesMax * INDEX_SHARE);
  const blocks = createBlocks();
  const index = createKeyIndex(blocks);
  const { bytesAt } = blocks;
  const { find: findSlot, offsetAt, key } = index;
  const records = createLiveRecords(blocks, index, covers);
  const { onCopied, markAgain } = createTakedownMarks(blocks, covers);
  const reclaim = createCompaction({ blocks, index, records, blocksMax, entriesMax, onCopied });
  const link = emptyLink();

  function get(domain: string, bytes: Buffer, { start, end }: ByteRange): CachedState | undefined {
    if (domain.length + end - start > KEY_BYTES_MAX) return undefined;
    const slot = findSlot(domain, bytes, start, end);
    if (slot < 0) return undefined;
    const offset = offsetAt(slot);
    const block = bytesAt(offset);
    const at = offsetInBlock(offset);
    setReferenced(block, at, true);
    return readLink(block, at, link);
  }

  return {
    get,
    find: (domain, alias) => get("", key, { start: 0, end: key.write(keyOf({ domain, alias })) }),
    put(record) {
      const size = sizeOf(record);
      if (size > BLOCK_BYTES || keyOf(record).length > KEY_BYTES_MAX) return;
      if (!blocks.hasRoom(size) || index.size() >= entriesMax) reclaim();
      records.write(index.findText(keyOf(record)), record, size);
    },
    has: (domain, alias) => index.findText(keyOf({ domain, alias })) >= 0,
    hasVersion: (record) => records.hasVersion(index.findText(keyOf(record)), record),
    clear() {
      records.clear();
      blocks.clear();
    },
    markAgain,
    stats: () => ({ entries: index.size(), bytes: blocks.bytes() + index.bytes() }),
  };
}
