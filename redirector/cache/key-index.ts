/** Finds records in blocks by their keys: a domain, and the bytes of a path. */
import { randomInt } from "node:crypto";

import { KEY, keyEnd } from "../../shared/links-store/record.ts";
import { type Block, type Blocks, offsetInBlock, toOffset } from "./blocks.ts";
import { createHashIndex } from "./hash-index.ts";

/** A domain name has at most 253 characters (RFC 1035), an alias 64. */
export const KEY_BYTES_MAX = 512;

export type KeyIndex = ReturnType<typeof createKeyIndex>;

export function createKeyIndex({ bytesAt }: Pick<Blocks, "bytesAt">) {
  const index = createHashIndex();
  const key = Buffer.alloc(KEY_BYTES_MAX);

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

  /**
   * Finds the slot of a key, which is `domain` followed by the bytes from `start` to `end`; -1 for
   * none.
   */
  function find(domain: string, bytes: Buffer, start: number, end: number): number {
    const hash = hashOf(domain, bytes, start, end);
    let slot = index.find(hash);
    while (slot >= 0 && !hasKey(index.offsetAt(slot), domain, bytes, start, end)) {
      slot = index.findNext(slot);
    }
    return slot;
  }

  return {
    /** Memory for a key as text. */
    key,
    find,
    /** As `find`, by the key as text. */
    findText: (text: string): number => find("", key, 0, key.write(text)),
    /**
     * Finds the slot that points to the record at `at` of a block; -1 when the record is not live.
     */
    findRecord({ number, bytes }: Block, at: number): number {
      const offset = toOffset(number, at);
      let slot = index.find(hashAt(bytes, at));
      while (slot >= 0 && index.offsetAt(slot) !== offset) slot = index.findNext(slot);
      return slot;
    },
    /** Adds the record at an offset. */
    add(offset: number): void {
      index.insert(hashAt(bytesAt(offset), offsetInBlock(offset)), offset);
    },
    offsetAt: index.offsetAt,
    move: index.move,
    remove: index.remove,
    clear: index.clear,
    size: index.size,
    bytes: index.bytes,
  };
}

/** Random, so that an attacker cannot choose aliases that all collide. */
const SEED = randomInt(2 ** 32 - 1) | 0;

/**
 * FNV-1a (Fowler, Noll, Vo), then MurmurHash3's last step (Appleby) to mix the high bits into the
 * low ones.
 */
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
